/**
 * A review of the suppression list that the API requests and the inbound role executes: what it finds and removes, also
 * when entries change meanwhile, a process dies, or none runs.
 */
import { assert } from 'chai'
import { startInbound, type Inbound } from '#mta/inbound/inbound.ts'
import { createReportParser, type ReportParser } from '#mta/inbound/report-parser.ts'
import { continueReview } from '#mta/inbound/suppression-review.ts'
import { reportProcess } from '#src/operator/nodes.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { findSuppressions } from '#src/suppression/list.ts'
import { deleteOldReviews } from '#src/suppression/suppression-reviews.ts'
import { suppress } from '#src/suppression/suppress.ts'
import { listOf, OPERATOR_TOKEN, startApi, textOf, type Json, type TestApi } from '#test/support/api.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { openEventStream } from '#test/support/event-stream.ts'
import { createDatabase } from '#test/support/stores.ts'
import { until } from '#test/support/until.ts'

const POLICY = { code: 550, status: '5.7.1', text: 'no such user here, says our policy' }
const UNKNOWN = { code: 550, status: '5.1.1', text: 'no such user here' }
/** More than one slice. */
const MANY = 150

describe('a review of suppressions that the API requests', () => {
  let database: Awaited<ReturnType<typeof createDatabase>>
  let api: TestApi
  let ctx: TestContext
  let parser: ReportParser
  let wrong: string[]
  before(async () => {
    database = await createDatabase()
    api = await startApi({ DNS_SERVERS: '127.0.0.1:1', RDAP_URL: 'none' }, database.url)
    const inbound = { MODE: 'live', MAILSTEAD_HOSTNAME: 'mta.sender.example', INBOUND_PORT: '0' }
    ctx = await createContext({ DNS_SERVERS: '127.0.0.1:1', ...inbound }, database.url)
    parser = createReportParser()
  })
  after(async () => {
    await parser.stop()
    await ctx.close()
    await api.stop()
    await database.drop()
  })
  beforeEach(async () => {
    await api.db.query('TRUNCATE suppressions, suppression_reviews, node_processes')
    wrong = Array.from({ length: MANY }, (_, i) => `wrong${String(i).padStart(3, '0')}@receiver.example`)
    const { workspaceId } = api
    const entry = { workspaceId, kind: 'hard_bounce' as const, reason: null, rule: 'no-such-user@0' }
    await suppress(
      api.db,
      [
        ...wrong.map((address) => ({ ...entry, address, reply: POLICY })),
        { ...entry, address: 'right@receiver.example', reply: UNKNOWN },
        { workspaceId, address: 'hand@receiver.example', kind: 'manual', reason: null },
      ],
      new Date(),
    )
  })

  async function request(body: object): Promise<Json> {
    const answer = await api.call('POST', '/admin/suppression-reviews', {
      key: OPERATOR_TOKEN,
      body,
      headers: { 'x-operator': 'anna' },
    })
    assert.strictEqual(answer.status, 200, JSON.stringify(answer.body))
    return answer.body
  }
  async function read(id: Json | undefined): Promise<Json> {
    const path = `/admin/suppression-reviews/${textOf(id)}`
    const { status, body } = await api.call('GET', path, { key: OPERATOR_TOKEN })
    assert.strictEqual(status, 200)
    return body['data'] as Json
  }
  /** Whether each of the addresses is on the list. */
  async function areListed(...addresses: readonly string[]): Promise<boolean[]> {
    const found = await findSuppressions(api.db, api.workspaceId, addresses)
    return addresses.map((address) => found.some((one) => one.address === address))
  }
  /** A process that does something between reading a slice and storing it. */
  const whileParsing = (act: () => Promise<unknown>): ReportParser => ({
    parse: async (mails) => {
      await act()
      return parser.parse(mails)
    },
    stop: () => Promise.resolve(),
  })
  const finish = async (): Promise<void> => {
    while (await continueReview(ctx, parser));
  }
  async function listed(): Promise<readonly Json[]> {
    const { status, body } = await api.call('GET', '/admin/suppression-reviews', { key: OPERATOR_TOKEN })
    assert.strictEqual(status, 200)
    return listOf(body['data']?.['reviews'])
  }
  const summaryOf = (review: Json): unknown[] => [review['state'], review['checked'], review['count']]

  it('waits, and says so, when no inbound process runs; after a day it is dropped', async () => {
    const { message, data } = await request({ lift: true })
    assert.match(textOf(message), /^No inbound process is running/)
    assert.deepEqual(summaryOf(data as Json), ['waiting', 0, 0])
    await deleteOldReviews(api.db)
    assert.deepEqual(summaryOf(await read(data?.['id'])), ['waiting', 0, 0])
    await api.db.query('UPDATE suppression_reviews SET id = $1', [newId(Date.now() - 86_400_001)])
    await deleteOldReviews(api.db)
    const gone = await api.call('GET', `/admin/suppression-reviews/${textOf(data?.['id'])}`, { key: OPERATOR_TOKEN })
    assert.strictEqual(gone.status, 404)
    assert.isFalse(await continueReview(ctx, parser))
    assert.deepEqual(await areListed(wrong[0] ?? ''), [true])
  })

  it('is executed by an inbound process while the request waits, and only lists what it finds', async () => {
    const role = { node: 'one', roles: ['inbound'], version: '1', sources: [], isDrained: false }
    await reportProcess(api.db, { ...role, id: newId() })
    const inbound: Inbound = await startInbound(ctx)
    try {
      const { data, message } = await request({})
      assert.deepEqual(summaryOf(data as Json), ['done', MANY + 1, MANY])
      assert.match(textOf(message), /^150 addresses would not be suppressed today/)
      const entries = listOf(data?.['entries'])
      assert.lengthOf(entries, MANY)
      assert.deepEqual(entries[0] as unknown, {
        workspace_id: api.workspaceId,
        email: wrong[0],
        rule: 'no-such-user@0',
        reply: `550 5.7.1 ${POLICY.text}`,
        class: 'policy',
      })
    } finally {
      await inbound.stop()
    }
    assert.deepEqual(await areListed(wrong[0] ?? '', wrong.at(-1) ?? ''), [true, true])
  })

  it('removes what it finds, with the operator and the reason in the audit log and in the history', async () => {
    const [address = ''] = wrong
    const { body } = await api.call('POST', '/public/audiences/add-audience', { key: api.admin, body: { name: 'A' } })
    const contact = { audienceId: textOf(body['data']?.['id']), email: address }
    await api.call('POST', '/public/contacts/add-contact', { key: api.admin, body: contact })
    const { data } = await request({ lift: true, wait: false })
    await finish()
    assert.deepEqual(summaryOf(await read(data?.['id'])), ['done', MANY + 1, MANY])
    const others = ['right@receiver.example', 'hand@receiver.example']
    assert.deepEqual(await areListed(address, wrong.at(-1) ?? '', ...others), [false, false, true, true])
    const reason = "review of suppressions: the rule no-such-user@0 added it, today's rules read the bounce as policy"
    const { rows } = await api.db.query(
      sql`
        SELECT actor_kind, actor, action, after
        FROM audit_log
        WHERE kind = 'suppression' AND object = $1
        ORDER BY after
      `,
      [address],
    )
    const actor = { actor_kind: 'operator', actor: 'anna', action: 'admin-review-suppressions' }
    assert.deepEqual(rows, [
      { ...actor, after: { removal_reason: reason } },
      { ...actor, after: null },
    ])
    const path = `/public/contacts/get-contact-history?email=${address}`
    const history = await api.call('GET', path, { key: api.admin })
    assert.include(JSON.stringify(history.body), JSON.stringify(reason))
    const actions = await api.call('GET', '/admin/actions', { key: OPERATOR_TOKEN })
    const [action] = listOf(actions.body['data']?.['actions'])
    assert.deepEqual([action?.['verb'], action?.['by']] as unknown[], ['review', 'anna, from 127.0.0.1'])
  })

  it('keeps an entry that has changed since it was read', async () => {
    const [stronger = '', renewed = '', removed = ''] = wrong
    const { workspaceId } = api
    const { data } = await request({ lift: true, wait: false })
    const changing = whileParsing(async () => {
      const complaint = { workspaceId, address: stronger, kind: 'complaint' as const, reason: null }
      await suppress(api.db, [complaint], new Date())
      await api.db.query('DELETE FROM suppressions WHERE address = ANY ($1)', [[renewed, removed]])
      const again = { workspaceId, address: renewed, kind: 'hard_bounce' as const, reason: null, reply: UNKNOWN }
      await suppress(api.db, [{ ...again, rule: 'no-such-user@0' }], new Date(Date.now() + 1000))
    })
    assert.isTrue(await continueReview(ctx, changing))
    await finish()
    assert.deepEqual(await areListed(stronger, renewed, removed), [true, true, false])
    const review = await read(data?.['id'])
    assert.deepEqual(summaryOf(review), ['done', MANY + 1, MANY - 3])
    assert.notInclude(JSON.stringify(review['entries']), removed)
  })

  it('continues in another process behind the last stored slice, when one dies', async () => {
    const { data } = await request({ lift: true, wait: false })
    assert.isTrue(await continueReview(ctx, parser))
    const dying = whileParsing(() => Promise.reject(new Error('killed')))
    await continueReview(ctx, dying).catch(() => undefined)
    const half = await read(data?.['id'])
    assert.deepEqual([...summaryOf(half), half['total']], ['running', 100, 99, MANY + 1])
    assert.isFalse(await continueReview(ctx, parser), 'the claim lasts')
    await api.db.query(`UPDATE suppression_reviews SET taken_until = now() - interval '1 second'`)
    await finish()
    const done = await read(data?.['id'])
    assert.deepEqual(summaryOf(done), ['done', MANY + 1, MANY])
    assert.strictEqual(new Set(listOf(done['entries']).map((one) => one['email'])).size, MANY)
  })

  it('is in a list with its progress and who requested it, and in the stream of changes of operators', async () => {
    const url = `${api.url}/api/v1/admin/changes?topics=suppression-reviews`
    const stream = await openEventStream(url, { key: OPERATOR_TOKEN })
    try {
      await stream.next(({ type }) => type === 'ready')
      const { data } = await request({ lift: false, wait: false })
      await request({ lift: true, wait: false })
      assert.isTrue(await continueReview(ctx, parser))
      const [second, first] = await listed()
      assert.deepEqual(first as unknown, {
        id: data?.['id'],
        state: 'running',
        lift: false,
        requested_by: 'anna, from 127.0.0.1',
        total: MANY + 1,
        checked: 100,
        count: 99,
        requested_at: data?.['requested_at'],
        ended_at: null,
      })
      assert.deepEqual([second?.['state'], second?.['total'], second?.['lift']] as unknown[], ['waiting', null, true])
      const id = textOf(data?.['id'])
      await until(() =>
        stream.changesOf('suppression-reviews').some((one) => textOf(one['id']) === id && Number(one['seen']) === 100),
      )
      assert.notInclude(stream.text, wrong[0] ?? '')
    } finally {
      stream.close()
    }
  })

  it('counts a slice once, when a process that was believed dead stores it, too', async () => {
    const { data } = await request({ lift: false, wait: false })
    const late = whileParsing(async () => {
      await api.db.query(`UPDATE suppression_reviews SET taken_until = now() - interval '1 second'`)
      await finish()
    })
    await continueReview(ctx, late)
    assert.deepEqual(summaryOf(await read(data?.['id'])), ['done', MANY + 1, MANY])
  })
})
