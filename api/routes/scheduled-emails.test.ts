import { assert } from 'chai'
import { messageIdOf } from '#src/platform/id.ts'
import { listOf, startApi, textOf, type Json, type TestResponse, type TestApi } from '#test/support/api.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 3600_000
const inMs = (ms: number): string => new Date(Date.now() + ms).toISOString()

describe('scheduling', () => {
  let api: TestApi
  before(async () => {
    api = await startApi()
  })
  after(() => api.stop())

  const message = (fields: object = {}): object => ({
    from: `me@${api.domain}`,
    to: ['a@b.example'],
    subject: 's',
    body: 'x',
    ...fields,
  })
  const schedule = (body: object, path = '/send-email/schedule'): Promise<TestResponse> =>
    api.call('POST', path, { body })

  it('returns the scheduled object with the fields of both variants', async () => {
    const at = inMs(DAY_MS)
    const { status, body } = await schedule(
      message({ to: ['a@b.example', 'c@d.example'], cc: ['e@f.example'], scheduled_at: at, timezone: 'Europe/Berlin' }),
    )
    const id = textOf(body['id'])
    const [, ms, suffix] = /^scheduled_msg_(\d+)_([0-9a-f]{32})$/.exec(id) ?? []
    assert.deepEqual(
      [status, { ...body, message: typeof body['message'] }],
      [
        200,
        {
          success: true,
          message: 'string',
          id,
          object: 'scheduled_email',
          status: 'scheduled',
          scheduled_at: at,
          timezone: 'Europe/Berlin',
          from: `me@${api.domain}`,
          to: ['a@b.example', 'c@d.example'],
          subject: 's',
          created_at: new Date(Number(ms)).toISOString(),
          metadata: { priority: 'normal', estimated_delivery: 'at the scheduled time', recipients_count: 3 },
          email_id: `em_${suffix}`,
          queue: 'async',
          estimated_delivery: 'at the scheduled time',
          data: {
            id,
            job_id: `em_${suffix}`,
            status: 'scheduled',
            priority: 'normal',
            recipients: 3,
            scheduled_at: at,
            timezone: 'Europe/Berlin',
          },
        },
      ],
    )
    const {
      rows: [row],
    } = await api.db.query<{ state: string; due_at: Date }>(
      'SELECT state, due_at FROM recipients WHERE message_id = $1::uuid AND n = 0',
      [suffix],
    )
    assert.deepEqual([row?.state, row?.due_at.toISOString()], ['scheduled', at])
  })

  const soon = inMs(20 * DAY_MS).slice(0, 19)
  const FORMS: readonly (readonly [
    rule: string,
    body: (at: string) => object,
    expected: Partial<Record<string, unknown>>,
  ])[] = [
    ['flat', (at) => message({ scheduled_at: at }), { timezone: 'UTC', queue: 'async' }],
    ['scheduled_for', (at) => message({ scheduled_for: at }), { timezone: 'UTC' }],
    ['nested', (at) => ({ scheduled_at: at, timezone: 'UTC', email: message() }), { timezone: 'UTC' }],
    [
      'nested, the time inside',
      (at) => ({ email: message({ scheduled_for: at, timezone: 'Asia/Tokyo' }) }),
      { timezone: 'Asia/Tokyo' },
    ],
    ['null timezone is UTC', (at) => message({ scheduled_at: at, timezone: null }), { timezone: 'UTC' }],
    ['priority high', (at) => message({ scheduled_at: at, priority: 'high' }), { queue: 'high' }],
    [
      'priority instant, nested',
      (at) => ({ scheduled_at: at, priority: 'instant', email: message() }),
      { queue: 'instant' },
    ],
    [
      'priority inside the email',
      (at) => ({ scheduled_at: at, email: message({ priority: 'bulk' }) }),
      { queue: 'bulk' },
    ],
    ['priority low is bulk', (at) => message({ scheduled_at: at, priority: 'low' }), { queue: 'bulk' }],
    ['priority async is normal', (at) => message({ scheduled_at: at, priority: 'async' }), { queue: 'async' }],
  ]
  for (const [rule, body, expected] of FORMS) {
    it(rule, async () => {
      const at = `${soon}.000Z`
      const answer = await schedule(body(at), '/public/send-email/schedule')
      assert.strictEqual(answer.status, 200, JSON.stringify(answer.body))
      assert.deepEqual(Object.fromEntries(Object.keys(expected).map((name) => [name, answer.body[name]])), expected)
      assert.strictEqual(answer.body['scheduled_at'], at)
    })
  }

  it('YYYY-MM-DD_HH:MM:SS is read in the timezone', async () => {
    const { body } = await schedule(message({ scheduled_at: soon.replace('T', '_'), timezone: 'Asia/Kolkata' }))
    assert.strictEqual(Date.parse(textOf(body['scheduled_at'])), Date.parse(`${soon}+05:30`))
  })

  const WINDOW: readonly (readonly [why: string, ms: number, status: number])[] = [
    ['now', 0, 400],
    ['in the past', -DAY_MS, 400],
    ['50 seconds ahead', 50_000, 400],
    ['a minute ahead', MINUTE_MS + 200, 200],
    ['364 days ahead', 364 * DAY_MS, 200],
    ['366 days ahead', 366 * DAY_MS, 400],
  ]
  for (const [why, ms, expected] of WINDOW) {
    it(`${why}: ${expected}`, async () => {
      const { status, body } = await schedule(message({ scheduled_at: inMs(ms) }))
      assert.strictEqual(status, expected)
      if (expected === 400)
        assert.deepEqual([body['error'], body['details']?.['0']?.['path']], ['VALIDATION_ERROR', 'scheduled_at'])
    })
  }

  const REFUSED: readonly (readonly [why: string, body: () => object, path: string])[] = [
    ['no time', () => message(), 'scheduled_at'],
    ['an invalid time', () => message({ scheduled_at: 'tomorrow' }), 'scheduled_at'],
    ['a time that is a number', () => message({ scheduled_at: 1_930_000_000 }), 'scheduled_at'],
    ['an invalid zone', () => message({ scheduled_at: `${soon}Z`, timezone: 'Mars/Olympus' }), 'timezone'],
    ['a zone that is a number', () => message({ scheduled_at: `${soon}Z`, timezone: 1 }), 'timezone'],
    ['an invalid priority', () => message({ scheduled_at: `${soon}Z`, priority: 'fast' }), 'priority'],
    ['a bad message, nested', () => ({ scheduled_at: `${soon}Z`, email: message({ to: ['nobody'] }) }), 'email.to.0'],
    ['a bad message, flat', () => message({ scheduled_at: `${soon}Z`, to: ['nobody'] }), 'to.0'],
    ['an email that is a string', () => ({ scheduled_at: `${soon}Z`, email: 'x' }), 'email'],
    ['an expiry before its time', () => message({ scheduled_at: `${soon}Z`, expires_at: inMs(DAY_MS) }), 'expires_at'],
  ]
  for (const [why, body, path] of REFUSED) {
    it(`${why} is 400`, async () => {
      const answer = await schedule(body())
      assert.deepEqual(
        [answer.status, answer.body['error'], listOf(answer.body['details'])[0]?.['path']],
        [400, 'VALIDATION_ERROR', path],
        JSON.stringify(answer.body),
      )
    })
  }

  it('a plan below LAUNCH: 403 PLAN_REQUIRED', async () => {
    const tenant = await api.addTenant({ plan: 'free' })
    const { status, body } = await api.call('POST', '/send-email/schedule', {
      key: tenant.regular,
      body: message({ from: `me@${tenant.domain}`, scheduled_at: inMs(DAY_MS) }),
    })
    assert.deepEqual([status, body['error']], [403, 'PLAN_REQUIRED'])
    const campaign = `/public/campaigns/${tenant.workspaceId}/schedule`
    const scheduled = await api.call('POST', campaign, { key: tenant.admin, body: { scheduled_at: inMs(DAY_MS) } })
    assert.deepEqual([scheduled.status, scheduled.body['error']], [403, 'PLAN_REQUIRED'])
  })

  describe('the list', () => {
    let tenant: Awaited<ReturnType<TestApi['addTenant']>>
    const list = (query: string): Promise<TestResponse> =>
      api.call('GET', `/send-email/scheduled${query}`, { key: tenant.regular })
    before(async () => {
      tenant = await api.addTenant()
      for (const days of [3, 1, 2])
        await api.call('POST', '/send-email/schedule', {
          key: tenant.regular,
          body: message({ from: `me@${tenant.domain}`, subject: `in ${days}`, scheduled_at: inMs(days * DAY_MS) }),
        })
    })

    it('has both variants of a list, soonest first', async () => {
      const { status, body } = await list('')
      const data = body['data'] as Json
      assert.deepEqual(
        [status, body['success'], data['page'], data['limit'], data['total'], data['totalPages'], data['meta']],
        [200, true, 1, 50, 3, 1, { total: 3, page: 1, limit: 50, has_more: false }],
      )
      assert.deepEqual(
        listOf(data['emails']).map((email) => [
          email['subject'],
          email['object'],
          email['status'],
          email['metadata']?.['recipients_count'],
        ]),
        [1, 2, 3].map((days) => [`in ${days}`, 'scheduled_email', 'scheduled', 1]),
      )
    })
    it('has pages', async () => {
      const { body } = await list('?page=2&limit=2')
      const data = body['data'] as Json
      assert.deepEqual(
        [listOf(data['emails']).map((email) => email['subject']), data['totalPages'], data['meta']?.['has_more']],
        [['in 3'], 2, false],
      )
    })
    for (const [query, path] of [
      ['?limit=1001', 'limit'],
      ['?limit=0', 'limit'],
      ['?page=0', 'page'],
      ['?page=x', 'page'],
      ['?limit=-1', 'limit'],
      ['?page=1&page=2', 'page'],
      ['?limit=1e2', 'limit'],
      ['?page=99999999999999999999', 'page'],
    ] as const) {
      it(`${query} is 400`, async () => {
        const { status, body } = await list(query)
        assert.deepEqual([status, body['error'], body['details']?.['0']?.['path']], [400, 'VALIDATION_ERROR', path])
      })
    }
    it('contains only the messages of this workspace', async () =>
      assert.strictEqual(
        (await api.call('GET', '/send-email/scheduled', { key: (await api.addTenant()).regular })).body['data']?.[
          'total'
        ],
        0,
      ))
  })

  describe('cancelling', () => {
    const cancel = (id: string, key = api.regular): Promise<TestResponse> =>
      api.call('DELETE', `/send-email/schedule/${id}`, { key })
    it('returns 200 with the id and cancelled, by any of its ids, also the second time', async () => {
      for (const name of ['id', 'email_id'] as const) {
        const { body } = await schedule(message({ scheduled_at: inMs(DAY_MS) }))
        const id = textOf(body[name])
        const cancelled = await cancel(id)
        assert.deepEqual(
          [cancelled.status, cancelled.body['success'], cancelled.body['data']],
          [200, true, { id, status: 'cancelled' }],
        )
        const again = await cancel(id)
        assert.deepEqual([again.status, again.body], [200, cancelled.body])
        assert.strictEqual((await api.call('GET', `/public/emails/get-email?id=${id}`)).body['status'], 'cancelled')
        const events = await api.db.query(`SELECT 1 FROM events WHERE message_id = $1 AND type = 'email.cancelled'`, [
          messageIdOf(id),
        ])
        assert.strictEqual(events.rowCount, 1)
      }
    })
    it('refunds the quota once', async () => {
      const tenant = await api.addTenant()
      const used = async (): Promise<unknown> =>
        (await api.call('GET', '/public/workspace', { key: tenant.admin })).body['data']?.['quota']?.['used']
      const { body } = await api.call('POST', '/send-email/schedule', {
        key: tenant.regular,
        body: message({ from: `me@${tenant.domain}`, cc: ['c@d.example'], scheduled_at: inMs(DAY_MS) }),
      })
      assert.strictEqual(await used(), 2)
      await Promise.all([1, 2, 3].map(() => cancel(textOf(body['id']), tenant.regular)))
      assert.strictEqual(await used(), 0)
    })
    it('by several requests at the same time is 200 for each', async () => {
      const { body } = await schedule(message({ to: ['a@b.example', 'c@d.example'], scheduled_at: inMs(DAY_MS) }))
      const answers = await Promise.all(Array.from({ length: 5 }, () => cancel(textOf(body['id']))))
      assert.deepEqual(
        answers.map(({ status }) => status),
        [200, 200, 200, 200, 200],
      )
    })
    it('when a recipient has left for the queue: 409 CONFLICT, and what waits is cancelled', async () => {
      const { body } = await schedule(message({ to: ['a@b.example', 'c@d.example'], scheduled_at: inMs(DAY_MS) }))
      const id = textOf(body['id'])
      await api.db.query(`UPDATE recipients SET state = 'delivered' WHERE message_id = $1 AND n = 0`, [messageIdOf(id)])
      for (const answer of [await cancel(id), await cancel(id)])
        assert.deepEqual([answer.status, answer.body['error']], [409, 'CONFLICT'])
    })
    it('of another workspace, of an unscheduled message, of an unknown id: 404 NOT_FOUND', async () => {
      const { body } = await schedule(message({ scheduled_at: inMs(DAY_MS) }))
      const sent = await api.call('POST', '/send-email/bulk', { body: message() })
      const other = await api.addTenant()
      for (const [id, key] of [
        [textOf(body['id']), other.regular],
        [textOf(sent.body['id']), api.regular],
        ['em_00000000000070008000000000000000', api.regular],
        ['x', api.regular],
      ] as const) {
        const answer = await cancel(id, key)
        assert.deepEqual([answer.status, answer.body['error']], [404, 'NOT_FOUND'])
      }
    })
  })
})
