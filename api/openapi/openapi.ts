/**
 * Builds the OpenAPI 3.1 document from the table of routes: paths, request and response schemas, statuses, errors,
 * security, headers, and webhooks. Facts about an endpoint come from the table or a schema, never from this file.
 */
import { setImmediate } from 'node:timers/promises'
import type { ZodType } from 'zod'
import { completeDocument } from './complete.ts'
import { ENDPOINT_GROUPS, groupOf } from './endpoint-groups.ts'
import { createErrorResponses, type ErrorResponses } from './error-responses.ts'
import { HEADERS, headersOf, listSuccessHeaders, isIdempotent } from './response-headers.ts'
import { createSchemaRegistry, type Json, type SchemaRegistry } from './schemas.ts'
import { webhooksOf } from './webhooks.ts'
import { permissionOf } from '#api/http/route-permissions.ts'
import { isOfWorkspace, isPersonal, pathsOf, type AnyRoute, type BodyKind } from '#api/http/route.ts'

const SECURITY_SCHEMES = {
  key: {
    type: 'http',
    scheme: 'bearer',
    description: 'An API key: `<prefix>_<workspace>.live_<secret>` or `.adm_<secret>`',
  },
  operator: {
    type: 'http',
    scheme: 'bearer',
    description: 'The operator token (ADMIN_TOKEN). API keys of workspaces are not accepted.',
  },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: 'mailstead-session',
    description:
      'The cookie of `login`, named `__Host-mailstead-session` under https. A request of a workspace has its id in ' +
      'the header `X-Workspace`. A request that changes something must come from a page of this service: it has ' +
      '`Sec-Fetch-Site: same-origin`, or the `Origin` of the service.',
  },
}
const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'Valid for 24 hours. The same key with the same request returns the first response again; with another request ' +
    'it returns 409.',
  schema: { type: 'string', minLength: 1, maxLength: 256 },
}
const API_DESCRIPTION = `Send mail, follow its delivery, and manage contacts, audiences and sending domains.

Every response is \`{success: true, message, data}\`, every error \`{success: false, error, message}\` with one of the
codes listed at each endpoint. A VALIDATION_ERROR has \`details\` with a message for each field. A Regular key sends
mail; everything else needs an Admin key with the scope named at the endpoint.`

interface DocumentParts {
  readonly schemas: SchemaRegistry
  readonly errors: ErrorResponses
}

export function buildOpenApi(routes: readonly AnyRoute[], publicUrl: string): Json {
  const steps = buildSteps(routes, publicUrl)
  let step = steps.next()
  while (step.done !== true) step = steps.next()
  return step.value
}

/** The same, but yields to the event loop after each endpoint, for a process that serves requests meanwhile. */
export async function buildOpenApiInSteps(routes: readonly AnyRoute[], publicUrl: string): Promise<Json> {
  const steps = buildSteps(routes, publicUrl)
  let step = steps.next()
  while (step.done !== true) {
    await setImmediate()
    step = steps.next()
  }
  return step.value
}

function* buildSteps(routes: readonly AnyRoute[], publicUrl: string): Generator<void, Json> {
  const schemas = createSchemaRegistry()
  const books: DocumentParts = { schemas, errors: createErrorResponses(schemas) }
  const paths: Record<string, Json> = {}
  for (const spec of routes) {
    yield
    for (const [i, path] of pathsOf(spec).entries()) {
      const written = path.replace(/:(\w+)/g, '{$1}')
      paths[written] = { ...paths[written], [spec.method.toLowerCase()]: describeRoute(spec, i, books) }
    }
  }
  const webhooks = webhooksOf(schemas)
  const document = {
    openapi: '3.1.0',
    info: { title: 'Mailstead', version: 'v1', description: API_DESCRIPTION },
    servers: [{ url: publicUrl }],
    tags: tagsOf(routes),
    paths,
    webhooks,
    components: {
      securitySchemes: SECURITY_SCHEMES,
      parameters: { IdempotencyKey: IDEMPOTENCY_KEY },
      headers: HEADERS,
      schemas: schemas.components,
      responses: books.errors.components,
    },
  }
  yield
  return completeDocument(document, routes)
}

function tagsOf(routes: readonly AnyRoute[]): Json[] {
  const used = new Set(routes.map(groupOf))
  return ENDPOINT_GROUPS.filter(({ name }) => used.has(name)).map(({ name, description }) => ({ name, description }))
}

/** Describes the `nth` path of the route. The first is the documented one, the others are aliases. */
function describeRoute(spec: AnyRoute, nth: number, parts: DocumentParts): Json {
  const alias = nth === 0 ? undefined : `Alias of ${pathsOf(spec)[0]}.`
  const description = [alias, spec.description, accessOf(spec)].filter((line) => line !== undefined).join('\n\n')
  return {
    operationId: nth === 0 ? operationIdOf(spec) : `${operationIdOf(spec)}${nth + 1}`,
    summary: spec.summary,
    ...(description === '' ? {} : { description }),
    tags: [groupOf(spec)],
    ...(nth === 0 ? {} : { deprecated: true }),
    security: securityOf(spec),
    parameters: [
      ...parametersOf(spec.params, 'path', parts.schemas),
      ...parametersOf(spec.query, 'query', parts.schemas),
      ...(isIdempotent(spec) ? [{ $ref: '#/components/parameters/IdempotencyKey' }] : []),
    ],
    ...requestBodyOf(spec, parts.schemas),
    responses: { ...successesOf(spec, parts.schemas), ...parts.errors.responsesOf(spec) },
  }
}

