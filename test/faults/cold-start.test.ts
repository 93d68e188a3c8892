/**
 * All processes are killed with -9 while every kind of work is stored, and started again in two orders, the second
 * time with an empty Redis. Each process starts; held messages are still held with the same explanation, and all other
 * work is done exactly once.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { assert } from 'chai'
import { sharesKey } from '#mta/shaping/quota-share.ts'
import { resumeSource } from '#src/egress/sources.ts'
import { readyKey, suspendedSite } from '#src/queue/keys.ts'
import { sql } from '#src/stores/sql.ts'
import { listOf, textOf } from '#test/support/api.ts'
import { checkConsistency } from '#test/support/consistency-checks.ts'
import { startMailboxServer } from '#test/support/mailbox-server.ts'
import { startTestbed } from '#test/support/testbed.ts'
import type { Receiver } from '#test/support/receiver.ts'
import {
  startWork,
  sendSettledMail,
  queueWork,
  makeWorkDue,
  uuidOf,
  type SettledMail,
} from '#test/support/pending-work.ts'
import {
  ACCOUNT,
  callAsOperator,
  LEARNED_CONNECTIONS,
  PASSWORD,
  SHAPING,
  holdByOperator,
  holdByOtherCauses,
  holdByReplies,
  holdByTls,
  type HeldMessage,
  type ColdStartSetup,
} from '#test/support/stored-messages.ts'
import { printLogsOnFailure, type RoleName } from '#test/support/system.ts'
import { until } from '#test/support/until.ts'
import { respondWith, startWebhookReceiver } from '#test/support/webhook-receiver.ts'

/** One after the other, some together. */
type StartOrder = readonly (readonly RoleName[])[]
const FORWARDS: StartOrder = [['mta'], ['submission', 'inbound', 'api'], ['worker', 'mta2']]
const ORDERS: readonly (readonly [string, StartOrder])[] = [
  ['senders first, the worker last', FORWARDS],
  ['the worker first, senders last, with an empty Redis', FORWARDS.toReversed()],
]

