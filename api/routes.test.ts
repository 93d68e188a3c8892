import { assert } from 'chai'
import { createKey } from '#src/auth/keys.ts'
import { ERRORS } from '#src/platform/errors.ts'
import {
  listOf,
  OPERATOR_TOKEN,
  startApi,
  textOf,
  type Json,
  type TestResponse,
  type TestApi,
  type TestCall,
} from '#test/support/api.ts'
import { listErrors } from '#api/openapi/error-responses.ts'
import { KEYS_ONLY } from '#api/http/route-permissions.ts'
import { isPersonal, pathsOf, type AnyRoute } from '#api/http/route.ts'
import { ROUTES } from './table.ts'

const ANY_ID = '00000000-0000-7000-8000-000000000000'
const concrete = (path: string): string => `/${path.replace(/:\w+/g, ANY_ID)}`
const bodyFor = ({ accepts }: AnyRoute): TestCall =>
  accepts?.[0] === 'csv' ? { body: 'email\n', headers: { 'content-type': 'text/csv' } } : { body: {} }
/** The ways of access in the OpenAPI document. */
function schemesOf(spec: AnyRoute): string[] {
  if (spec.access === 'public' || isPersonal(spec)) return spec.access === 'public' ? [] : ['session']
  return [spec.access === 'operator' ? 'operator' : 'key', ...(Object.hasOwn(KEYS_ONLY, spec.name) ? [] : ['session'])]
}

