/**
 * Authentication: the password is an API key; the user name is ignored. The key is checked at once, so that the client
 * shows an error at login. Failures are counted by connection, and by network in Redis; after too many, a network's
 * logins are refused without a check for some minutes. A valid key of the wrong kind (an Admin key), or from outside
 * its networks, counts as a failure. A valid key of a suspended workspace is refused, and counts as none.
 */
import { isAllowedFrom } from '#src/auth/key-networks.ts'
import type { KeyCaller } from '#src/auth/keys.ts'
import { isDatabaseAway } from '#src/stores/db.ts'
import type { AttemptLimit } from '#src/rate-limits/attempt-limits.ts'
import { networkOf } from '#src/net/address-policy.ts'
import { retryLaterError, ReplyError } from '#mta/smtp-server/reply.ts'
import type { SubmissionContext } from './context.ts'

/** Failed logins in one connection. */
export const MAX_FAILURES = 3
const FAILURES: AttemptLimit = { max: 30, windowMs: 10 * 60_000 }

const WRONG = new ReplyError(535, '5.7.8 The password must be a Regular API key')
const IS_ADMIN = new ReplyError(535, '5.7.8 This is an Admin key: sending requires a Regular key')
export const OTHER_NETWORK = new ReplyError(535, '5.7.8 This API key may not be used from your network')
export const SUSPENDED = new ReplyError(525, '5.7.13 This workspace is suspended: ask the operator of this service')
export const STORES_AWAY = new ReplyError(454, '4.7.0 Temporary authentication failure, try again later')

/** Returns the caller. @throws ReplyError. */
export async function logIn(
  ctx: Pick<SubmissionContext, 'keyring' | 'attempts'>,
  password: string,
  peer: string,
): Promise<KeyCaller> {
  const name = `smtp login ${networkOf(peer)}`
  const waitSeconds = await ctx.attempts.peek(name, FAILURES)
  if (waitSeconds !== null)
    throw new ReplyError(454, retryLaterError('Too many failed logins from your network', waitSeconds).message)
  const caller = await authenticate(ctx, password)
  if (caller !== null && !isAllowedFrom(caller.networks, peer)) {
    await ctx.attempts.consume(name, FAILURES)
    throw OTHER_NETWORK
  }
  if (caller?.isSuspended === true) throw SUSPENDED
  if (caller?.kind === 'regular') return caller
  await ctx.attempts.consume(name, FAILURES)
  throw caller === null ? WRONG : IS_ADMIN
}

/** Returns the current caller of a key; null for an invalid key. @throws ReplyError if PostgreSQL is unavailable. */
export async function authenticate(
  { keyring }: Pick<SubmissionContext, 'keyring'>,
  key: string,
): Promise<KeyCaller | null> {
  try {
    return await keyring.authenticate(key)
  } catch (error) {
    if (isDatabaseAway(error)) throw STORES_AWAY
    throw error
  }
}
