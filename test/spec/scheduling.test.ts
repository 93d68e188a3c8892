/** "Scheduled sending": both shapes of the body, the formats of a time, the maximum delay, and how to cancel. */
import { assert } from 'chai'
import { listOf, startApi, textOf, type Tenant, type TestResponse, type TestApi } from '#test/support/api.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const ahead = (ms: number): string => new Date(Date.now() + ms).toISOString()

/** A day on which noon is well inside the limits, everywhere. */
const NOON = ahead(200 * DAY_MS).slice(0, 10)

type Row = readonly [row: string, times: object, utc: string]

const FORMS: readonly Row[] = [
  ['YYYY-MM-DD_HH:MM:SS', { scheduled_at: `${NOON}_12:00:00` }, `${NOON}T12:00:00.000Z`],
  ['ISO 8601', { scheduled_at: `${NOON}T12:00:00Z` }, `${NOON}T12:00:00.000Z`],
  [
    'ISO 8601 with an offset, which wins over the timezone',
    { scheduled_at: `${NOON}T12:00:00+05:00`, timezone: 'Asia/Tokyo' },
    `${NOON}T07:00:00.000Z`,
  ],
  [
    'without an offset it is read in the timezone',
    { scheduled_at: `${NOON}_12:00:00`, timezone: 'Asia/Tokyo' },
    `${NOON}T03:00:00.000Z`,
  ],
  ['scheduled_for', { scheduled_for: `${NOON}T12:00:00Z` }, `${NOON}T12:00:00.000Z`],
]

type Refused = readonly [row: string, times: () => object, field: string]
const REFUSED: readonly Refused[] = [
  ['scheduled_at is required', () => ({}), 'scheduled_at'],
  ['a time', () => ({ scheduled_at: 'tomorrow' }), 'scheduled_at'],
  ['in the future', () => ({ scheduled_at: ahead(-MINUTE_MS) }), 'scheduled_at'],
  ['at least 1 minute ahead', () => ({ scheduled_at: ahead(MINUTE_MS - 5000) }), 'scheduled_at'],
  ['at most 365 days ahead', () => ({ scheduled_at: ahead(365 * DAY_MS + MINUTE_MS) }), 'scheduled_at'],
  ['an IANA timezone', () => ({ scheduled_at: ahead(DAY_MS), timezone: 'Mars/Olympus' }), 'timezone'],
]

const PRIORITIES: readonly (readonly [string | undefined, string])[] = [
  [undefined, 'async'],
  ['instant', 'instant'],
  ['high', 'high'],
  ['normal', 'async'],
  ['bulk', 'bulk'],
]

describe('specification: scheduled sending', () => {
  let api: TestApi
  let free: Tenant
  before(async () => {
    api = await startApi()
    free = await api.addTenant({ plan: 'free' })
  })
  after(() => api.stop())

  const message = (domain = api.domain): object => ({
    from: `me@${domain}`,
    to: ['a@b.example'],
    subject: 's',
    body: 'x',
  })
  const schedule = (body: object, key = api.regular): Promise<TestResponse> =>
    api.call('POST', '/send-email/schedule', { key, body })

  for (const [row, times, utc] of FORMS) {
    it(`flat: ${row}`, async () => {
      const { status, body } = await schedule({ ...message(), ...times })
      assert.deepEqual([status, body['scheduled_at']], [200, utc])
    })
    it(`nested: ${row}`, async () => {
      const { status, body } = await schedule({ ...times, email: message() })
      assert.deepEqual([status, body['scheduled_at']], [200, utc])
    })
  }
  for (const [row, times, field] of REFUSED) {
    it(`400 VALIDATION_ERROR: ${row}`, async () => {
      const { status, body } = await schedule({ ...message(), ...times() })
      assert.deepEqual([status, body['error'], listOf(body['details'])[0]?.['path']], [400, 'VALIDATION_ERROR', field])
    })
  }
  it('takes what is inside the limits by a little', async () => {
    for (const at of [ahead(MINUTE_MS + 5000), ahead(365 * DAY_MS - MINUTE_MS)])
      assert.strictEqual((await schedule({ ...message(), scheduled_at: at })).status, 200, at)
  })
  it('the timezone is UTC by default', async () => {
    assert.strictEqual((await schedule({ ...message(), scheduled_at: ahead(DAY_MS) })).body['timezone'], 'UTC')
  })
  for (const [priority, queue] of PRIORITIES)
    it(`priority ${priority ?? 'left out'}: it enters ${queue} when due`, async () => {
      assert.strictEqual((await schedule({ ...message(), scheduled_at: ahead(DAY_MS), priority })).body['queue'], queue)
    })

  it('403 PLAN_REQUIRED below LAUNCH', async () => {
    const { status, body } = await schedule({ ...message(free.domain), scheduled_at: ahead(DAY_MS) }, free.regular)
    assert.deepEqual([status, body['error']], [403, 'PLAN_REQUIRED'])
  })

  describe('the list and the way back', () => {
    let tenant: Tenant
    const ids: string[] = []
    before(async () => {
      tenant = await api.addTenant()
      for (let i = 0; i < 3; i++) {
        const { body } = await schedule(
          { ...message(tenant.domain), scheduled_at: ahead((i + 1) * DAY_MS) },
          tenant.regular,
        )
        ids.push(textOf(body['id']))
      }
    })
    const call = (method: string, path: string): Promise<TestResponse> =>
      api.call(method, `/send-email/${path}`, { key: tenant.regular })

    it('GET /send-email/scheduled lists both shapes of a page', async () => {
      const { status, body } = await call('GET', 'scheduled?page=2&limit=2')
      const { emails, ...page } = body['data'] ?? assert.fail()
      assert.deepEqual(
        [status, page, listOf(emails).map((email) => email['id'])],
        [
          200,
          { page: 2, limit: 2, total: 3, totalPages: 2, meta: { total: 3, page: 2, limit: 2, has_more: false } },
          [ids[2]],
        ],
      )
    })
    it('DELETE cancels one, also repeatedly; in every form of its id', async () => {
      const [first = '', second = ''] = ids
      const gone = await call('DELETE', `schedule/${first}`)
      assert.deepEqual([gone.status, gone.body['data']], [200, { id: first, status: 'cancelled' }])
      const again = await call('DELETE', `schedule/${first}`)
      assert.deepEqual([again.status, again.body], [200, gone.body])
      const suffix = second.split('_').at(-1) ?? ''
      assert.strictEqual((await call('DELETE', `schedule/em_${suffix}`)).status, 200)
      assert.strictEqual((await call('GET', 'scheduled')).body['data']?.['total'], 1)
    })
    it("DELETE of what is not there, or another workspace's, is 404", async () => {
      for (const answer of [
        await call('DELETE', 'schedule/nonsense'),
        await api.call('DELETE', `/send-email/schedule/${ids[2] ?? ''}`),
      ])
        assert.deepEqual([answer.status, answer.body['error']], [404, 'NOT_FOUND'])
    })
  })
})