const addressOf = (spec: AnyRoute): string => `10.0.${ROUTES.indexOf(spec) >> 8}.${ROUTES.indexOf(spec) & 255}`
const isAdmin = (spec: AnyRoute): boolean => typeof spec.access === 'object'
describe('the table of routes', () => {
  let api: TestApi
  let scopeless: string
  before(async () => {
    api = await startApi({ TRUST_PROXY: 'true' })
    const key = await createKey(api.db, {
      kind: 'admin',
      prefix: 'ms',
      workspaceId: api.workspaceId,
      name: 'none',
      scopes: [],
    })
    assert.ok(key.kind === 'created')
    scopeless = key.secretKey
  })
  after(() => api.stop())

  const isRefused = (answer: TestResponse, code: keyof typeof ERRORS): void => {
    assert.deepEqual(
      [answer.status, answer.body['success'], answer.body['error'], typeof answer.body['message']],
      [ERRORS[code].status, false, code, 'string'],
    )
    assert.deepEqual(
      [answer.body['doc_url'], answer.body['request_id']],
      [`${api.config.publicUrl}/docs/errors#${code}`, answer.headers.get('x-request-id')],
    )
  }

  it('has no duplicate name, and no duplicate method of a path', () => {
    const names = ROUTES.map(({ name }) => name)
    assert.strictEqual(new Set(names).size, names.length)
    const paths = ROUTES.flatMap((spec) => pathsOf(spec).map((path) => `${spec.method} ${path.replace(/:\w+/g, ':')}`))
    assert.strictEqual(new Set(paths).size, paths.length)
  })

  for (const spec of ROUTES) {
    for (const path of pathsOf(spec)) {
      describe(`${spec.method} ${path}`, () => {
        const from = { 'x-forwarded-for': addressOf(spec) } // invalid tokens are limited by network
        const call = (key: string | null, method = spec.method): Promise<TestResponse> => {
          const { body, headers: type } = method === 'GET' || method === 'DELETE' ? {} : bodyFor(spec)
          return api.call(method, concrete(path), { key, body, headers: { ...type, ...from } })
        }

        it('is mounted', async () => {
          const answer = await api.call('OPTIONS', concrete(path), { key: null })
          assert.strictEqual(answer.status, 204)
          assert.ok(answer.headers.get('allow')?.split(', ').includes(spec.method))
        })
        it('answers 405 with Allow to other methods', async () => {
          const methods = ROUTES.filter((one) => pathsOf(one).includes(path)).map(({ method }): string => method)
          const other = ['PUT', 'PATCH'].find((method) => !methods.includes(method)) ?? assert.fail()
          const answer = await api.call(other, concrete(path), { key: null, body: {} })
          isRefused(answer, 'METHOD_NOT_ALLOWED')
          assert.ok(answer.headers.get('allow')?.split(', ').includes(spec.method))
        })
        if (spec.access === 'public') {
          it('needs no key', async () => assert.notStrictEqual((await call(null)).status, 401))
          return
        }
        it('answers 401 without a key, to a wrong key and to other credentials', async () => {
          const wrong = api.regular.replace(/.$/, (last) => (last === '0' ? '1' : '0'))
          for (const key of [null, wrong, 'x', '']) isRefused(await call(key), 'UNAUTHORIZED')
          const basic = await api.call(spec.method, concrete(path), {
            key: null,
            headers: { ...from, authorization: `Basic ${Buffer.from(api.regular).toString('base64')}` },
          })
          isRefused(basic, 'UNAUTHORIZED')
          assert.strictEqual(basic.headers.get('www-authenticate'), 'Bearer')
          assert.strictEqual(basic.headers.get('x-ratelimit-limit'), null)
        })
        if (isPersonal(spec)) {
          it('answers 403 FORBIDDEN to every key', async () => {
            for (const key of [api.regular, api.admin]) isRefused(await call(key), 'FORBIDDEN')
          })
          return
        }
        if (spec.access === 'operator') {
          it('accepts the operator token, and no key', async () => {
            for (const key of [api.regular, api.admin]) isRefused(await call(key), 'UNAUTHORIZED')
            const answer = await call(OPERATOR_TOKEN)
            assert.ok(answer.status < 500 && answer.status !== 401, JSON.stringify(answer.body))
            assert.strictEqual(answer.headers.get('x-ratelimit-limit'), null)
          })
          return
        }
        it('has the rate limit headers on every response to a known key', async () => {
          for (const key of [api.regular, api.admin]) {
            const startedAt = Date.now()
            const { headers } = await call(key)
            assert.strictEqual(headers.get('x-ratelimit-limit'), '100000')
            assert.ok(Number(headers.get('x-ratelimit-remaining')) < 100_000)
            assert.ok(Number(headers.get('x-ratelimit-reset')) * 1000 > startedAt - 1000)
          }
        })
        if (spec.access === 'regular')
          it('answers 403 FORBIDDEN to an Admin key', async () => isRefused(await call(api.admin), 'FORBIDDEN'))
        if (isAdmin(spec))
          it('answers 403 FORBIDDEN to a Regular key', async () => isRefused(await call(api.regular), 'FORBIDDEN'))
        if (isAdmin(spec))
          it('answers 403 INSUFFICIENT_SCOPE to an Admin key without the scope', async () =>
            isRefused(await call(scopeless), 'INSUFFICIENT_SCOPE'))
        it('accepts the right key', async () => {
          const answer = await call(isAdmin(spec) ? api.admin : api.regular)
          assert.ok(![401, 403, 405, 415, 429, 500, 503].includes(answer.status), JSON.stringify(answer.body))
        })
      })
    }
  }

  it('answers 404 NOT_FOUND to anything else', async () => {
    for (const path of [
      '//api/v1',
      '//api/v2/send-email/instant',
      '/send-email',
      '/send-email/instant/x',
      '/send-email/slow',
      '/%00',
      '/%E0%A4%A',
      '/../../etc/passwd',
      `/${'x'.repeat(5000)}`,
    ])
      isRefused(await api.call('GET', path), 'NOT_FOUND')
  })
  it('answers HEAD as GET without a body', async () => {
    const answer = await fetch(`${api.url}/api/v1/integrations/verify`, {
      method: 'HEAD',
      headers: { authorization: `Bearer ${api.regular}` },
    })
    assert.deepEqual([answer.status, await answer.text()], [200, ''])
    assert.ok(Number(answer.headers.get('content-length')) > 100)
  })
  it('has a request id and security headers on every response, and does not name its software', async () => {
    for (const [path, key] of [
      ['//healthz', null],
      ['/integrations/verify', api.admin],
      ['/nothing', null],
      ['/templates', 'x'],
    ] as const) {
      const { headers } = await api.call('GET', path, { key })
      assert.match(headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/)
      assert.deepEqual(
        [
          headers.get('x-content-type-options'),
          headers.get('cache-control'),
          headers.get('x-powered-by'),
          headers.get('server'),
          headers.get('strict-transport-security'),
        ],
        ['nosniff', 'no-store', null, null, null],
      )
    }
    assert.strictEqual(
      (await api.call('GET', '//healthz', { headers: { 'x-request-id': 'trace:1.2-3' } })).headers.get('x-request-id'),
      'trace:1.2-3',
    )
    assert.notStrictEqual(
      (await api.call('GET', '//healthz', { headers: { 'x-request-id': '<script>' } })).headers.get('x-request-id'),
      '<script>',
    )
  })
  it('explains every error at its doc_url', async () => {
    const { status, headers, body } = await api.call('GET', '//docs/errors', { key: null })
    assert.deepEqual([status, headers.get('content-type')], [200, 'text/html; charset=utf-8'])
    for (const code of Object.keys(ERRORS)) assert.ok(textOf(body).includes(`<section id="${code}">`), code)
  })
  it('verifies both kinds of key', async () => {
    for (const [key, type, domain] of [
      [api.regular, 'regular', api.domain],
      [api.admin, 'admin', null],
    ] as const) {
      const { status, body } = await api.call('GET', '/integrations/verify', { key })
      assert.deepEqual(
        [
          status,
          body['data']?.['type'],
          body['data']?.['workspace_id'],
          body['data']?.['domain'],
          Array.isArray(body['data']?.['scopes']),
        ],
        [200, type, api.workspaceId, domain, true],
      )
    }
  })

  describe('the OpenAPI description', () => {
    it('has every path and method of the table, with its schema, its errors and its key', async () => {
      const { status, body } = await api.call('GET', '//openapi.json', { key: null })
      assert.deepEqual([status, body['openapi']], [200, '3.1.0'])
      for (const spec of ROUTES) {
        for (const path of pathsOf(spec)) {
          const operation = body['paths']?.[path.replace(/:(\w+)/g, '{$1}')]?.[spec.method.toLowerCase()]
          assert.ok(operation !== undefined, path)
          assert.deepEqual(listOf(operation['security']).flatMap(Object.keys), schemesOf(spec), path)
          assert.strictEqual(
            operation['requestBody'] !== undefined,
            spec.body !== undefined || spec.accepts !== undefined,
          )
          for (const code of listErrors(spec))
            assert.ok(operation['responses']?.[ERRORS[code].status] !== undefined, `${path} ${code}`)
        }
      }
      const ids = Object.values(body['paths'] as Json).flatMap((item) =>
        Object.values(item).map((operation) => operation['operationId']),
      )
      assert.strictEqual(new Set(ids).size, ids.length)
    })
    it('describes the forms that a send accepts', async () => {
      const { body } = await api.call('GET', '//openapi.json', { key: null })
      const content = body['paths']?.['/api/v1/send-email/instant']?.['post']?.['requestBody']?.['content']
      assert.deepEqual(content?.['application/json']?.['schema'], { $ref: '#/components/schemas/Message' })
      const schema = body['components']?.['schemas']?.['Message']
      for (const field of [
        'to',
        'cc',
        'bcc',
        'from',
        'from_name',
        'fromName',
        'reply_to',
        'subject',
        'body',
        'html',
        'text',
        'is_html',
        'template_id',
        'params',
        'template_data',
        'attachments',
        'headers',
        'tags',
        'metadata',
        'track_opens',
        'track_clicks',
        'expires_at',
      ])
        assert.ok(schema?.['properties']?.[field] !== undefined, field)
      assert.ok(Array.isArray(schema?.['properties']?.['to']?.['oneOf']))
    })
  })
})

