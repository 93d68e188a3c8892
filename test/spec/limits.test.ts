/** "Limits": each row at its limit and one beyond it. Scheduling, keys, tiers and lists have their own test files. */
import { assert } from 'chai'
import { startApi, textOf, type Json, type TestResponse, type TestApi } from '#test/support/api.ts'

interface Limit {
  readonly row: string
  readonly most: number
  readonly error: readonly [status: number, code: string]
  readonly ask: (api: TestApi, size: number) => Promise<TestResponse>
}

const INVALID = [400, 'VALIDATION_ERROR'] as const
const addresses = (count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, i) => `r${from + i}@b.example`)
const messageOf = (api: TestApi): object => ({ from: `me@${api.domain}`, to: ['a@b.example'], subject: 's', body: 'x' })
const send = (api: TestApi, fields: object, headers: Record<string, string> = {}): Promise<TestResponse> =>
  api.call('POST', '/send-email/instant', { body: { ...messageOf(api), ...fields }, headers })

const LIMITS: readonly Limit[] = [
  {
    row: 'audience name: 255 characters',
    most: 255,
    error: INVALID,
    ask: (api, size) =>
      api.call('POST', '/public/audiences/add-audience', { key: api.admin, body: { name: 'n'.repeat(size) } }),
  },
  {
    row: 'page size: 1000',
    most: 1000,
    error: INVALID,
    ask: (api, size) => api.call('GET', `/public/audiences/get-audiences?limit=${size}`, { key: api.admin }),
  },
  {
    row: 'recipients of one message: 50',
    most: 50,
    error: INVALID,
    ask: (api, size) => send(api, { to: addresses(size) }),
  },
  {
    row: 'recipients in to, cc and bcc together: 50',
    most: 50,
    error: INVALID,
    ask: (api, size) => send(api, { to: addresses(10), cc: addresses(10, 10), bcc: addresses(size - 20, 20) }),
  },
  {
    row: 'messages of a batch: 500',
    most: 500,
    error: INVALID,
    ask: (api, size) =>
      api.call('POST', '/send-email/batch', { body: { messages: Array.from({ length: size }, () => messageOf(api)) } }),
  },
  {
    row: 'Idempotency-Key: 256 characters',
    most: 256,
    error: INVALID,
    ask: (api, size) => send(api, {}, { 'idempotency-key': 'k'.repeat(size) }),
  },
  {
    row: 'one body: 1 MB as configured here, after decoding',
    most: 1_000_000,
    error: [413, 'PAYLOAD_TOO_LARGE'],
    ask: (api, size) => {
      const content = Buffer.alloc(size - 1).toString('base64') // and one byte of body
      return send(api, { attachments: [{ filename: 'a.bin', content }] })
    },
  },
]

describe('specification: limits', () => {
  let api: TestApi
  before(async () => {
    api = await startApi({ MAX_MESSAGE_BYTES: '1000000' })
  })
  after(() => api.stop())

  for (const { row, most, error, ask } of LIMITS) {
    it(`${row}: that much is taken`, async () => {
      const { status, body } = await ask(api, most)
      assert.ok(status === 200 || status === 201, JSON.stringify(body).slice(0, 500))
    })
    it(`${row}: one more is ${error.join(' ')}`, async () => {
      const { status, body } = await ask(api, most + 1)
      assert.deepEqual([status, body['error']], error)
    })
  }

  it('domain region: fixed at creation', async () => {
    const add = (region: string): Promise<TestResponse> =>
      api.call('POST', '/public/domains/add-domain', { key: api.admin, body: { domain: 'limits.example', region } })
    const first = await add('af-south-1')
    assert.deepEqual([first.status, first.body['data']?.['region']], [201, 'af-south-1'])
    await add('us-east-1')
    const { body } = await api.call('GET', `/public/domains/domain-status/${textOf(first.body['data']?.['id'])}`, {
      key: api.admin,
    })
    assert.strictEqual(body['data']?.['region'], 'af-south-1')
  })
  it('secret key: displayed once', async () => {
    const body = { name: 'k', custom_domain_id: api.domainId }
    const made = await api.call('POST', '/public/domains/api-keys/create', { key: api.admin, body })
    const secret = textOf(made.body['data']?.['secret_key'])
    const seen: Json[] = []
    for (const path of ['/integrations/verify', '/public/domains/get-domains', '/public/workspace'])
      seen.push((await api.call('GET', path, { key: api.admin })).body)
    seen.push((await api.call('GET', '/integrations/verify', { key: secret })).body)
    assert.ok(!JSON.stringify(seen).includes(secret))
  })
})
