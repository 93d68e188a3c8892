/** Refusals in the SMTP dialog and the suppression list: the same rules apply as for bounces that arrive later. */
import { assert } from 'chai'
import { createResultWriter, type ResultWriter } from '#mta/delivery/result-writer.ts'
import { withSuppressionCandidate } from '#mta/delivery/hard-bounce.ts'
import { createAcceptor } from '#src/messages/accept.ts'
import { claimRecipients, type ClaimedRecipient } from '#src/messages/claim.ts'
import type { Attempt, Outcome } from '#src/messages/outcome.ts'
import { transitionFor } from '#src/messages/transition-for-outcome.ts'
import { sql } from '#src/stores/sql.ts'
import { resolvePending } from '#src/suppression/pending-suppressions.ts'
import { findSuppressions } from '#src/suppression/list.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { submissionOf } from '#test/support/submission.ts'

const LEASE = 902
const HOUR_MS = 3_600_000

describe('refusals and the suppression list', () => {
  let ctx: TestContext
  let writer: ResultWriter
  let workspaceId: string
  before(async () => {
    ctx = await createContext({ MODE: 'live', MAILSTEAD_HOSTNAME: 'mta.sender.example' })
    writer = createResultWriter(ctx)
    await ctx.db.query(sql`
      INSERT INTO leases (version, id, machine, pid, expires_at) OVERRIDING SYSTEM VALUE
      VALUES ('0.2.0', ${LEASE}, 'here', 1, now() + interval '9 days')
    `)
  })
  beforeEach(async () => {
    workspaceId = await ctx.newWorkspace()
  })
  after(async () => {
    await writer.drain()
    await ctx.close()
  })

  const replyOf = (code: number, enhanced: string, text: string): Extract<Outcome, { kind: 'delivered' }>['reply'] => ({
    code,
    enhanced,
    text,
    lines: [],
  })
  const gone = (change: Partial<Extract<Outcome, { kind: 'bounced' }>> = {}): Outcome => ({
    kind: 'bounced',
    scope: 'recipient',
    reason: 'no-such-user',
    isHard: true,
    detail: '550 5.1.1 no such user',
    reply: replyOf(550, '5.1.1', 'no such user'),
    ...change,
  })
  const TAKEN: Outcome = { kind: 'delivered', reply: replyOf(250, '2.0.0', 'Ok') }

  async function claim(addresses: readonly string[]): Promise<ClaimedRecipient[]> {
    const acceptor = createAcceptor(ctx)
    const submissions = addresses.map((address) =>
      submissionOf(workspaceId, {
        createdAt: new Date(ctx.clock.now()),
        recipients: [{ address, domain: address.slice(address.indexOf('@') + 1), kind: 'to' }],
      }),
    )
    await Promise.all(submissions.map((submission) => acceptor.accept(submission)))
    return claimRecipients(
      ctx.db,
      LEASE,
      submissions.map(({ id }) => ({ messageId: id, n: 0 })),
      new Date(ctx.clock.now() + 1000),
    )
  }

  /** Sends to each, with that outcome. */
  async function send(addresses: readonly string[], outcome: Outcome): Promise<void> {
    await Promise.all(
      (await claim(addresses)).map((claimed) => {
        const attempt: Attempt = {
          outcome,
          host: `mx.${claimed.domain}`,
          address: null,
          source: null,
          tls: null,
          startedAt: ctx.clock.now(),
          durationMs: 1,
          conversation: '',
        }
        const nowMs = ctx.clock.now()
        const moving = {
          transition: transitionFor(claimed, attempt, { scale: 1, lifetimeSeconds: null, nowMs }),
          nowMs,
        }
        return writer.write({ claimed, ...withSuppressionCandidate(ctx.config, claimed, attempt, moving) })
      }),
    )
  }

  const many = (count: number, domain: string): string[] => Array.from({ length: count }, (_, i) => `r${i}@${domain}`)
  const listed = async (addresses: readonly string[]): Promise<number> =>
    (await findSuppressions(ctx.db, workspaceId, addresses)).length
  const pending = async (domain: string): Promise<string[]> => {
    const { rows } = await ctx.db.query<{ hold: string }>(
      'SELECT DISTINCT hold FROM held_suppressions WHERE workspace_id = $1 AND address LIKE $2',
      [workspaceId, `%@${domain}`],
    )
    return rows.map(({ hold }) => hold)
  }

  it('a hard refusal suppresses the address, with its reply, rule and event', async () => {
    await send(['Gone@one.example', 'fine@one.example'], gone())
    const [entry] = await findSuppressions(ctx.db, workspaceId, ['gone@one.example'])
    assert.deepEqual(
      [entry?.kind, entry?.rule, entry?.reply],
      ['hard_bounce', 'no-such-user@1', { code: 550, status: '5.1.1', text: 'no such user' }],
    )
    const {
      rows: [event],
    } = await ctx.db.query('SELECT type, message_id FROM events WHERE id = $1', [entry?.eventId])
    assert.deepEqual(event, { type: 'email.bounced', message_id: entry?.messageId })
  })

  const NEVER: readonly (readonly [what: string, change: Partial<Extract<Outcome, { kind: 'bounced' }>>])[] = [
    ['soft', { isHard: false, reason: 'mailbox-full' }],
    ['about our address', { scope: 'source', reason: 'blocked' }],
    ['about the message', { scope: 'message', reason: 'too-large' }],
    ['a policy, whatever its words', { reply: replyOf(550, '5.7.1', 'no such user for you') }],
    ['of a class without a rule', { reason: 'mailbox-disabled' }],
  ]
  for (const [what, change] of NEVER) {
    it(`a refusal that is ${what} is not`, async () => {
      await send(['a@never.example'], gone(change))
      assert.deepEqual([await listed(['a@never.example']), await pending('never.example')], [0, []])
    })
  }

  it('a domain that does not exist is tried again a day later before addresses are suppressed', async () => {
    const missing = gone({ reason: 'no-such-domain', reply: replyOf(550, '5.1.2', 'x does not exist') })
    const once = ['a@missing.example']
    await send(once, missing)
    await send(once, missing)
    assert.deepEqual([await listed(once), await pending('missing.example')], [0, ['proof']])
    ctx.advance(25 * HOUR_MS)
    await send(once, missing)
    assert.deepEqual([await listed(once), await pending('missing.example')], [1, []])
  })

  it('a delivery in between cancels the pending suppression', async () => {
    await send(['back@returned.example'], gone({ reason: 'no-such-domain', reply: null }))
    ctx.advance(HOUR_MS)
    await send(['back@returned.example'], TAKEN)
    await resolvePending(ctx.db, new Date(ctx.clock.now()))
    assert.deepEqual(await pending('returned.example'), [])
  })

  describe('a receiver that suddenly refuses all addresses', () => {
    let count = 0
    let domain: string
    let broken: string[]
    beforeEach(async () => {
      domain = `broken${++count}.example`
      broken = many(60, domain)
      await send(many(300, domain), TAKEN)
      await writer.drain() // writes the counts of this hour
      ctx.advance(6 * HOUR_MS)
      await send(broken, gone())
    })

    it('suppresses only the first few addresses', async () => {
      assert.ok((await listed(broken)) < 20, `${await listed(broken)} are listed`)
      assert.deepEqual(await pending(domain), ['outage'])
    })
    it('other receivers suppress as before', async () => {
      await send(['gone@healthy.example'], gone())
      assert.strictEqual(await listed(['gone@healthy.example']), 1)
    })
    it('when it accepts mail again, those suppressions are removed', async () => {
      ctx.advance(3 * HOUR_MS)
      await send(broken, TAKEN)
      await resolvePending(ctx.db, new Date(ctx.clock.now()))
      assert.deepEqual(await pending(domain), [])
    })
    it('afterwards a second refusal is needed', async () => {
      ctx.advance(5 * HOUR_MS)
      await resolvePending(ctx.db, new Date(ctx.clock.now()))
      assert.deepEqual(await pending(domain), ['proof'])
      ctx.advance(20 * HOUR_MS)
      await send([`r59@${domain}`], gone())
      assert.strictEqual(await listed([`r59@${domain}`]), 1)
    })
  })

  it('a receiver that always had many unknown addresses suppresses normally', async () => {
    await send(many(100, 'stale.example'), TAKEN)
    await send(
      many(15, 'stale.example').map((address) => `x${address}`),
      gone(),
    )
    await writer.drain()
    ctx.advance(6 * HOUR_MS)
    const [alive, dead] = [many(80, 'stale.example'), many(10, 'stale.example').map((address) => `y${address}`)]
    await send(alive, TAKEN)
    await send(dead, gone())
    assert.strictEqual(await listed(dead), 10)
  })

  it('sandbox addresses that simulate a refusal are never suppressed', async () => {
    const [claimed] = await claim(['bounce@anywhere.example'])
    assert.ok(claimed !== undefined)
    const attempt: Attempt = {
      outcome: gone(),
      host: null,
      address: null,
      source: null,
      tls: null,
      startedAt: 0,
      durationMs: 0,
      conversation: '',
    }
    const nowMs = ctx.clock.now()
    const moving = { transition: transitionFor(claimed, attempt, { scale: 1, lifetimeSeconds: null, nowMs }), nowMs }
    assert.strictEqual(
      withSuppressionCandidate({ isSandbox: true, captureDomain: 'capture.example' }, claimed, attempt, moving)
        .hardBounce,
      null,
    )
    assert.notStrictEqual(
      withSuppressionCandidate({ isSandbox: false, captureDomain: 'capture.example' }, claimed, attempt, moving)
        .hardBounce,
      null,
    )
  })
})
