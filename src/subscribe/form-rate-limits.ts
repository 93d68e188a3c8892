/**
 * Rate limits of the public forms: by network, by email address, and how often one address is asked to confirm. Only
 * digests of addresses are counted. A customer's server that submits for its visitors is one network too, so the limit
 * of a network is a setting.
 */
import type { Context } from '#src/context.ts'
import type { AttemptLimit, AttemptLimiter } from '#src/rate-limits/attempt-limits.ts'
import { networkOf } from '#src/net/address-policy.ts'

export interface FormLimitContext extends Pick<Context, 'config' | 'encryption'> {
  readonly attempts: AttemptLimiter
}

const TEN_MINUTES_MS = 10 * 60 * 1000
const HOUR_MS = 60 * 60 * 1000
const PER_EMAIL: AttemptLimit = { max: 10, windowMs: HOUR_MS }
const PER_CONFIRMATION: AttemptLimit = { max: 1, windowMs: TEN_MINUTES_MS }

/** Seconds to wait; null if the request is allowed. `address` is an IP address. */
export function limitNetwork(ctx: FormLimitContext, address: string): Promise<number | null> {
  return ctx.attempts.consume(limitKey(ctx, `network ${networkOf(address)}`), {
    max: ctx.config.subscribesPerNetwork,
    windowMs: TEN_MINUTES_MS,
  })
}

/**
 * Limits an email address over all forms. `a+anything@b` counts as `a@b`: it is the same mailbox that would be flooded.
 */
export function limitEmail(ctx: FormLimitContext, email: string): Promise<number | null> {
  return ctx.attempts.consume(limitKey(ctx, `email ${mailboxOf(email)}`), PER_EMAIL)
}

/** True if the address was not asked to confirm this audience recently. */
export async function maySendConfirmation(ctx: FormLimitContext, audienceId: string, email: string): Promise<boolean> {
  return (
    (await ctx.attempts.consume(limitKey(ctx, `letter ${audienceId} ${mailboxOf(email)}`), PER_CONFIRMATION)) === null
  )
}

function limitKey(ctx: FormLimitContext, what: string): string {
  return `subscribe:${ctx.encryption.mac('subscribe-pace', what).toString('base64url').slice(0, 22)}`
}

function mailboxOf(email: string): string {
  return email.toLowerCase().replace(/\+[^@]*(?=@)/, '')
}