describe('a start on everything that can be stored', function () {
  this.timeout(120_000)
  const dir = mkdtempSync('/tmp/mailstead-cold-')
  const receivers = new Set<Receiver>()
  let setup: ColdStartSetup
  let ended: SettledMail
  let held: HeldMessage[]
  /** Requests that the endpoint of webhooks answered with 503. */
  let deaf = 0
  const undo: (() => unknown)[] = [() => rmSync(dir, { recursive: true })]

  before(async () => {
    const mailbox = await startMailboxServer({ name: 'smtp.provider.example', methods: ['PLAIN'] })
    undo.push(() => mailbox.stop())
    mailbox.passwords.set(ACCOUNT, PASSWORD)
    writeFileSync(join(dir, 'ca.pem'), mailbox.ca)
    writeFileSync(join(dir, 'shaping.yaml'), SHAPING)
    const testbed = await startTestbed({
      RETRY_SCALE: '1',
      LEASE_SECONDS: '60',
      WARM_UP: '3,6',
      TLS_REPORT_FROM: 'tls@sender.example',
      SHAPING_FILE: join(dir, 'shaping.yaml'),
      EXTRA_CA_FILE: join(dir, 'ca.pem'),
    })
    testbed.dns.zone['smtp.provider.example'] = { A: ['127.0.0.1'] }
    const open: typeof testbed.addReceiver = async (...order) => {
      const receiver = await testbed.addReceiver(...order)
      receivers.add(receiver)
      return receiver
    }
    undo.push(() => testbed.stop())
    const endpoint = await startWebhookReceiver()
    undo.push(() => endpoint.close())
    setup = { testbed: { ...testbed, addReceiver: open }, mailbox, endpoint }
    await storeAll()
  })
  after(async () => {
    for (const step of undo.toReversed()) await step()
  })
  printLogsOnFailure(() => setup.testbed.system)

  async function storeAll(): Promise<void> {
    const {
      testbed,
      testbed: {
        system: { roles, db },
      },
    } = setup
    setup.endpoint.setBehaviour(respondWith(503))
    await roles.inbound.start()
    ended = await sendSettledMail(setup)
    held = [...(await holdByOperator(setup)), ...(await holdByReplies(setup)), ...(await holdByOtherCauses(setup))]
    await db.query(
      `INSERT INTO learned_limits (pace, source, connections, changed_at) VALUES ('slow', 'default', $1, now())`,
      [LEARNED_CONNECTIONS],
    )
    await stillHeld()
    await until(async () => (await notices()).length >= 2)
    await roles.mta.kill()
    await roles.mta2.start()
    held.push(await holdByTls(setup))
    const stalled = await setup.testbed.addReceiver('stalled.example', {
      on: { dot: { end: 'silence', accepts: false } },
    })
    await testbed.send({ to: 'a@stalled.example' })
    await until(
      async () =>
        (await db.query(`SELECT FROM recipients WHERE domain = 'stalled.example' AND state = 'sending'`)).rows
          .length === 1,
    )
    roles.mta2.pause()
    stalled.script = {}
    held.push(await startWork(setup))
    for (const role of ['worker', 'inbound'] as const) await roles[role].kill()
    await queueWork(setup, ended)
    await putAside()
  }

  /** What is due waits in Redis where a suspension of all mail put it, which ends when nobody is there to see it. */
  async function putAside(): Promise<void> {
    const {
      system: { roles, redis },
    } = setup.testbed
    const stop = (seconds: number): Promise<unknown> =>
      callAsOperator(setup, 'POST', '/suspensions', {
        domain: '*',
        reason: 'a pause',
        until: new Date(Date.now() + seconds * 1000).toISOString(),
      })
    await stop(600)
    await roles.mta.start()
    await until(
      async () => (await redis.exists(readyKey(suspendedSite('fine.example'), 'bulk'))) === 1,
      () => 'nothing is put aside',
    )
    await stop(1)
  }

  /**
   * A worker that dies between an endpoint's answer and its own commit posts the webhook again, with the same id
   * (worker/webhooks-faults.test.ts). Here each id is expected once, so the worker must not be posting when it dies.
   */
  async function webhooksSettled(): Promise<void> {
    const { db } = setup.testbed.system
    const pending = async () =>
      (await db.query("SELECT FROM webhook_deliveries WHERE state = 'pending' LIMIT 1")).rows.length
    await until(
      async () => (await pending()) === 0,
      () => 'webhooks are still pending',
    )
  }

  async function restart(order: StartOrder, isFlushed: boolean): Promise<void> {
    const {
      testbed,
      testbed: {
        system: { roles, redis },
      },
    } = setup
    for (const role of ['mta', 'mta2'] as const) await roles[role].kill()
    await testbed.send({ to: `waited${isFlushed ? 2 : 1}@fine.example` })
    if (isFlushed) await webhooksSettled()
    await Promise.all(order.flat().map((role) => roles[role].kill()))
    await sleep(1000)
    await makeWorkDue(setup)
    if (isFlushed) await redis.flushall()
    for (const together of order) await Promise.all(together.map((role) => roles[role].start()))
  }

  const { stringify } = JSON
  async function stillHeld(): Promise<void> {
    for (const { cause, id, explanation } of held) {
      let told = ''
      const holds = async (): Promise<boolean> =>
        explanation.test((told = stringify((await callAsOperator(setup, 'GET', `/emails/explain/${id}`)).body)))
      await until(holds, () => `${cause} does not hold: ${told}`)
    }
  }
  const pausedAccount = async () =>
    (await setup.testbed.system.db.query<{ id: string }>(`SELECT id FROM connected_accounts WHERE state = 'paused'`))
      .rows[0]?.id
  const notices = async () =>
    (
      await setup.testbed.system.db.query<{ kind: string; subject: string; count: number }>(
        'SELECT kind, subject, count FROM operator_notices WHERE acknowledged_at IS NULL ORDER BY kind, subject',
      )
    ).rows
  const endStates = async () =>
    (
      await setup.testbed.system.db.query(
        sql`
          SELECT message_id, n, state, sequence
          FROM recipients
          WHERE NOT is_open AND message_id <> ALL ($1)
          ORDER BY 1, 2
        `,
        [[ended.bouncing, ended.opened]],
      )
    ).rows
  const attemptsOf = async () =>
    (
      await setup.testbed.system.db.query(
        'SELECT message_id, count(*)::int AS n FROM attempts WHERE message_id = ANY ($1) GROUP BY 1 ORDER BY 1',
        [held.flatMap(({ id, isRetried: isTried }) => (isTried ? [] : [uuidOf(id)]))],
      )
    ).rows
  /** How often each mail came, by address and subject. */
  function arrived(): Map<string, number> {
    const copies = new Map<string, number>()
    const received = [
      ...[...receivers]
        .flatMap(({ messages }) => messages)
        .map(({ to, bytes }) => ({ to, text: bytes.toString('latin1') })),
      ...setup.mailbox.messages.map(({ to, data }) => ({ to, text: data })),
    ]
    for (const { to, text } of received)
      for (const address of to) {
        const name = `${address} ${/^Subject: (.*?)\r?$/m.exec(text)?.[1]}`
        copies.set(name, (copies.get(name) ?? 0) + 1)
      }
    return copies
  }

  /** What nobody has done yet, of all that is due. */
  async function left(): Promise<string[]> {
    const { rows } = await setup.testbed.system.db.query<{ what: string }>(
      sql`
        SELECT 'mail to ' || address AS what
        FROM recipients r
        WHERE is_open
          AND message_id <> ALL ($1)
          AND NOT EXISTS (SELECT FROM campaigns k WHERE k.id = r.campaign_id AND k.status = 'PAUSED')
        UNION ALL
        SELECT 'campaign ' || subject
        FROM campaigns
        WHERE is_open AND (status = 'SENT' OR status = 'CANCELLED')
        UNION ALL
        SELECT 'webhooks'
        FROM webhook_deliveries
        WHERE state = 'pending'
        UNION ALL
        SELECT 'calls'
        FROM automation_calls
        WHERE state = 'pending'
        UNION ALL
        SELECT 'contacts'
        FROM enrolments e
        JOIN automations a ON a.id = e.automation_id
        WHERE e.state = 'active' AND a.name IN ('mailing', 'calling')
        UNION ALL
        SELECT 'hits'
        FROM tracking_hits
        UNION ALL
        SELECT 'reports'
        FROM inbound_reports
        WHERE due_at IS NOT NULL
        UNION ALL
        SELECT 'actions'
        FROM operator_actions
        WHERE state <> 'done'
        UNION ALL
        SELECT 'dry runs'
        FROM dry_runs
        WHERE report IS NULL
        UNION ALL
        SELECT 'imports'
        FROM imports
        WHERE state <> 'done'
        UNION ALL
        SELECT 'arrivals'
        FROM tls_report_arrivals
        UNION ALL
        SELECT 'TLS reports'
        FROM tls_reports
        WHERE state <> 'sent'
      `,
      [held.map(({ id }) => uuidOf(id))],
    )
    return rows.map(({ what }) => what)
  }

  for (const [i, [cause, order]] of ORDERS.entries()) {
    it(`${cause}: all come up, what was held is held, and all else is done`, async () => {
      const { testbed } = setup
      const before = { notices: await notices(), ends: await endStates(), attempts: await attemptsOf() }
      if (deaf === 0) deaf = setup.endpoint.requests.length
      setup.endpoint.setBehaviour(respondWith(200))
      await restart(order, i > 0)
      for (const to of ['new@fine.example', 'new@slow.example', 'new@brokentls.example'])
        await testbed.settle(await testbed.send({ to, subject: `round ${i}` }))
      let last: string[] = []
      await until(
        async () => (last = await left()).length === 0,
        () => `left: ${last.join()}`,
      )
      await stillHeld()
      assert.deepEqual(await attemptsOf(), before.attempts, 'what is held is not tried')
      assert.deepEqual(await notices(), before.notices)
      const now = new Set((await endStates()).map((row) => stringify(row)))
      assert.deepEqual(
        before.ends.filter((row) => !now.has(stringify(row))),
        [],
        'what has ended stays as it is',
      )
      assert.strictEqual(
        Number(await setup.testbed.system.redis.hget(sharesKey('slow', 'default'), 'learned')),
        LEARNED_CONNECTIONS,
      )
    })
  }
  it('all that went out came once, and was counted once', async () => {
    const { db } = setup.testbed.system
    const copies = arrived()
    const expected = [
      ...['instant', 'high', 'normal', 'bulk', 'waited1', 'waited2', 'opened', 'bouncing'].map(
        (name) => `${name}@fine.example Hello`,
      ),
      ...[1, 2, 3].flatMap((n) => [`member${n}@fine.example COMPLETED`, `member${n}@fine.example SENT`]),
      'member1@fine.example SENDING',
      'member1@fine.example automation',
      'member2@fine.example automation',
      'reports@fine.example Report',
      'first@one.example Hello',
      'a@stalled.example Hello',
      'a@brokentls.example Hello',
      'first@far.example Hello',
      'queued@far.example Hello',
      ...[0, 1].flatMap((i) => ['fine', 'slow', 'brokentls'].map((name) => `new@${name}.example round ${i}`)),
    ]
    assert.deepEqual(Object.fromEntries(copies), Object.fromEntries(expected.map((name) => [name, 1] as const)))
    const { rows: campaigns } = await db.query<{ subject: string; status: string }>(
      'SELECT subject, status FROM campaigns ORDER BY id',
    )
    const statuses = Object.fromEntries(campaigns.map(({ subject, status }) => [subject, status]))
    assert.deepEqual(statuses, {
      COMPLETED: 'COMPLETED',
      DRAFT: 'DRAFT',
      SCHEDULED: 'SCHEDULED',
      FAILED: 'FAILED',
      SENT: 'COMPLETED',
      CANCELLED: 'CANCELLED',
      SENDING: 'SENDING',
      PAUSED: 'PAUSED',
      STOPPED: 'SENDING',
    })
    const { rows: contacts } = await db.query<{ name: string; state: string }>(
      'SELECT a.name, e.state FROM enrolments e JOIN automations a ON a.id = e.automation_id ORDER BY 1, e.id',
    )
    assert.deepEqual(
      contacts.map(({ name, state }) => `${name} ${state}`),
      ['calling completed', 'late active', 'mailing completed', 'mailing completed', 'paused active', 'waiting active'],
    )
    const { rows: told } = await db.query<{ type: string; n: number }>(
      sql`
        SELECT type, count(*)::int AS n
        FROM events
        WHERE message_id = ANY ($1) AND type IN ('email.opened', 'email.bounced')
        GROUP BY 1
        ORDER BY 1
      `,
      [[ended.opened, ended.bouncing]],
    )
    assert.deepEqual(told, [
      { type: 'email.bounced', n: 1 },
      { type: 'email.opened', n: 1 },
    ])
    await checkConsistency(setup.testbed.system)
  })
  it('webhooks and calls were each taken once; an endpoint that is switched off heard nothing', () => {
    const taken = new Map<string, number>()
    for (const { path, headers } of setup.endpoint.requests.slice(deaf)) {
      const name = `${path} ${String(headers['webhook-id'])}`
      taken.set(name, (taken.get(name) ?? 0) + 1)
    }
    const names = [...taken.keys()]
    assert.deepEqual(
      [...taken].filter(([, count]) => count > 1),
      [],
    )
    assert.deepEqual(
      ['/hook', '/call', '/off'].map((path) => names.some((name) => name.startsWith(path))),
      [true, true, false],
    )
  })
  it('what is let go leaves, once', async () => {
    const {
      testbed,
      testbed: { system },
    } = setup
    for (const receiver of receivers) receiver.script = {}
    const { body } = await callAsOperator(setup, 'GET', '/suspensions')
    for (const { kind, subject } of listOf(body['data']?.['suspensions']))
      await callAsOperator(setup, 'DELETE', `/suspensions?${textOf(kind)}=${encodeURIComponent(textOf(subject))}`)
    const { rows: late } = await system.db.query(
      `SELECT address FROM recipients WHERE domain = 'picky.example' AND due_at > now() + interval '11 minutes'`,
    )
    assert.deepEqual(late, [], 'what a receiver has stopped of a workspace is looked at again before the end of that')
    for (const receiver of ['yahoo', 'picky', '*'])
      await callAsOperator(setup, 'DELETE', `/suspensions?receiver=${encodeURIComponent(receiver)}`)
    await resumeSource(system.db, 'out')
    await system.call('PATCH', `/public/accounts/${await pausedAccount()}`, {
      key: system.admin,
      body: { password: PASSWORD },
    })
    await system.db.query(`UPDATE recipients SET due_at = now() WHERE state = 'unknown'`)
    await callAsOperator(setup, 'POST', '/queue/retry', { all: true })
    const goes = held.filter(({ cause }) => !['required TLS', 'a policy of MTA-STS', 'its time'].includes(cause))
    const gone = `SELECT FROM recipients WHERE message_id = $1 AND state IN ('delivered', 'sent')`
    for (const { cause, id } of goes)
      await until(
        async () => (await system.db.query(gone, [uuidOf(id)])).rows.length === 1,
        () => `${cause} does not go`,
      )
    assert.deepEqual(
      [...arrived()].filter(([, count]) => count > 1),
      [],
    )
    await checkConsistency(testbed.system)
  })
})
