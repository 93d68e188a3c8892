/**
 * The OpenAPI document: valid, complete, with examples that fit their own schemas, and served with a validator for
 * caches.
 */
import { Validator } from '@seriousme/openapi-schema-validator'
import addFormats from 'ajv-formats'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { assert } from 'chai'
import { EVENT_TYPES, type EventType } from '#src/events/catalogue.ts'
import { payloadOf } from '#src/events/reported-event.ts'
import { startApi, type TestApi } from '#test/support/api.ts'
import { closeObjects, pointerOf } from '#test/support/conformance.ts'
import { ENDPOINT_GROUPS } from './endpoint-groups.ts'
import { isIdempotent } from './response-headers.ts'
import { buildOpenApi as describeApi } from './openapi.ts'
import { pathsOf } from '#api/http/route.ts'
import { ROUTES } from '#api/table.ts'

type ReportedEvent = Parameters<typeof payloadOf>[0]
type Node = Readonly<Record<string, unknown>>
interface Operation {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly description?: string
  readonly deprecated?: boolean
  readonly parameters?: readonly Node[]
  readonly requestBody?: { readonly content: Node }
  readonly responses: Readonly<Record<string, { readonly headers?: Node; readonly content?: Node }>>
}
interface Document {
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly servers: readonly Node[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly webhooks: Readonly<Record<string, { readonly post: Operation }>>
  readonly components: Readonly<
    Record<'schemas' | 'responses' | 'headers' | 'parameters', Readonly<Record<string, Node>>>
  >
}

const document = describeApi(ROUTES, 'https://mail.example') as unknown as Document
const operations = Object.values(document.paths).flatMap((item) => Object.values(item))
const operationOf = (name: string): Operation => {
  const found = operations.find(({ operationId }) => operationId === name)
  assert.ok(found !== undefined, name)
  return found
}
const ajv = new Ajv2020({ strict: false, allErrors: true })
addFormats.default(ajv)
ajv.addSchema(closeObjects(document) as Node, 'openapi')

/** Every object of the document, with its path. */
function* walk(node: unknown, path: readonly string[] = []): Generator<readonly [Node, readonly string[]]> {
  if (typeof node !== 'object' || node === null) return
  if (!Array.isArray(node)) yield [node as Node, path]
  for (const [key, value] of Object.entries(node)) yield* walk(value, [...path, key])
}

describe('the OpenAPI document', () => {
  it('is valid OpenAPI 3.1', async () => {
    const { valid, errors } = await new Validator().validate(
      structuredClone(document) as unknown as Record<string, unknown>,
    )
    assert.ok(valid, JSON.stringify(errors, null, 1))
  })
  it('has no dangling references and no unused components', () => {
    const referred = new Set([...walk(document)].map(([node]) => node['$ref']).filter((ref) => typeof ref === 'string'))
    const there = (['schemas', 'responses', 'headers', 'parameters'] as const).flatMap((kind) =>
      Object.keys(document.components[kind]).map((name) => `#/components/${kind}/${name}`),
    )
    assert.deepEqual([...referred].toSorted(), there.toSorted())
  })
  it('has every endpoint in a described group, with a valid operation id', () => {
    const groups = new Set(document.tags.map(({ name }) => name))
    const ids = operations.map(({ operationId }) => operationId)
    for (const { operationId, tags } of operations) {
      assert.match(operationId, /^[a-z][A-Za-z0-9]*$/)
      assert.ok(tags.length === 1 && tags.every((tag) => groups.has(tag)), `${operationId}: ${tags.join()}`)
    }
    assert.strictEqual(new Set(ids).size, ids.length)
    assert.deepEqual(
      ENDPOINT_GROUPS.map(({ name }) => name).filter((name) => !groups.has(name)),
      [],
      'groups without an endpoint',
    )
    for (const { name, description } of document.tags) assert.ok(description.length > 5, name)
  })
  it('has a schema or a media type for every success that has a body', () => {
    const silent = ROUTES.filter(
      ({ status, response: answer, produces }) => answer === undefined && produces === undefined && status !== 204,
    )
    assert.deepEqual(
      silent.map(({ name }) => name),
      ['follow-link', 'docs-redirect'],
    )
    for (const { name, status, response: answer } of ROUTES) assert.ok(status !== 204 || answer === undefined, name)
  })
  it('marks all paths of an endpoint but the first as aliases', () => {
    const aliases = ROUTES.flatMap((spec) => pathsOf(spec).slice(1)).length
    assert.strictEqual(operations.filter(({ deprecated }) => deprecated === true).length, aliases)
  })
  it('has the Idempotency-Key on the endpoints that read it, and describes replays', () => {
    assert.ok(ROUTES.filter(isIdempotent).length >= 6)
    for (const name of ['sendInstant', 'sendHigh', 'sendAsync', 'sendBulk', 'sendBatch', 'scheduleEmail']) {
      const { parameters, responses } = operationOf(name)
      assert.ok(
        parameters?.some(({ $ref }) => $ref === '#/components/parameters/IdempotencyKey'),
        name,
      )
      assert.ok(responses['200']?.headers?.['Idempotent-Replayed'] !== undefined, name)
    }
    assert.deepEqual(
      operationOf('listTemplates').parameters?.map(({ name }) => name),
      ['page', 'limit', 'cursor'],
    )
  })
  it('has the rate limit headers on responses to a key, and Retry-After on those that ask to wait', () => {
    assert.ok(operationOf('verifyKey').responses['200']?.headers?.['X-RateLimit-Remaining'] !== undefined)
    assert.strictEqual(operationOf('healthz').responses['200']?.headers?.['X-RateLimit-Remaining'], undefined)
    for (const [name, { headers }] of Object.entries(document.components.responses)) {
      const waits = /RateLimited|ServiceUnavailable|InProgress/.test(name)
      assert.strictEqual(Object.hasOwn(headers as Node, 'Retry-After'), waits, name)
    }
  })
  it('names the scope and the plan that an endpoint requires', () => {
    assert.match(operationOf('createWebhook').description ?? '', /Admin key with the scope `webhooks:manage`/)
    assert.match(operationOf('scheduleEmail').description ?? '', /Regular key.*LAUNCH/)
  })
  it('marks fields that are aliases', () => {
    const properties = (document.components.schemas['Message'] as { properties: Readonly<Record<string, Node>> })
      .properties
    assert.deepEqual(
      [properties['fromName']?.['deprecated'], properties['from_name']?.['deprecated']],
      [true, undefined],
    )
  })
  it('has examples that fit their schemas', () => {
    let seen = 0
    for (const [node, path] of walk(document)) {
      if (!Array.isArray(node['examples']) || path.at(-1) === 'properties') continue
      const validate = ajv.compile({ $ref: `openapi${pointerOf(path)}` })
      for (const example of node['examples'] as unknown[])
        assert.ok(validate(example), `${path.join('/')}: ${JSON.stringify(validate.errors)}`)
      seen++
    }
    assert.ok(seen > Object.keys(EVENT_TYPES).length, `${seen} schemas with examples`)
  })
  it('has example bodies that the endpoints accept', () => {
    for (const spec of ROUTES) {
      const examples = (spec.body?.meta()?.['examples'] ?? []) as unknown[]
      for (const example of examples)
        assert.deepEqual(spec.body?.safeParse(example).error?.issues, undefined, spec.name)
    }
  })

  describe('webhooks', () => {
    const event: Omit<ReportedEvent, 'type'> = {
      id: '019a9a00-0000-7000-8000-0000000000aa',
      workspaceId: '019a9a00-0000-7000-8000-000000000001',
      messageId: '019a9a00-0000-7000-8000-0000000000bb',
      sequence: 1,
      recipient: 'a@b.example',
      data: null,
      createdAt: new Date(),
      message: {
        to: [{ email: 'a@b.example' }],
        subject: 's',
        metadata: { a: 1 },
        campaignId: null,
        createdAt: new Date(),
      },
    }
    const variants: readonly Partial<ReportedEvent>[] = [
      {},
      { message: null },
      { messageId: null, message: null, sequence: null, recipient: null },
      { message: { to: [], subject: '', metadata: null, campaignId: null, createdAt: new Date() } },
    ]

    it('are all event types', () => assert.deepEqual(Object.keys(document.webhooks), Object.keys(EVENT_TYPES)))
    for (const type of Object.keys(EVENT_TYPES) as EventType[]) {
      it(`${type}: payloads match the schema, whatever fields the event lacks`, () => {
        const way = ['webhooks', type, 'post', 'requestBody', 'content', 'application/json', 'schema']
        const validate = ajv.compile({ $ref: `openapi${pointerOf(way)}` })
        for (const variant of variants)
          for (const data of [null, EVENT_TYPES[type].sample]) {
            const body: unknown = JSON.parse(payloadOf({ ...event, type, ...variant, data }))
            assert.ok(validate(body), JSON.stringify([body, validate.errors]))
            assert.ok(
              !validate({ ...(body as object), more: 1 }) && !validate({ ...(body as object), type: 'email.eaten' }),
            )
          }
      })
    }
  })

  describe('/openapi.json', () => {
    let api: TestApi
    before(async () => {
      api = await startApi({ PUBLIC_URL: 'https://mail.example' })
    })
    after(() => api.stop())

    it('has the public address, and is not sent again to a client that caches it', async () => {
      const first = await fetch(`${api.url}/openapi.json`)
      const etag = first.headers.get('etag') ?? ''
      assert.deepEqual([first.status, first.headers.get('cache-control')], [200, 'public, no-cache'])
      assert.deepEqual(((await first.json()) as Document).servers, [{ url: 'https://mail.example' }])
      for (const given of [etag, etag.slice(2), `"x", ${etag}`, '*']) {
        const again = await fetch(`${api.url}/openapi.json`, { headers: { 'if-none-match': given } })
        assert.deepEqual([again.status, again.headers.get('etag'), await again.text()], [304, etag, ''], given)
      }
      assert.strictEqual((await fetch(`${api.url}/openapi.json`, { headers: { 'if-none-match': '"x"' } })).status, 200)
    })
  })
})
