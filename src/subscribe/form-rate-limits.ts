/**
 * Rate limits of the public forms: by network, by mailbox, and how often one mailbox is asked to confirm. All spellings
 * of a mailbox count together (src/mail/canonical-mailbox.ts). Only digests of addresses are counted. A customer's
 * server that submits for its visitors is one network too, so the limit of a network is a setting.
 */
import type { Context } from '#src/context.ts'
import type { AttemptLimit, AttemptLimiter } from '#src/rate-limits/attempt-limits.ts'
import { canonicalMailbox } from '#src/mail/canonical-mailbox.ts'
import { networkOf } from '#src/net/address-policy.ts'

export interface FormLimitContext extends Pick<Context, 'config' | 'encryption'> {
  readonly attempts: AttemptLimiter
}

const TEN_MINUTES_MS = 10 * 60 * 1000
const HOUR_MS = 60 * 60 * 1000
const PER_EMAIL: AttemptLimit = { max: 10, windowMs: HOUR_MS }
const PER_CONFIRMATION: AttemptLimit = { max: 1, windowMs: TEN_MINUTES_MS }
/** Over all forms of all workspaces. */
const CONFIRMATIONS_PER_MAILBOX: AttemptLimit = { max: 5, windowMs: 24 * HOUR_MS }

/** Seconds to wait; null if the request is allowed. `address` is an IP address. */
export function limitNetwork(ctx: FormLimitContext, address: string): Promise<number | null> {
  return ctx.attempts.consume(limitKey(ctx, `network ${networkOf(address)}`), {
    max: ctx.config.subscribesPerNetwork,
    windowMs: TEN_MINUTES_MS,
  })
}

/** Limits a mailbox over all forms. */
export function limitEmail(ctx: FormLimitContext, email: string): Promise<number | null> {
  return ctx.attempts.consume(limitKey(ctx, `email ${canonicalMailbox(email)}`), PER_EMAIL)
}

/** True if the mailbox was not asked to confirm this audience recently, nor by other forms too often today. */
export async function maySendConfirmation(ctx: FormLimitContext, audienceId: string, email: string): Promise<boolean> {
  const mailbox = canonicalMailbox(email)
  const { attempts } = ctx
  if ((await attempts.consume(limitKey(ctx, `letter ${audienceId} ${mailbox}`), PER_CONFIRMATION)) !== null)
    return false
  return (await attempts.consume(limitKey(ctx, `letters ${mailbox}`), CONFIRMATIONS_PER_MAILBOX)) === null
}

function limitKey(ctx: FormLimitContext, what: string): string {
  return `subscribe:${ctx.encryption.mac('subscribe-pace', what).toString('base64url').slice(0, 22)}`
}
