/** "Errors": each code is returned for its condition, with its status, in the standard error body. */
import { assert } from 'chai'
import { newId } from '#src/platform/id.ts'
import { listOf, startApi, type Tenant, type TestResponse, type TestApi } from '#test/support/api.ts'

interface ErrorContext {
  readonly api: TestApi
  readonly free: Tenant
}

type Row = readonly [
  status: number,
  code: string,
  condition: string,
  ask: (context: ErrorContext) => Promise<TestResponse>,
]

const message = (domain: string): object => ({ from: `me@${domain}`, to: ['a@b.example'], subject: 's', body: 'x' })
const UNKNOWN = '00000000-0000-7000-8000-000000000000'

const ROWS: readonly Row[] = [
  [
    400,
    'VALIDATION_ERROR',
    'a required field is missing',
    ({ api }) => api.call('POST', '/send-email/instant', { body: {} }),
  ],
  [
    400,
    'VALIDATION_ERROR',
    'a value is not valid',
    ({ api }) => api.call('POST', '/public/audiences/add-audience', { key: api.admin, body: { name: 5 } }),
  ],
  [
    400,
    'VALIDATION_ERROR',
    'the body is not JSON',
    ({ api }) => api.call('POST', '/send-email/instant', { body: '{"to":' }),
  ],
  [
    400,
    'VALIDATION_ERROR',
    'the id is missing',
    ({ api }) => api.call('GET', '/public/audiences/get-audience', { key: api.admin }),
  ],
  [
    400,
    'INVALID_TEMPLATE',
    'template_id is not found',
    ({ api }) =>
      api.call('POST', '/send-email/instant', {
        body: { from: `me@${api.domain}`, to: 'a@b.example', template_id: UNKNOWN },
      }),
  ],
  [401, 'UNAUTHORIZED', 'no key', ({ api }) => api.call('GET', '/integrations/verify', { key: null })],
  [
    401,
    'UNAUTHORIZED',
    'a key that is not valid',
    ({ api }) => api.call('GET', '/integrations/verify', { key: 'ms_0.live_0' }),
  ],
  [403, 'FORBIDDEN', 'a Regular key on audiences', ({ api }) => api.call('GET', '/public/audiences/get-audiences')],
  [
    403,
    'FORBIDDEN',
    'an Admin key on a sending endpoint',
    ({ api }) => api.call('POST', '/send-email/instant', { key: api.admin, body: message(api.domain) }),
  ],
  [
    403,
    'PLAN_REQUIRED',
    'scheduling on the free plan',
    ({ api, free }) => api.call('POST', '/send-email/schedule', { key: free.regular, body: message(free.domain) }),
  ],
  [404, 'NOT_FOUND', 'no such endpoint', ({ api }) => api.call('GET', '/public/nothing', { key: api.admin })],
  [
    404,
    'NOT_FOUND',
    'no such object',
    ({ api }) => api.call('GET', `/public/audiences/get-audience?id=${UNKNOWN}`, { key: api.admin }),
  ],
  [
    404,
    'NOT_FOUND',
    'no such email',
    ({ api }) => api.call('GET', '/public/emails/get-email?id=em_00000000000070008000000000000000'),
  ],
  [405, 'METHOD_NOT_ALLOWED', 'another method', ({ api }) => api.call('GET', '/send-email/instant')],
  [
    409,
    'CONFLICT',
    'a domain that is there already',
    ({ api }) => api.call('POST', '/public/domains/add-domain', { key: api.admin, body: { domain: api.domain } }),
  ],
  [
    409,
    'IDEMPOTENCY_MISMATCH',
    'the same key with another body',
    async ({ api }) => {
      const headers = { 'idempotency-key': newId() }
      await api.call('POST', '/send-email/instant', { body: message(api.domain), headers })
      return api.call('POST', '/send-email/instant', { body: { ...message(api.domain), subject: 'other' }, headers })
    },
  ],
  [
    413,
    'PAYLOAD_TOO_LARGE',
    'a message over the limit',
    ({ api }) =>
      api.call('POST', '/send-email/instant', { body: { ...message(api.domain), body: 'x'.repeat(70_000) } }),
  ],
  [
    415,
    'UNSUPPORTED_MEDIA_TYPE',
    'a body that is not JSON',
    ({ api }) => api.call('POST', '/send-email/instant', { body: 'a=b', headers: { 'content-type': 'text/plain' } }),
  ],
  [
    429,
    'RATE_LIMITED',
    'the quota of the plan (100) is reached',
    async ({ api }) => {
      const small = await api.addTenant({ plan: 'small' })
      const fifty = { ...message(small.domain), to: Array.from({ length: 50 }, (_, i) => `r${i}@b.example`) }
      for (const body of [fifty, fifty])
        assert.strictEqual((await api.call('POST', '/send-email/bulk', { key: small.regular, body })).status, 200)
      return api.call('POST', '/send-email/bulk', { key: small.regular, body: message(small.domain) })
    },
  ],
  [
    500,
    'INTERNAL_ERROR',
    'server failure: a table that is not there',
    async ({ api }) => {
      await api.db.query('ALTER TABLE templates RENAME TO templates_lost')
      try {
        return await api.call('GET', '/templates')
      } finally {
        await api.db.query('ALTER TABLE templates_lost RENAME TO templates')
      }
    },
  ],
]