/** One of them is enough. */
function securityOf(spec: AnyRoute): Json[] {
  const { access } = spec
  if (access === 'public') return []
  if (isPersonal(spec)) return [{ session: [] }]
  const program = access === 'operator' ? { operator: [] } : { key: [] }
  return access === 'operator' || permissionOf(spec.name) !== null ? [program, { session: [] }] : [program]
}

const KEYS = {
  operator: 'Needs the operator token, or the session of an operator.',
  person: 'Needs a session.',
  member: 'Needs a session.',
  any: 'Needs any API key.',
  regular: 'Needs a Regular key.',
}

function accessOf(spec: AnyRoute): string | undefined {
  const { access, needsLaunch, name } = spec
  if (access === 'public') return undefined
  const key = typeof access === 'object' ? `Needs an Admin key with the scope \`${access.admin}\`.` : KEYS[access]
  const permission = isOfWorkspace(spec) ? permissionOf(name) : null
  return [
    key,
    ...(permission === null ? [] : [`Open to people with the permission \`${permission}\`.`]),
    ...(needsLaunch === true ? ['Needs the plan LAUNCH or higher.'] : []),
  ].join(' ')
}

/** `send-instant` becomes `sendInstant`, the method name in clients. */
function operationIdOf(spec: AnyRoute): string {
  return spec.name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
}

function pascalOf(spec: AnyRoute): string {
  return operationIdOf(spec).replace(/^\w/, (letter) => letter.toUpperCase())
}

function parametersOf(schema: ZodType | undefined, location: 'path' | 'query', schemas: SchemaRegistry): Json[] {
  if (schema === undefined) return []
  const { properties, required } = schemas.inline(schema, 'input') as {
    properties?: Record<string, Json>
    required?: string[]
  }
  return Object.entries(properties ?? {}).map(([name, { description, deprecated, ...json }]) => ({
    name,
    in: location,
    required: location === 'path' || required?.includes(name) === true,
    ...(description === undefined ? {} : { description }),
    ...(deprecated === undefined ? {} : { deprecated }),
    schema: json,
  }))
}

const MEDIA_TYPES: Readonly<Record<BodyKind, string>> = {
  json: 'application/json',
  form: 'application/x-www-form-urlencoded',
  multipart: 'multipart/form-data',
  message: 'message/rfc822',
  csv: 'text/csv',
  tlsrpt: 'application/tlsrpt+gzip',
}
const TEXT = { schema: { type: 'string' } }
const TEXT_KINDS: ReadonlySet<BodyKind> = new Set(['message', 'csv', 'tlsrpt'])

function requestBodyOf(spec: AnyRoute, schemas: SchemaRegistry): Json {
  const { body } = spec
  const kinds = spec.accepts ?? (body === undefined ? [] : (['json'] as const))
  if (kinds.length === 0) return {}
  const filled = body === undefined ? TEXT : contentFor(body, 'input', `${pascalOf(spec)}Body`, schemas)
  const content = Object.fromEntries(kinds.map((kind) => [MEDIA_TYPES[kind], TEXT_KINDS.has(kind) ? TEXT : filled]))
  return { requestBody: { required: body === undefined || !body.safeParse({}).success, content } }
}

function successesOf(spec: AnyRoute, schemas: SchemaRegistry): Json {
  const name = `${pascalOf(spec)}Answer`
  const content = {
    ...jsonOf(spec.response, name, schemas),
    ...Object.fromEntries((spec.produces ?? []).map((type) => [type, TEXT])),
  }
  const additional = Object.entries(spec.additionalResponses ?? {}).map(([status, { when, schema: answer }]) => [
    status,
    {
      description: when,
      headers: headersOf(['X-Request-Id']),
      ...contentOf(jsonOf(answer, `${name}${status}`, schemas)),
    },
  ])
  const success = { description: 'Success', headers: listSuccessHeaders(spec), ...contentOf(content) }
  return { [spec.status]: success, ...Object.fromEntries(additional) }
}

function jsonOf(answer: ZodType | undefined, name: string, schemas: SchemaRegistry): Json {
  return answer === undefined ? {} : { 'application/json': contentFor(answer, 'output', name, schemas) }
}

/** Readers show the example of a schema only if it stands beside the reference to it. */
function contentFor(schema: ZodType, io: 'input' | 'output', name: string, schemas: SchemaRegistry): Json {
  const examples = schema.meta()?.['examples']
  const example = Array.isArray(examples) ? { example: examples[0] as unknown } : {}
  return { schema: schemas.refer(schema, io, name), ...example }
}

function contentOf(content: Json): Json {
  return Object.keys(content).length === 0 ? {} : { content }
}
