/**
 * How often the public forms may be used: by one network, for one address, and how often one address is asked to confirm. Only digests
 * of addresses are counted. A customer's server that posts for its visitors is one network too: the bound of a network is a setting.
 */
import type { Context } from '#src/context.ts'
import type { AttemptLimit, Attempts } from '#src/rate-limits/attempt-limits.ts'
import { networkOf } from '#src/net/address-policy.ts'

export interface Pacing extends Pick<Context, 'config' | 'vault'> {
  readonly attempts: Attempts
}

const TEN_MINUTES_MS = 10 * 60 * 1000
const HOUR_MS = 60 * 60 * 1000
const PER_EMAIL: AttemptLimit = { max: 10, windowMs: HOUR_MS }
const PER_LETTER: AttemptLimit = { max: 1, windowMs: TEN_MINUTES_MS }

/** Seconds to wait; null when it may go on. `address` is an IP address. */
export function paceNetwork(ctx: Pacing, address: string): Promise<number | null> {
  return ctx.attempts.take(nameOf(ctx, `network ${networkOf(address)}`), {
    max: ctx.config.subscribesPerNetwork,
    windowMs: TEN_MINUTES_MS,
  })
}

/** The address for all forms together; `a+anything@b` is `a@b`: it is one inbox that would be flooded. */
export function paceEmail(ctx: Pacing, email: string): Promise<number | null> {
  return ctx.attempts.take(nameOf(ctx, `email ${inboxOf(email)}`), PER_EMAIL)
}

/** True when the address has not been asked to confirm for this audience lately. */
export async function mayAsk(ctx: Pacing, audienceId: string, email: string): Promise<boolean> {
  return (await ctx.attempts.take(nameOf(ctx, `letter ${audienceId} ${inboxOf(email)}`), PER_LETTER)) === null
}

function nameOf(ctx: Pacing, what: string): string {
  return `subscribe:${ctx.vault.mac('subscribe-pace', what).toString('base64url').slice(0, 22)}`
}

function inboxOf(email: string): string {
  return email.toLowerCase().replace(/\+[^@]*(?=@)/, '')
}
