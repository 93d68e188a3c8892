/**
 * Completes the OpenAPI document: a description for each field and parameter (field-descriptions.ts), an example of
 * each JSON body and response, and a curl command for each operation. What a schema says itself is not changed.
 */
import { firstPathOf, isPersonal, type AnyRoute } from '#api/http/route.ts'
import { BODY_EXAMPLES } from './body-examples.ts'
import { createExampleMaker, EXAMPLE_ID, type ExampleMaker } from './example-values.ts'
import { describeField, type FieldPlace } from './field-descriptions.ts'
import type { Json } from './schemas.ts'

type Operations = Record<string, Record<string, Json>>
type Media = Record<string, Json>
const JSON_TYPE = 'application/json'

export function completeDocument(document: Json, routes: readonly AnyRoute[]): Json {
  const { paths, components, ...rest } = document as {
    paths: Operations
    components: Record<string, Record<string, Json>>
  }
  const schemas = components['schemas'] ?? {}
  const described = Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [
      name,
      describeSchema(schema, { component: name, parent: name }, schemas),
    ]),
  )
  const maker = createExampleMaker(described)
  const byPath = new Map(routes.map((spec) => [`${spec.method.toLowerCase()} ${writtenPath(spec)}`, spec]))
  const completed = Object.entries(paths).map(([path, item]) => [
    path,
    Object.fromEntries(
      Object.entries(item).map(([method, operation]) => [
        method,
        completeOperation(operation, { path, method, spec: byPath.get(`${method} ${path}`) }, { maker, schemas }),
      ]),
    ),
  ])
  return { ...rest, paths: Object.fromEntries(completed), components: { ...components, schemas: described } }
}

/** The path as OpenAPI writes it. */
function writtenPath(spec: AnyRoute): string {
  return firstPathOf(spec).replace(/:(\w+)/g, '{$1}')
}

type FieldOwner = Omit<FieldPlace, 'name'>

/** Adds descriptions to the fields below a schema. */
function describeSchema(schema: Json, place: FieldOwner, schemas: Readonly<Record<string, Json>>): Json {
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) => {
      if (key === 'properties') return [key, describeProperties(value as Record<string, Json>, place, schemas)]
      if (Array.isArray(value))
        return [key, value.map((one: unknown) => (isSchema(one) ? describeSchema(one, place, schemas) : one))]
      return [key, isSchema(value) && !VALUE_KEYS.has(key) ? describeSchema(value, place, schemas) : value]
    }),
  )
}

/** Keywords whose values are examples, not schemas. */
const VALUE_KEYS: ReadonlySet<string> = new Set(['example', 'examples', 'default', 'const', 'enum'])

