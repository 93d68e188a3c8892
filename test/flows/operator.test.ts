/**
 * What the operator of a running system sees and does: metrics of all processes, mail suspended by site, workspace and
 * campaign, and bulk operations on the queue.
 */
import { isDeepStrictEqual } from 'node:util'
import { assert } from 'chai'
import { METRIC_NAMES, rowOf, type MetricName } from '#src/metrics/catalogue.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { listOf, OPERATOR_TOKEN, textOf, type Json, type TestResponse } from '#test/support/api.ts'
import { checkExposition, type MetricSample } from '#test/support/exposition.ts'
import { startTestbed, type Testbed } from '#test/support/testbed.ts'
import { printLogsOnFailure } from '#test/support/system.ts'
import { until } from '#test/support/until.ts'

/** Its labels name what happened, so there is no series before. */
const HAPPENS = new Set<string>([
  'mailstead_bounces_total',
  'mailstead_deferrals_total',
  'mailstead_webhook_attempts_total',
  'mailstead_webhook_attempt_duration_seconds',
  'mailstead_webhook_lag_seconds',
  'mailstead_source_attempts_total',
  'mailstead_source_sessions',
  'mailstead_source_waiting',
] satisfies MetricName[])

describe('the operator', () => {
  let testbed: Testbed
  before(async () => {
    testbed = await startTestbed({ RETRY_SCALE: '1' })
  })
  after(() => testbed.stop())
  printLogsOnFailure(() => testbed.system)

  const admin = (method: string, path: string, body?: object): Promise<TestResponse> =>
    testbed.system.call(method, `/admin${path}`, { key: OPERATOR_TOKEN, ...(body === undefined ? {} : { body }) })
  async function figures(): Promise<Map<string, MetricSample[]>> {
    return checkExposition(await (await fetch(`${testbed.system.url}/metrics`)).text())
  }

  it('reads the metrics of all running processes at one api', async () => {
    await testbed.addReceiver('counted.example')
    await testbed.system.roles.mta2.start()
    for (const tier of ['instant', 'bulk'] as const)
      await testbed.settle(await testbed.send({ to: 'a@counted.example', tier }))
    let all = new Map<string, MetricSample[]>()
    const processes = (): Record<string, number> =>
      Object.fromEntries((all.get('mailstead_processes') ?? []).map(({ labels, value }) => [labels['role'], value]))
    const delivered = (tier: string): number =>
      (all.get('mailstead_attempts_total') ?? [])
        .filter(({ labels }) => labels['tier'] === tier && labels['outcome'] === 'delivered')
        .reduce((sum, { value }) => sum + value, 0)
    await until(
      async () => {
        all = await figures()
        return (
          isDeepStrictEqual(processes(), { api: 1, outbound: 2, worker: 1 }) &&
          delivered('instant') === 1 &&
          delivered('bulk') === 1 &&
          all.has('mailstead_queue_oldest_seconds')
        )
      },
      () => JSON.stringify([processes(), delivered('instant'), delivered('bulk')]),
    )
    const expected = METRIC_NAMES.filter((name) =>
      ['all', 'api', 'outbound', 'worker', 'queue'].includes(rowOf(name).by),
    )
    assert.deepEqual(
      expected.filter((name) => !all.has(name) && rowOf(name).isOptional !== true && !HAPPENS.has(name)),
      [],
    )
    assert.strictEqual(await testbed.system.roles.mta2.terminate(), 0)
    await until(async () => {
      all = await figures()
      return processes()['outbound'] === 1 && delivered('instant') === 1 && delivered('bulk') === 1
    })
  })

  it('gets one notice for repeated problems, with the count', async () => {
    await testbed.addReceiver('picky.example', { on: { rcpt: '550 5.7.1 Your address is on a blocklist \u001b[31m' } })
    for (let mails = 0; mails < 5; mails++) await testbed.settle(await testbed.send({ to: `a${mails}@picky.example` }))
    let last: unknown
    const readNotices = async (): Promise<Json[]> => {
      last = (await admin('GET', '/notices')).body
      return listOf((last as Json)['data']?.['notices'])
    }
    await until(
      async () =>
        (await readNotices()).some(({ kind, count }) => (kind as unknown) === 'reply' && (count as unknown) === 5),
      () => JSON.stringify(last),
    )
    const notices = (await readNotices()).filter(({ kind }) => (kind as unknown) === 'reply')
    assert.strictEqual(notices.length, 1)
    assert.match(textOf(notices[0]?.['text']), /^550 5\.7\.1 Your address/)
    await until(
      async () =>
        (await figures())
          .get('mailstead_notices')
          ?.some(({ labels, value }) => labels['kind'] === 'reply' && value === 1) ?? false,
    )
    assert.strictEqual((await admin('POST', '/notices/acknowledge', { all: true })).status, 200)
    assert.deepEqual(await readNotices(), [])
  })

  it('suspends a site: its domains wait, others do not; after resume all mail is sent', async () => {
    const shared = await testbed.addReceiver(['one.example', 'two.example'])
    await testbed.addReceiver('apart.example')
    await testbed.settle(await testbed.send({ to: 'first@one.example' }))
    let site = ''
    await until(async () => {
      const { rows } = await testbed.system.db.query<{ site: string }>(
        `SELECT site FROM domain_sites WHERE domain = 'one.example'`,
      )
      site = rows[0]?.site ?? ''
      return site !== ''
    })
    assert.strictEqual((await admin('POST', '/suspensions', { site, reason: 'their postmaster asked' })).status, 200)
    const waiting = [await testbed.send({ to: 'a@one.example' }), await testbed.send({ to: 'b@two.example' })]
    await testbed.settle(await testbed.send({ to: 'c@apart.example', tier: 'bulk' }))
    assert.strictEqual(shared.messages.length, 1)
    const explained = await admin('GET', `/emails/explain/${waiting[0]}`)
    assert.deepEqual(
      [explained.body['data']?.['held_by'], /its site .* is suspended/.test(JSON.stringify(explained.body))],
      ['suspension', true],
    )
    assert.strictEqual((await admin('DELETE', `/suspensions?site=${encodeURIComponent(site)}`)).status, 200)
    for (const id of waiting) assert.strictEqual((await testbed.settle(id)).status, 'delivered')
  })

  it('suspends a workspace and a campaign for a time: their mail waits without an attempt', async () => {
    const mx = await testbed.addReceiver('held.example')
    const { db, workspaceId, roles } = testbed.system
    for (const [kind, subject] of [
      ['workspace', workspaceId],
      ['campaign', newId()],
    ] as const) {
      const before = mx.messages.length
      if (kind === 'campaign')
        await db.query(
          sql`
            INSERT INTO campaigns (id, workspace_id, name, subject, body, from_email)
            VALUES ($1, $2, 'C', 's', 'b', 'a@b.example')
          `,
          [subject, workspaceId],
        )
      const stop = (end: string | null): Promise<TestResponse> =>
        admin('POST', '/suspensions', { [kind]: subject, scope: 'mail', reason: 'bad rates', until: end })
      if (kind === 'workspace') await stop(null)
      // a campaign's mail says so before anybody can claim it
      else roles.mta.pause()
      const id = await testbed.send({ to: `a@held.example`, tier: 'high' })
      if (kind === 'campaign') {
        await db.query('UPDATE recipients SET campaign_id = $1 WHERE is_open', [subject])
        await stop(null)
        roles.mta.resume()
        await testbed.settle(await testbed.send({ to: 'other@held.example', tier: 'bulk' }))
      }
      await until(
        async () =>
          ((await admin('GET', `/emails/explain/${id}`)).body['data']?.['held_by'] as unknown) === 'suspension',
      )
      const details = await testbed.getMessage(id)
      assert.deepEqual(
        [details.status, details.recipients[0]?.tries, details.recipients[0]?.attempts.length],
        ['queued', 0, 0],
      )
      assert.strictEqual(mx.messages.length - before, kind === 'campaign' ? 1 : 0)
      await stop(new Date(Date.now() + 700).toISOString())
      assert.strictEqual((await testbed.settle(id)).status, 'delivered', 'it runs out by itself')
    }
    assert.deepEqual((await admin('GET', '/suspensions')).body['data']?.['suspensions'], [])
  })

  it('changes many messages: the worker continues what the api has no time for', async () => {
    await admin('POST', '/suspensions', { domain: 'many.example' })
    const { db, workspaceId } = testbed.system
    const id = await testbed.send({ to: 'first@many.example', tier: 'bulk' })
    // as many as a campaign: one message, copied
    await db.query(
      sql`
        WITH ids AS (
          SELECT overlay(m.id::text PLACING lpad(to_hex(i), 12, '0') FROM 25)::uuid AS id, i
          FROM messages m, generate_series(1, 20000) i
          WHERE replace(m.id::text, '-', '') = $1
        ),
        copied AS (
          INSERT INTO messages (
            id, workspace_id, tier, from_email, to_list, subject, content_size, recipient_count, created_at
          )
          SELECT id, $2, 'bulk', 'shop@sender.example', '[]', 's', 1, 1, now()
          FROM ids
          RETURNING id
        )
        INSERT INTO recipients (
          message_id, n, workspace_id, tier, kind, address, domain, state, is_open, due_at, is_only, updated_at
        )
        SELECT id, 0, $2, 'bulk', 'to', 'x@many.example', 'many.example', 'queued', true, now() + interval '1 hour',
          true, now() - interval '1 second'
        FROM ids
      `,
      [id.slice(3), workspaceId],
    )
    const begun = await admin('POST', '/queue/drop', { domain: 'many.example', reason: 'by mistake' })
    const action = begun.body['data']?.['id'] as unknown as string
    await until(
      async () => ((await admin('GET', `/actions/${action}`)).body['data']?.['state'] as unknown) === 'done',
      undefined,
      60_000,
    )
    const done = (await admin('GET', `/actions/${action}`)).body['data']
    assert.deepEqual([done?.['moved'], done?.['reason']], [20_001, 'by mistake'])
    const { rows } = await db.query(
      `SELECT state, count(*) AS count FROM recipients WHERE domain = 'many.example' GROUP BY 1`,
    )
    assert.deepEqual(rows, [{ state: 'cancelled', count: 20_001 }])
    await admin('DELETE', '/suspensions?domain=many.example')
  })
})
