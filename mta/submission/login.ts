/**
 * Logging in: the password is an API key, the name is whatever the client's form insists on. The key is looked up at once, so that a wrong
 * one is told where people look for it. Failures are counted by connection, and by network in Redis; who has failed too often is not even
 * looked up for a while. A known key in the wrong place (an Admin key) is a failure too.
 */
import type { Caller } from '#src/auth/keys.ts'
import { isDatabaseAway } from '#src/stores/db.ts'
import type { AttemptLimit } from '#src/rate-limits/attempt-limits.ts'
import { networkOf } from '#src/net/address-policy.ts'
import { retryLaterError, ReplyError } from '#mta/smtp-server/reply.ts'
import type { SubmissionContext } from './context.ts'

/** Of one connection. */
export const MAX_FAILURES = 3
const FAILURES: AttemptLimit = { max: 30, windowMs: 10 * 60_000 }

const WRONG = new ReplyError(535, '5.7.8 The password must be a Regular API key')
const IS_ADMIN = new ReplyError(535, '5.7.8 This is an Admin key: sending needs a Regular key')
export const STORES_AWAY = new ReplyError(454, '4.7.0 Logging in is not possible now, come again')

/** The caller. @throws a Reply. */
export async function logIn(
  ctx: Pick<SubmissionContext, 'keyring' | 'attempts'>,
  password: string,
  peer: string,
): Promise<Caller> {
  const name = `smtp login ${networkOf(peer)}`
  const waitSeconds = await ctx.attempts.peek(name, FAILURES)
  if (waitSeconds !== null)
    throw new ReplyError(454, retryLaterError('Too many failed logins from your network', waitSeconds).message)
  const caller = await authenticate(ctx, password)
  if (caller?.kind === 'regular') return caller
  await ctx.attempts.consume(name, FAILURES)
  throw caller === null ? WRONG : IS_ADMIN
}

/** The caller of a key as it is now; null when it opens nothing. @throws a Reply while PostgreSQL must be asked and is away. */
export async function authenticate(
  { keyring }: Pick<SubmissionContext, 'keyring'>,
  key: string,
): Promise<Caller | null> {
  try {
    return await keyring.authenticate(key)
  } catch (error) {
    if (isDatabaseAway(error)) throw STORES_AWAY
    throw error
  }
}
