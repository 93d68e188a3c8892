import { setTimeout as sleep } from 'node:timers/promises'
import { assert } from 'chai'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { testRecipients, submissionOf } from '#test/support/submission.ts'
import { createAcceptor } from './accept.ts'
import { claimRecipients, type ClaimedRecipient } from './claim.ts'
import { applyTransitions, type Transition } from './transition.ts'
import type { Attempt, Outcome } from './outcome.ts'
import { readMessage } from './read.ts'
import { transitionFor } from './transition-for-outcome.ts'
import { isWaiting, MOVES, STATES, type MoveName, type State } from './state.ts'

const reply = { code: 250, enhanced: '2.0.0', text: 'queued as 1A', lines: [] }
const GREYLISTED: Outcome = {
  kind: 'deferred',
  scope: 'recipient',
  reason: 'greylisted',
  detail: '451 4.7.1 Greylisted',
  reply: { code: 451, enhanced: '4.7.1', text: 'Greylisted', lines: [] },
  isCounted: true,
}
const POSTPONED: Outcome = { kind: 'postponed', reason: 'tls-policy', detail: 'it is being fetched', untilMs: 0 }
const attemptOf = (outcome: Outcome): Attempt => ({
  outcome,
  host: 'mx.example',
  address: '192.0.2.1',
  source: null,
  tls: 'TLSv1.3',
  startedAt: Date.now(),
  durationMs: 12,
  conversation: 'S: 220 hi\n\\"{},NULL',
})
const moving = (messageId: string, move: MoveName, lease: number | null = null, n = 0): Transition => ({
  messageId,
  n,
  move,
  lease,
  reason: 'because',
  dueAt: null,
  isCounted: false,
  attempt: null,
  eventData: null,
})

