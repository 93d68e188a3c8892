/** The reference is complete: every field is described, and every operation has examples that are valid. */
import addFormats from 'ajv-formats'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { assert } from 'chai'
import { closeObjects, pointerOf } from '#test/support/conformance.ts'
import { ROUTES } from '#api/table.ts'
import { BODY_EXAMPLES } from './body-examples.ts'
import { DESCRIBED_FIELDS, findFieldRow } from './field-descriptions.ts'
import { buildOpenApi } from './openapi.ts'

type Node = Readonly<Record<string, unknown>>
interface Operation {
  readonly operationId: string
  readonly deprecated?: boolean
  readonly parameters: readonly Node[]
  readonly requestBody?: { readonly content: Readonly<Record<string, Node>> }
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, Node>> }>>
  readonly 'x-codeSamples'?: readonly { readonly source: string }[]
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Node>> }
}

const document = buildOpenApi(ROUTES, 'https://mail.example') as unknown as Document
const operations = Object.entries(document.paths)
  .flatMap(([path, item]) => Object.entries(item).map(([method, operation]) => ({ path, method, operation })))
  .filter(({ operation }) => operation.deprecated !== true)
const VALUE_KEYS: ReadonlySet<string> = new Set(['example', 'examples', 'default', 'const', 'enum'])

interface Field {
  readonly name: string
  readonly component: string
  readonly parent: string
  readonly schema: Node
}

/** Every field below a schema. */
function* fieldsOf(node: unknown, component: string, parent: string): Generator<Field> {
  if (typeof node !== 'object' || node === null) return
  for (const [key, value] of Object.entries(node as Node)) {
    if (key === 'properties') {
      for (const [name, schema] of Object.entries(value as Record<string, Node>)) {
        yield { name, component, parent, schema }
        yield* fieldsOf(schema, component, name)
      }
    } else if (!VALUE_KEYS.has(key)) yield* fieldsOf(value, component, parent)
  }
}

const { schemas } = document.components
const fields = Object.entries(schemas).flatMap(([name, schema]) => [...fieldsOf(schema, name, name)])
const parameters = operations.flatMap(({ operation }) =>
  operation.parameters.map((one) => ({ operationId: operation.operationId, one })),
)
const isDescribed = ({ description, $ref }: Node): boolean =>
  typeof description === 'string' ||
  typeof schemas[String($ref).split('/').at(-1) ?? '']?.['description'] === 'string' ||
  String($ref).startsWith('#/components/parameters/')

describe('the API reference is complete', () => {
  it('describes every field', () => {
    assert.isAbove(fields.length, 1500)
    const missing = fields.filter(({ schema }) => !isDescribed(schema))
    assert.deepEqual(
      [...new Set(missing.map(({ component, parent, name }) => `${component}: ${parent}.${name}`))],
      [],
      'describe these fields in the schema, or in api/openapi/field-descriptions.ts',
    )
  })
  it('describes every parameter', () =>
    assert.deepEqual(
      parameters
        .filter(({ one }) => !isDescribed(one))
        .map(({ operationId, one }) => `${operationId} ${String(one['name'])}`),
      [],
    ))
  it('uses every row of the table of descriptions', () => {
    const used = new Set([
      ...fields.map((field) => findFieldRow(field)),
      ...parameters.map(({ operationId, one }) =>
        findFieldRow({ name: String(one['name']), component: operationId, parent: String(one['in']) }),
      ),
    ])
    assert.deepEqual(
      DESCRIBED_FIELDS.filter((row) => !used.has(row)),
      [],
    )
  })

  const ajv = new Ajv2020({ strict: false, allErrors: true })
  addFormats.default(ajv)
  ajv.addSchema(closeObjects(document) as Node, 'openapi')
  const isData = (type: string): boolean => /(?<!nd)json|form-urlencoded|form-data/.test(type)

  for (const { path, method, operation } of operations) {
    it(`has valid examples of ${method.toUpperCase()} ${path}`, () => {
      assert.match(operation['x-codeSamples']?.[0]?.source ?? '', /^curl /)
      const parts: (readonly [string[], Readonly<Record<string, Node>> | undefined])[] = [
        [['requestBody'], operation.requestBody?.content],
        ...Object.entries(operation.responses).map(
          ([status, { content }]) => [['responses', status], content] as const,
        ),
      ].map(([place = [], content]) => [place as string[], content as Readonly<Record<string, Node>> | undefined])
      for (const [place, content] of parts)
        for (const [type, media] of Object.entries(content ?? {}).filter(([one]) => isData(one))) {
          const where = ['paths', path, method, ...place, 'content', type, 'schema']
          const validate = ajv.compile({ $ref: `openapi${pointerOf(where)}` })
          assert.ok(validate(media['example']), `${place.join(' ')}: ${JSON.stringify([validate.errors, media])}`)
        }
    })
  }

  it('has example bodies that the endpoints accept', () => {
    const names = new Set(ROUTES.map(({ name }) => name))
    for (const [name, example] of Object.entries(BODY_EXAMPLES)) {
      assert.ok(names.has(name), `no endpoint is named ${name}`)
      const spec = ROUTES.find((one) => one.name === name)
      assert.deepEqual(spec?.body?.safeParse(example).error?.issues, undefined, name)
    }
    for (const spec of ROUTES) {
      const own: unknown = spec.body?.meta()?.['examples']
      assert.ok(spec.body === undefined || own !== undefined || Object.hasOwn(BODY_EXAMPLES, spec.name), spec.name)
    }
  })
})