describe('specification: errors', () => {
  const context = {} as { -readonly [K in keyof ErrorContext]: ErrorContext[K] }
  before(async () => {
    const plans = new URL('../support/small-plans.json', import.meta.url).pathname
    context.api = await startApi({ PLANS_FILE: plans, MAX_MESSAGE_BYTES: '65536' })
    context.free = await context.api.addTenant({ plan: 'free' })
  })
  after(() => context.api.stop())

  for (const [status, code, condition, ask] of ROWS) {
    it(`${status} ${code}: ${condition}`, async () => {
      const answer = await ask(context)
      const { success, error, message: text, reason, details, doc_url: docUrl, request_id: id, ...more } = answer.body
      assert.deepEqual([docUrl, id] as unknown[], [
        `${context.api.config.publicUrl}/docs/errors#${code}`,
        answer.headers.get('x-request-id'),
      ])
      assert.deepEqual([answer.status, success, error, typeof text, more], [status, false, code, 'string', {}])
      if (code === 'VALIDATION_ERROR')
        for (const detail of listOf(details)) assert.deepEqual(Object.keys(detail), ['path', 'message'])
      else assert.strictEqual(details, undefined)
      if (status === 405) assert.strictEqual(answer.headers.get('allow'), 'POST, OPTIONS')
      assert.strictEqual(reason, status === 429 ? 'quota' : undefined)
      if (status === 429) assert.ok(Number(answer.headers.get('retry-after')) > 0)
    })
  }

  it('Prefer: translations adds the code of the message, and changes nothing else', async () => {
    const ask = (headers: Record<string, string>): Promise<TestResponse> =>
      context.api.call('GET', `/public/audiences/get-audience?id=${UNKNOWN}`, { key: context.api.admin, headers })
    const usual = (await ask({})).body
    const { message_translation: translation, ...same } = (await ask({ Prefer: 'translations' })).body
    assert.deepEqual(translation as unknown, { code: 'refusal.no_audience', params: {} })
    assert.deepEqual({ ...same, request_id: '' } as unknown, { ...usual, request_id: '' } as unknown)
  })

  it('Prefer: translations adds the code of each detail, and changes nothing else', async () => {
    const ask = (headers?: Record<string, string>): Promise<TestResponse> =>
      context.api.call('POST', '/send-email/instant', {
        body: { from: `me@${context.api.domain}`, to: 'nobody', subject: 's', body: 'x' },
        ...(headers === undefined ? {} : { headers }),
      })
    const usual = (await ask()).body
    const { detail_translations: translations, ...same } = (await ask({ Prefer: 'translations' })).body
    assert.deepEqual(translations as unknown, [{ code: 'field.address_without_at', params: {} }])
    assert.deepEqual({ ...same, request_id: '' } as unknown, { ...usual, request_id: '' } as unknown)
  })
})