describe('transitions', () => {
  let ctx: TestContext
  let workspace: string
  before(async () => {
    ctx = await createContext()
    workspace = await ctx.newWorkspace()
    await ctx.db.query(sql`
      INSERT INTO leases (version, machine, pid, expires_at)
      SELECT '0.2.0', 'here', 1, now() + interval '1 hour'
      FROM generate_series(1, 9)
    `)
  })
  after(() => ctx.close())

  async function accepted(recipients = 1): Promise<string> {
    const submission = submissionOf(workspace, { recipients: testRecipients(recipients) })
    await createAcceptor(ctx).accept(submission)
    return submission.id
  }
  const stateOf = async (id: string, n = 0): Promise<string | undefined> =>
    (await readMessage(ctx.db, workspace, id))?.recipients[n]?.state
  const now = (): Date => new Date(ctx.clock.now())

  it('a recipient is claimed once, with its message', async () => {
    const id = await accepted()
    const both = await Promise.all([
      claimRecipients(ctx.db, 1, [{ messageId: id, n: 0 }], now()),
      claimRecipients(ctx.db, 2, [{ messageId: id, n: 0 }], now()),
    ])
    assert.deepEqual(
      both.map((claims) => claims.length).toSorted((a, b) => a - b),
      [0, 1],
    )
    assert.strictEqual(both.flat()[0]?.content.text, 'Hello Ada')
    assert.strictEqual(both.flat()[0]?.attempt, 1)
  })

  it('a recipient is not claimed before it is due', async () => {
    const submission = submissionOf(workspace, { scheduledAt: new Date(Date.now() + 60_000) })
    await createAcceptor(ctx).accept(submission)
    assert.deepEqual(await claimRecipients(ctx.db, 1, [{ messageId: submission.id, n: 0 }], now()), [])
    assert.strictEqual(await stateOf(submission.id), 'scheduled')
  })

  it('a delivery writes state, attempt and events together, once', async () => {
    const id = await accepted()
    const [claimed] = await claimRecipients(ctx.db, 7, [{ messageId: id, n: 0 }], now())
    assert.ok(claimed)
    const move = transitionFor(claimed, attemptOf({ kind: 'delivered', reply }), {
      scale: 1,
      lifetimeSeconds: null,
      nowMs: ctx.clock.now(),
    })
    assert.deepEqual([...(await applyTransitions(ctx.db, [move], now())).done], [0])
    assert.deepEqual([...(await applyTransitions(ctx.db, [move], now())).done], [], 'a repeated batch changes nothing')
    const message = await readMessage(ctx.db, workspace, id)
    assert.strictEqual(message?.status, 'delivered')
    assert.deepEqual(
      message?.events.map(({ type, sequence }) => `${sequence} ${type}`),
      ['1 email.queued', '2 email.sent', '3 email.delivered'],
    )
    assert.strictEqual(message?.recipients[0]?.attempts.length, 1)
    assert.strictEqual(message?.recipients[0]?.attempts[0]?.conversation, 'S: 220 hi\n\\"{},NULL')
    assert.strictEqual(message?.recipients[0]?.tries, 1)
  })

  it('a worker that lost its lease changes nothing', async () => {
    const id = await accepted()
    await claimRecipients(ctx.db, 1, [{ messageId: id, n: 0 }], now())
    await applyTransitions(ctx.db, [moving(id, 'release', 1)], now())
    await claimRecipients(ctx.db, 2, [{ messageId: id, n: 0 }], now())
    assert.deepEqual([...(await applyTransitions(ctx.db, [moving(id, 'deliver', 1)], now())).done], [])
    assert.strictEqual(await stateOf(id), 'sending')
    assert.deepEqual([...(await applyTransitions(ctx.db, [moving(id, 'deliver', 2)], now())).done], [0])
  })

  it('a repeated result does not end the next claim of the recipient under the same lease', async () => {
    for (const outcome of [GREYLISTED, POSTPONED]) {
      const id = await accepted()
      const claim = async (): Promise<ClaimedRecipient> => {
        const [claimed] = await claimRecipients(ctx.db, 1, [{ messageId: id, n: 0 }], now())
        assert.ok(claimed, 'it is due')
        return claimed
      }
      const rules = { scale: 0, lifetimeSeconds: null, nowMs: ctx.clock.now() }
      const first = transitionFor(await claim(), attemptOf(outcome), rules)
      assert.deepEqual([...(await applyTransitions(ctx.db, [first], now())).done], [0])
      // the reply to that statement was lost, and the recipient is due again before it is repeated
      await sleep(2)
      const second = transitionFor(await claim(), attemptOf({ kind: 'delivered', reply }), rules)
      assert.deepEqual([...(await applyTransitions(ctx.db, [first], now())).done], [])
      assert.strictEqual(await stateOf(id), 'sending')
      assert.deepEqual([...(await applyTransitions(ctx.db, [second], now())).done], [0])
    }
  })

  it('a release is not counted as an attempt', async () => {
    const id = await accepted()
    for (const lease of [1, 2]) {
      const [claimed] = await claimRecipients(ctx.db, lease, [{ messageId: id, n: 0 }], now())
      assert.strictEqual(claimed?.attempt, 1)
      await applyTransitions(ctx.db, [moving(id, 'release', lease)], now())
    }
  })

  it('numbers the events of several recipients without gaps or duplicates, also concurrently', async () => {
    const ids = await Promise.all(Array.from({ length: 6 }, () => accepted(5)))
    await claimRecipients(
      ctx.db,
      1,
      ids.flatMap((messageId) => [0, 1, 2, 3, 4].map((n) => ({ messageId, n }))),
      now(),
    )
    const batches = [0, 1, 2, 3, 4].map((n) => ids.map((id) => moving(id, n % 2 === 0 ? 'deliver' : 'bounce', 1, n)))
    await Promise.all(batches.map((batch) => repeat(() => applyTransitions(ctx.db, batch, now()))))
    for (const id of ids) {
      const sequences = (await readMessage(ctx.db, workspace, id))?.events.map(({ sequence }) => sequence)
      assert.deepEqual(
        sequences,
        Array.from({ length: 5 + 3 * 2 + 2 }, (_, i) => i + 1),
      )
    }
  })

  it('the guard holds for every state and transition', async () => {
    for (const state of Object.keys(STATES) as State[]) {
      for (const name of Object.keys(MOVES) as MoveName[]) {
        if (name === 'claim') continue
        const id = await accepted()
        await ctx.db.query('UPDATE recipients SET state = $2 WHERE message_id = $1', [id, state])
        const { done } = await applyTransitions(ctx.db, [moving(id, name)], now())
        const may = MOVES[name].from.some((from) => from === state)
        assert.strictEqual(done.size, may ? 1 : 0, `${name} from ${state}`)
        assert.strictEqual(await stateOf(id), may ? MOVES[name].to : state)
      }
    }
  })

  it('only waiting recipients can be claimed', async () => {
    for (const state of Object.keys(STATES) as State[]) {
      const id = await accepted()
      await ctx.db.query('UPDATE recipients SET state = $2 WHERE message_id = $1', [id, state])
      assert.strictEqual(
        (await claimRecipients(ctx.db, 1, [{ messageId: id, n: 0 }], now())).length,
        isWaiting(state) ? 1 : 0,
        state,
      )
    }
  })

  it('webhook deliveries are stored with the events their endpoint subscribes to', async () => {
    const mine = await ctx.newWorkspace()
    for (const types of [['*'], ['email.delivered'], ['email.bounced']])
      await ctx.db.query(
        sql`
          INSERT INTO webhook_endpoints (id, workspace_id, url, event_types, secret)
          VALUES ($1, $2, 'http://x', $3, 'x')
        `,
        [newId(), mine, types],
      )
    const submission = submissionOf(mine)
    await createAcceptor(ctx).accept(submission)
    await claimRecipients(ctx.db, 1, [{ messageId: submission.id, n: 0 }], now())
    assert.strictEqual(
      (await applyTransitions(ctx.db, [moving(submission.id, 'deliver', 1)], now())).hasDeliveries,
      true,
    )
    const { rows } = await ctx.db.query<{ type: string }>(
      `SELECT e.type FROM webhook_deliveries d JOIN events e ON e.id = d.event_id WHERE d.workspace_id = $1 ORDER BY 1`,
      [mine],
    )
    assert.deepEqual(
      rows.map(({ type }) => type),
      ['email.delivered', 'email.delivered', 'email.queued', 'email.sent'],
    )
  })
})

/** A deadlock is undone by PostgreSQL and done again, as the settler does. */
async function repeat<T>(work: () => Promise<T>): Promise<T> {
  for (let i = 0; ; i++) {
    try {
      return await work()
    } catch (error) {
      if (i > 20 || !(error instanceof Error && 'code' in error && error.code === '40P01')) throw error
    }
  }
}