function isSchema(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function describeProperties(
  properties: Record<string, Json>,
  { component, parent }: FieldOwner,
  schemas: Readonly<Record<string, Json>>,
): Json {
  return Object.fromEntries(
    Object.entries(properties).map(([name, field]) => {
      const inner = describeSchema(field, { component, parent: name }, schemas)
      const reference = field['$ref']
      const target = typeof reference === 'string' ? schemas[reference.split('/').at(-1) ?? ''] : undefined
      const isDescribed = field['description'] !== undefined || target?.['description'] !== undefined
      const description = isDescribed ? null : describeField({ name, component, parent })
      return [name, description === null ? inner : { description, ...inner }]
    }),
  )
}

interface OperationPlace {
  readonly path: string
  readonly method: string
  /** Undefined for an alias. */
  readonly spec: AnyRoute | undefined
}

interface Parts {
  readonly maker: ExampleMaker
  readonly schemas: Readonly<Record<string, Json>>
}

function completeOperation(operation: Json, place: OperationPlace, parts: Parts): Json {
  const operationId = String(operation['operationId'])
  const parameters = (operation['parameters'] as Json[]).map((one) => describeParameter(one, operationId))
  if (place.spec === undefined) return { ...operation, parameters }
  const requestBody = completeBody(operation['requestBody'] as Json | undefined, place.spec, parts)
  const responses = Object.fromEntries(
    Object.entries(operation['responses'] as Record<string, Json>).map(([status, response]) => [
      status,
      withContent(response, (media) => withExample(media, undefined, parts)),
    ]),
  )
  const completed = { ...operation, parameters, ...(requestBody === undefined ? {} : { requestBody }), responses }
  return { ...completed, 'x-codeSamples': [{ lang: 'Shell', label: 'curl', source: curlOf(completed, place) }] }
}

function describeParameter(parameter: Json, operationId: string): Json {
  if (parameter['$ref'] !== undefined || parameter['description'] !== undefined) return parameter
  const place = { name: String(parameter['name']), component: operationId, parent: String(parameter['in']) }
  const description = describeField(place)
  return description === null ? parameter : { ...parameter, description }
}

function completeBody(body: Json | undefined, spec: AnyRoute, parts: Parts): Json | undefined {
  return body === undefined
    ? undefined
    : withContent(body, (media) => withExample(media, BODY_EXAMPLES[spec.name], parts))
}

/** Changes the JSON and form media types of a body or response. */
function withContent(one: Json, change: (media: Json) => Json): Json {
  const content = one['content'] as Media | undefined
  if (content === undefined) return one
  const changed = Object.entries(content).map(([type, media]) => [type, DATA_TYPES.test(type) ? change(media) : media])
  return { ...one, content: Object.fromEntries(changed) as Json }
}

const DATA_TYPES = /^(?:application\/json|application\/x-www-form-urlencoded|multipart\/form-data)$/

function withExample(media: Json, written: unknown, { maker }: Parts): Json {
  if (media['example'] !== undefined || media['examples'] !== undefined) return media
  const schema = media['schema'] as Json
  return { ...media, example: written ?? maker.exampleOf(schema) }
}

const KEYS: Readonly<Record<string, string>> = { operator: '$MAILSTEAD_ADMIN_TOKEN', regular: '$MAILSTEAD_KEY' }

function credentialsOf(spec: AnyRoute | undefined): string[] {
  if (spec?.access === 'public') return []
  if (spec !== undefined && isPersonal(spec))
    return [
      '-b cookies.txt',
      '-H "Origin: $MAILSTEAD_URL"',
      ...(spec.access === 'member' ? ['-H "X-Workspace: $MAILSTEAD_WORKSPACE"'] : []),
    ]
  const key = typeof spec?.access === 'object' ? '$MAILSTEAD_ADMIN_KEY' : (KEYS[spec?.access ?? ''] ?? '$MAILSTEAD_KEY')
  return [`-H "Authorization: Bearer ${key}"`]
}

function curlOf(operation: Json, { path, method, spec }: OperationPlace): string {
  const verb = method.toUpperCase()
  const address = `$MAILSTEAD_URL${path.replace(/\{\w+\}/g, EXAMPLE_ID)}`
  const content = (operation['requestBody'] as { content?: Media } | undefined)?.content
  const [type = '', media = {}] = content === undefined ? [] : (preferredMedia(content) ?? [])
  const lines = [
    `curl${verb === 'GET' ? '' : ` -X ${verb}`} "${address}"`,
    ...credentialsOf(spec),
    ...(content === undefined ? [] : [`-H 'Content-Type: ${type}'`, dataOption(type, media['example'])]),
  ]
  return lines.join(' \\\n  ')
}

function preferredMedia(content: Media): [string, Json] | undefined {
  return Object.entries(content).find(([type]) => type === JSON_TYPE) ?? Object.entries(content)[0]
}

function dataOption(type: string, example: unknown): string {
  if (example === undefined) return '--data-binary @FILE'
  if (type === JSON_TYPE) return `-d '${JSON.stringify(example, null, 2).replaceAll("'", "'\\''")}'`
  return `-d '${new URLSearchParams(example as Record<string, string>).toString()}'`
}
