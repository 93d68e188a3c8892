/** The operator's queue endpoints: list and count by filter; retry, drop, bounce and suspend. */
import { assert } from 'chai'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import {
  listOf,
  OPERATOR_TOKEN,
  startApi,
  textOf,
  type Json,
  type TestResponse,
  type TestApi,
  type Tenant,
} from '#test/support/api.ts'
import { CAMPAIGN, FILTERS, WRONG } from './admin.test-data.ts'

describe("the operator's endpoints", () => {
  let api: TestApi
  let other: Tenant
  before(async () => {
    api = await startApi()
    other = await api.addTenant()
  })
  after(() => api.stop())
  beforeEach(() => api.db.query('DELETE FROM recipients'))

  const call = (method: string, path: string, body?: object): Promise<TestResponse> =>
    api.call(method, `/admin${path}`, {
      key: OPERATOR_TOKEN,
      headers: { 'x-operator': 'anna' },
      ...(body === undefined ? {} : { body }),
    })
  async function send(to: string, tenant: Tenant = api, tier = 'async'): Promise<string> {
    const body = { from: `me@${tenant.domain}`, to, subject: 's', text: 't' }
    const { body: answer } = await api.call('POST', `/send-email/${tier}`, { key: tenant.regular, body })
    return textOf(answer['email_id'])
  }
  async function ok(answer: Promise<TestResponse>): Promise<Json> {
    const { status, body } = await answer
    assert.strictEqual(status, 200, JSON.stringify(body))
    return body['data'] ?? body
  }
  async function stateOf(id: string): Promise<{ state: unknown; events: unknown[] }> {
    const id32 = id.slice(3)
    const { rows } = await api.db.query<{ state: string }>(
      `SELECT state FROM recipients WHERE replace(message_id::text, '-', '') = $1`,
      [id32],
    )
    const events = await api.db.query<{ type: string }>(
      sql`
        SELECT type
        FROM events
        WHERE replace(message_id::text, '-', '') = $1
        ORDER BY sequence
      `,
      [id32],
    )
    return { state: rows[0]?.state, events: events.rows.map(({ type }) => type) }
  }

  /** Mail of two workspaces, three domains on two sites, and a campaign. */
  async function fill(): Promise<Record<'one' | 'two' | 'three' | 'old', string>> {
    await api.db.query(sql`
      INSERT INTO domain_sites (domain, site, seen_at)
      VALUES ('a.example', 'mx.shared.example', now()), ('b.example', 'mx.shared.example', now())
      ON CONFLICT DO NOTHING
    `)
    const [one, two, three, old] = [
      await send('x@a.example'),
      await send('y@b.example', other, 'bulk'),
      await send('z@c.example', other, 'instant'),
      await send('o@c.example'),
    ]
    await api.db.query(
      sql`
        INSERT INTO campaigns (id, workspace_id, name, subject, body, from_email)
        VALUES ($1, $2, 'C', 's', 'b', 'a@b.example')
        ON CONFLICT DO NOTHING
      `,
      [CAMPAIGN, other.workspaceId],
    )
    await api.db.query(`UPDATE recipients SET campaign_id = $1 WHERE domain = 'b.example'`, [CAMPAIGN])
    return { one, two, three, old }
  }

  it('list open mail by filter', async () => {
    const ids = await fill()
    for (const [query, found] of FILTERS) {
      const data = await ok(call('GET', `/queue?${query.replace('OTHER', other.workspaceId)}`))
      assert.deepEqual(
        listOf(data['recipients']).map((one) => one['email_id']),
        found.map((name) => ids[name as 'one']),
        query,
      )
    }
  })
  it('list in pages without gaps or duplicates', async () => {
    const ids = await fill()
    const seen: unknown[] = []
    for (let next: string | null = ''; next !== null;) {
      const data: Json = await ok(call('GET', `/queue?limit=3${next === '' ? '' : `&cursor=${next}`}`))
      seen.push(...listOf(data['recipients']).map((one) => one['email_id']))
      next = data['next'] as unknown as string | null
    }
    assert.deepEqual(seen, Object.values(ids))
  })
  it('count open mail by each group', async () => {
    await fill()
    const COUNTS: readonly [by: string, Record<string, number>][] = [
      ['tier', { instant: 1, normal: 2, bulk: 1 }],
      ['state', { queued: 4 }],
      ['domain', { 'a.example': 1, 'b.example': 1, 'c.example': 2 }],
      ['site', { 'mx.shared.example': 2, 'not looked up yet': 2 }],
      ['workspace', { [api.workspaceId]: 2, [other.workspaceId]: 2 }],
      ['campaign', { [CAMPAIGN]: 1, none: 3 }],
      ['age', { 'under 1 minute': 4 }],
    ]
    for (const [by, wanted] of COUNTS) {
      const data = await ok(call('GET', `/queue/counts?by=${by}`))
      assert.deepEqual(Object.fromEntries(listOf(data['counts']).map((one) => [one['name'], one['count']])), wanted)
    }
  })
  for (const query of WRONG)
    it(`refuse ${query} and name the field`, async () => {
      const { status, body } = await call('GET', `/queue?${query}`)
      assert.deepEqual([status, listOf(body['details'])[0]?.['path']], [400, query.split('=')[0]])
    })

  it('drop removes only the selected mail and records its event; a repeat changes nothing', async () => {
    const ids = await fill()
    for (const moved of [2, 0]) {
      const data = await ok(call('POST', '/queue/drop', { site: 'mx.shared.example', reason: 'a test' }))
      assert.deepEqual(
        [data['state'], data['moved'], data['reason'], data['subject']],
        ['done', moved, 'a test', { site: 'mx.shared.example' }],
      )
    }
    for (const [id, wanted] of [
      [ids.one, 'cancelled'],
      [ids.two, 'cancelled'],
      [ids.three, 'queued'],
      [ids.old, 'queued'],
    ] as const)
      assert.strictEqual((await stateOf(id)).state, wanted)
    assert.deepEqual((await stateOf(ids.one)).events, ['email.queued', 'email.cancelled'])
  })
  it('bounce notifies the sender and does not change mail that is being sent', async () => {
    const ids = await fill()
    await api.db.query(`UPDATE recipients SET state = 'sending' WHERE domain = 'a.example'`)
    const data = await ok(call('POST', '/queue/bounce', { all: true }))
    assert.strictEqual(data['moved'], 3)
    assert.deepEqual(await stateOf(ids.three), { state: 'failed', events: ['email.queued', 'email.failed'] })
    assert.deepEqual((await stateOf(ids.one)).state, 'sending')
  })
  it('retry makes deferred mail due; scheduled mail keeps its time', async () => {
    const ids = await fill()
    await api.db.query(
      `UPDATE recipients SET state = 'deferred', due_at = now() + interval '1 hour' WHERE domain = 'a.example'`,
    )
    await api.db.query(
      `UPDATE recipients SET state = 'scheduled', due_at = now() + interval '1 hour' WHERE domain = 'b.example'`,
    )
    const data = await ok(call('POST', '/queue/retry', { site: 'mx.shared.example' }))
    assert.strictEqual(data['moved'], 1)
    const { rows } = await api.db.query(
      `SELECT domain, state, due_at <= now() AS due FROM recipients WHERE domain < 'c' ORDER BY 1`,
    )
    assert.deepEqual(rows, [
      { domain: 'a.example', state: 'queued', due: true },
      { domain: 'b.example', state: 'scheduled', due: false },
    ])
    assert.strictEqual((await stateOf(ids.one)).events.length, 1)
  })
  it('an action without a filter needs all: true', async () => {
    await fill()
    for (const verb of ['retry', 'drop', 'bounce'])
      assert.strictEqual((await call('POST', `/queue/${verb}`, {})).status, 400)
    assert.strictEqual((await ok(call('POST', '/queue/drop', { all: true })))['moved'], 4)
  })
  it('actions are stored with operator and reason', async () => {
    await fill()
    const dropped = await ok(call('POST', '/queue/drop', { domain: 'c.example', reason: 'spam' }))
    await ok(call('POST', '/suspensions', { domain: 'c.example', reason: 'asked' }))
    await ok(call('DELETE', '/suspensions?domain=c.example'))
    const actions = listOf((await ok(call('GET', '/actions?limit=3')))['actions'])
    assert.deepEqual(
      actions.map((one) => [one['verb'], one['reason']]),
      [
        ['resume', ''],
        ['suspend', 'asked'],
        ['drop', 'spam'],
      ],
    )
    assert.match(textOf(actions[2]?.['by']), /^anna, from .*127\.0\.0\.1$/)
    assert.deepEqual(await ok(call('GET', `/actions/${textOf(dropped['id'])}`)), actions[2])
    assert.strictEqual((await call('GET', `/actions/${newId()}`)).status, 404)
  })

  it('suspend and resume each kind', async () => {
    const later = new Date(Date.now() + 3_600_000).toISOString()
    const SUBJECTS: readonly [given: Record<string, string>, subject: string][] = [
      [{ domain: 'D.example' }, 'd.example'],
      [{ domain: '*' }, '*'],
      [{ site: 'MX.example' }, 'mx.example'],
      [{ workspace: other.workspaceId }, other.workspaceId],
      [{ campaign: CAMPAIGN }, CAMPAIGN],
    ]
    for (const [given, subject] of SUBJECTS) {
      await ok(call('POST', '/suspensions', { ...given, reason: 'first' }))
      await ok(call('POST', '/suspensions', { ...given, reason: 'second', until: later }))
      const [found] = listOf((await ok(call('GET', '/suspensions')))['suspensions'])
      assert.deepEqual(
        [found?.['kind'], found?.['subject'], found?.['reason'], found?.['until']],
        [Object.keys(given)[0], subject, 'second', later],
      )
      const query = new URLSearchParams(given).toString()
      assert.deepEqual(
        [
          (await call('DELETE', `/suspensions?${query}`)).status,
          (await call('DELETE', `/suspensions?${query}`)).status,
        ],
        [200, 404],
      )
      await ok(call('POST', '/suspensions', given))
      assert.deepEqual(
        [(await call('DELETE', '/suspensions', given)).status, (await call('DELETE', '/suspensions', given)).status],
        [200, 404],
      )
    }
    const wrong = [
      {},
      { domain: 'a.example', site: 's' },
      { workspace: 'nobody' },
      { campaign: 'x' },
      { domain: 'a.example', until: '2020-01-01' },
    ]
    for (const given of wrong) assert.strictEqual((await call('POST', '/suspensions', given)).status, 400)
  })
  it('a receiver that a reply rule suspended is listed and can be resumed', async () => {
    await api.db.query(
      sql`
        INSERT INTO receiver_suspensions (id, pace, source, rule, reply, until)
        VALUES ($1, 'yahoo', 'default', 'ts04', '421 TS04', now() + interval '2 hours')
      `,
      [newId()],
    )
    const [found] = listOf((await ok(call('GET', '/suspensions')))['receivers'])
    assert.deepEqual(
      [found?.['receiver'], found?.['rule'], found?.['reply'], found?.['workspace_id']],
      ['yahoo', 'ts04', '421 TS04', null],
    )
    assert.deepEqual(
      [
        (await call('DELETE', '/suspensions?receiver=yahoo')).status,
        (await call('DELETE', '/suspensions?receiver=yahoo')).status,
      ],
      [200, 404],
    )
  })
  it('the mail of a workspace or of one domain moves to another pool', async () => {
    await api.db.query(`INSERT INTO egress_pools (name, created_at) VALUES ('vip', now()) ON CONFLICT DO NOTHING`)
    const usersOf = async (): Promise<unknown[]> => {
      const [pool] = listOf((await ok(call('GET', '/pools')))['pools'])
      return [pool?.['name'], pool?.['workspaces'], pool?.['domains']]
    }
    await ok(call('POST', '/pools/use', { workspace: other.workspaceId, pool: 'vip' }))
    await ok(call('POST', '/pools/use', { workspace: other.workspaceId, domain: other.domain, pool: 'vip' }))
    assert.deepEqual(await usersOf(), ['vip', 1, 1])
    await ok(call('POST', '/pools/use', { workspace: other.workspaceId, pool: null }))
    assert.deepEqual(await usersOf(), ['vip', 0, 1])
    const WRONG_MOVES: readonly [body: object, path: string][] = [
      [{ workspace: other.workspaceId, pool: 'none' }, 'pool'],
      [{ workspace: 'nobody', pool: 'vip' }, 'workspace'],
      [{ workspace: other.workspaceId, domain: api.domain, pool: 'vip' }, 'domain'],
    ]
    for (const [body, path] of WRONG_MOVES) {
      const answer = await call('POST', '/pools/use', body)
      assert.deepEqual([answer.status, listOf(answer.body['details'])[0]?.['path']], [400, path])
    }
  })
  it('explain a message of any workspace', async () => {
    const id = await send('x@a.example', other)
    await ok(call('POST', '/suspensions', { workspace: other.workspaceId, reason: 'unpaid' }))
    const data = await ok(call('GET', `/emails/explain/${id}`))
    assert.strictEqual(data['held_by'], 'suspension')
    assert.match(textOf(data['says']), /its workspace .* is suspended by the operator: unpaid/)
    assert.strictEqual((await call('GET', '/emails/explain/em_0')).status, 404)
    await ok(call('DELETE', `/suspensions?workspace=${other.workspaceId}`))
  })
})
