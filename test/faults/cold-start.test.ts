/**
 * All processes are killed with -9 while every kind of work is stored, and started again in two orders, the second
 * time with an empty Redis. Each process starts; held messages are still held with the same explanation, and all other
 * work is done exactly once.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { assert } from 'chai'
import { sharesKey } from '#mta/shaping/quota-share.ts'
import { resumeSource } from '#src/egress/sources.ts'
import { readyKey, suspendedSite } from '#src/queue/keys.ts'
import { listOf, textOf } from '#test/support/api.ts'
import {
  countAttempts,
  countCopies,
  countLateEvents,
  findPausedAccount,
  listUnfinished,
  readCampaignStatuses,
  readEndStates,
  readEnrolmentStates,
  readOpenNotices,
  startColdStart,
  waitForWebhooks,
} from '#test/support/cold-start.ts'
import { checkConsistency } from '#test/support/consistency-checks.ts'
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
  callAsOperator,
  LEARNED_CONNECTIONS,
  PASSWORD,
  holdByOperator,
  holdByOtherCauses,
  holdByReplies,
  holdByTls,
  type HeldMessage,
  type ColdStartSetup,
} from '#test/support/stored-messages.ts'
import { printLogsOnFailure, type RoleName } from '#test/support/system.ts'
import { until } from '#test/support/until.ts'
import { respondWith } from '#test/support/webhook-receiver.ts'

/** One after the other, some together. */
type StartOrder = readonly (readonly RoleName[])[]
const FORWARDS: StartOrder = [['mta'], ['submission', 'inbound', 'api'], ['worker', 'mta2']]
const ORDERS: readonly (readonly [string, StartOrder])[] = [
  ['senders first, the worker last', FORWARDS],
  ['the worker first, senders last, with an empty Redis', FORWARDS.toReversed()],
]

describe('a start on everything that can be stored', () => {
  const receivers = new Set<Receiver>()
  let setup: ColdStartSetup
  let ended: SettledMail
  let held: HeldMessage[]
  /** Requests that the endpoint of webhooks answered with 503. */
  let refused = 0
  const undo: (() => unknown)[] = []

  before(async () => {
    setup = await startColdStart(undo, receivers)
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
    let notices: unknown[] = []
    // of the three receivers that are suspended by a reply, and of the rule that only reports
    await until(
      async () => (notices = await readOpenNotices(db)).length >= 4,
      () => `only ${JSON.stringify(notices)}`,
    )
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

  async function restart(order: StartOrder, isFlushed: boolean): Promise<void> {
    const {
      testbed,
      testbed: {
        system: { roles, redis, db },
      },
    } = setup
    for (const role of ['mta', 'mta2'] as const) await roles[role].kill()
    await testbed.send({ to: `waited${isFlushed ? 2 : 1}@fine.example` })
    if (isFlushed) await waitForWebhooks(db)
    await Promise.all(order.flat().map((role) => roles[role].kill()))
    await sleep(1000)
    await makeWorkDue(setup)
    if (isFlushed) await redis.flushall()
    for (const together of order) await Promise.all(together.map((role) => roles[role].start()))
  }

  async function stillHeld(): Promise<void> {
    for (const { cause, id, explanation } of held) {
      let explained = ''
      const holds = async (): Promise<boolean> =>
        explanation.test(
          (explained = JSON.stringify((await callAsOperator(setup, 'GET', `/emails/explain/${id}`)).body)),
        )
      await until(holds, () => `${cause} does not hold: ${explained}`)
    }
  }

  for (const [i, [cause, order]] of ORDERS.entries()) {
    it(`${cause}: all come up, what was held is held, and all else is done`, async () => {
      const { testbed } = setup
      const { db, redis } = testbed.system
      const before = {
        notices: await readOpenNotices(db),
        ends: await readEndStates(db, ended),
        attempts: await countAttempts(db, held),
      }
      if (refused === 0) refused = setup.endpoint.requests.length
      setup.endpoint.setBehaviour(respondWith(200))
      await restart(order, i > 0)
      for (const to of ['new@fine.example', 'new@slow.example', 'new@brokentls.example'])
        await testbed.settle(await testbed.send({ to, subject: `round ${i}` }))
      let last: string[] = []
      await until(
        async () => (last = await listUnfinished(db, held)).length === 0,
        () => `left: ${last.join()}`,
      )
      await stillHeld()
      assert.deepEqual(await countAttempts(db, held), before.attempts, 'what is held is not tried')
      assert.deepEqual(await readOpenNotices(db), before.notices)
      const now = new Set(await readEndStates(db, ended))
      assert.deepEqual(
        before.ends.filter((row) => !now.has(row)),
        [],
        'what has ended stays as it is',
      )
      // a minute after the last refusal each delivery raises it by a fiftieth; if it were lost, it would be 8
      const learned = Number(await redis.hget(sharesKey('slow', 'default'), 'learned'))
      assert.isAtLeast(learned, LEARNED_CONNECTIONS)
      assert.isBelow(learned, LEARNED_CONNECTIONS + 1)
    })
  }
  it('all that went out came once, and was counted once', async () => {
    const { db } = setup.testbed.system
    const copies = countCopies(receivers, setup.mailbox)
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
    assert.deepEqual(await readCampaignStatuses(db), {
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
    assert.deepEqual(await readEnrolmentStates(db), [
      'calling completed',
      'late active',
      'mailing completed',
      'mailing completed',
      'paused active',
      'waiting active',
    ])
    assert.deepEqual(await countLateEvents(db, ended), [
      { type: 'email.bounced', n: 1 },
      { type: 'email.opened', n: 1 },
    ])
    await checkConsistency(setup.testbed.system)
  })
  it('webhooks and calls were each accepted once; an endpoint that is switched off heard nothing', () => {
    const counts = new Map<string, number>()
    for (const { path, headers } of setup.endpoint.requests.slice(refused)) {
      const name = `${path} ${String(headers['webhook-id'])}`
      counts.set(name, (counts.get(name) ?? 0) + 1)
    }
    const names = [...counts.keys()]
    assert.deepEqual(
      [...counts].filter(([, count]) => count > 1),
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
    assert.deepEqual(late, [], 'what a receiver has stopped of a workspace is checked again before the end of that')
    for (const receiver of ['yahoo', 'picky', '*'])
      await callAsOperator(setup, 'DELETE', `/suspensions?receiver=${encodeURIComponent(receiver)}`)
    await resumeSource(system.db, 'out')
    await system.call('PATCH', `/public/accounts/${await findPausedAccount(system.db)}`, {
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
      [...countCopies(receivers, setup.mailbox)].filter(([, count]) => count > 1),
      [],
    )
    await checkConsistency(testbed.system)
  })
})