describe('the request rate', () => {
  let api: TestApi
  before(async () => {
    const plans = new URL('../test/support/small-plans.json', import.meta.url).pathname
    api = await startApi({ PLANS_FILE: plans, PUBLIC_URL: 'https://mail.example' })
  })
  after(() => api.stop())

  it('when exceeded: 429 RATE_LIMITED with Retry-After; other workspaces are not affected', async () => {
    const tenant = await api.addTenant({ plan: 'small' })
    const call = (key = tenant.regular): Promise<TestResponse> => api.call('GET', '/integrations/verify', { key })
    // a window may end between two of these calls, and never twice
    const answers = await Promise.all(Array.from({ length: 60 }, () => call()))
    const refused = answers.filter(({ status }) => status === 429)
    assert.ok(refused.length >= 20, `${refused.length} were refused`)
    for (const { body, headers } of refused) {
      assert.deepEqual(
        [body['error'], body['reason'], headers.get('x-ratelimit-limit'), headers.get('x-ratelimit-remaining')],
        ['RATE_LIMITED', 'request_rate', '20', '0'],
      )
      assert.ok(Number(headers.get('retry-after')) >= 1 && Number(headers.get('retry-after')) <= 10)
    }
    assert.strictEqual((await call(api.regular)).status, 200)
  })
  it('adds Strict-Transport-Security when PUBLIC_URL is https', async () => {
    assert.match((await api.call('GET', '//healthz')).headers.get('strict-transport-security') ?? '', /^max-age=\d+$/)
  })
})
