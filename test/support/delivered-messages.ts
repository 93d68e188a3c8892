/**
 * Creates delivered messages for tests of bounces, complaints and unsubscribes. The messages are accepted, claimed and
 * marked as delivered with the functions of the outbound role, without an SMTP server.
 */
import type { Context } from '#src/context.ts'
import { returnPathOf } from '#src/mail/verp.ts'
import { createAcceptor } from '#src/messages/accept.ts'
import { claimRecipients } from '#src/messages/claim.ts'
import { applyTransitions } from '#src/messages/transition.ts'
import type { Outcome } from '#src/messages/outcome.ts'
import { transitionFor } from '#src/messages/transition-for-outcome.ts'
import { sql } from '#src/stores/sql.ts'
import { type testRecipients, submissionOf } from './submission.ts'

export interface DeliveredMessage {
  readonly messageId: string
  readonly n: number
  readonly address: string
  /** Where its bounces go. */
  readonly returnPath: string
}

const LEASE = 901
const REPLY = { code: 250, enhanced: '2.0.0', text: 'Ok', lines: [] }
const DELIVERED: Outcome = { kind: 'delivered', reply: REPLY }

/** Creates one message for each address. With `outcome` null the recipients stay in `sending`. */
export async function deliverMessages(
  ctx: Context,
  workspaceId: string,
  to: readonly string[],
  outcome: Outcome | null = DELIVERED,
): Promise<DeliveredMessage[]> {
  await ctx.db.query(sql`
    INSERT INTO leases (version, id, machine, pid, expires_at) OVERRIDING SYSTEM VALUE
    VALUES ('0.2.0', ${LEASE}, 'here', 1, now() + interval '1 day')
    ON CONFLICT DO NOTHING
  `)
  const acceptor = createAcceptor(ctx)
  const submissions = to.map((address) => submissionOf(workspaceId, { recipients: recipientsOf(address) }))
  await Promise.all(submissions.map((submission) => acceptor.accept(submission)))
  const keys = submissions.map(({ id }) => ({ messageId: id, n: 0 }))
  const now = new Date(ctx.clock.now())
  const claimed = await claimRecipients(ctx.db, LEASE, keys, now)
  if (outcome !== null) {
    const nowMs = now.getTime()
    const attempt = {
      outcome,
      address: null,
      source: null,
      tls: null,
      startedAt: nowMs,
      durationMs: 1,
      conversation: '',
    }
    const rules = { scale: 1, lifetimeSeconds: null, nowMs }
    await applyTransitions(
      ctx.db,
      claimed.map((one) => transitionFor(one, { ...attempt, host: `mx.${one.domain}` }, rules)),
      now,
    )
  }
  return submissions.map(({ id }, i) => ({
    messageId: id,
    n: 0,
    address: to[i] ?? '',
    returnPath: returnPathOf(
      { messageId: id, n: 0 },
      (data) => ctx.encryption.mac('return-path', data),
      ctx.config.bounceDomain,
    ),
  }))
}

function recipientsOf(address: string): ReturnType<typeof testRecipients> {
  return [{ address, domain: address.slice(address.lastIndexOf('@') + 1), kind: 'to' as const }]
}
