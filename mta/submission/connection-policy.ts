/**
 * Authorizes each transaction at MAIL: a revoked key, a suspended workspace, or a relay network that lost its
 * workspace, is refused at the next message, not only at the next connection. The rate is limited by the plan of the
 * workspace, by key and by network, counted over all processes.
 */
import { isAllowedFrom } from '#src/auth/key-networks.ts'
import { isDatabaseAway } from '#src/stores/db.ts'
import { networkOf } from '#src/net/address-policy.ts'
import { retryLaterError, ReplyError } from '#mta/smtp-server/reply.ts'
import { planOf, type SubmissionContext } from './context.ts'
import { authenticate, OTHER_NETWORK, SUSPENDED } from './login.ts'
import { type SubmissionSender, senderOfKey } from '#src/submission/sender.ts'

const LOGIN_REQUIRED = new ReplyError(530, '5.7.0 Authentication required: the password is an API key')
const KEY_REVOKED = new ReplyError(535, '5.7.8 The API key of this login is no longer valid: log in with a current one')
const STORE_UNAVAILABLE = new ReplyError(451, '4.3.0 Temporarily unavailable, try again later')

export interface SubmissionPeer {
  readonly remoteAddress: string
  /** Connected from this machine. */
  readonly isLocal: boolean
}

/** `key`: the API key of the login. @throws ReplyError. */
export async function authorizeTransaction(
  ctx: SubmissionContext,
  { remoteAddress, isLocal }: SubmissionPeer,
  key: string | null,
): Promise<SubmissionSender> {
  const sender = key === null ? await findRelay(ctx, remoteAddress) : await findByKey(ctx, key, remoteAddress)
  const { rate, config } = ctx
  const verdicts = [
    rate.consume(sender.workspaceId, planOf(ctx, sender.plan).requestsPerSecond),
    ...(sender.keyId === null ? [] : [rate.consume(`key ${sender.keyId}`, config.submissionPerKey)]),
    ...(sender.keyId === null || isLocal
      ? []
      : [rate.consume(`network ${networkOf(remoteAddress)}`, config.submissionPerNetwork)]),
  ]
  const over = verdicts.find(({ isAllowed }) => !isAllowed)
  if (over !== undefined) throw retryLaterError('Too many messages', over.retryAfter)
  return sender
}

async function findByKey(ctx: SubmissionContext, key: string, peer: string): Promise<SubmissionSender> {
  const caller = await authenticate(ctx, key)
  if (caller !== null && !isAllowedFrom(caller.networks, peer)) throw OTHER_NETWORK
  if (caller?.isSuspended === true) throw SUSPENDED
  if (caller?.kind !== 'regular') throw KEY_REVOKED
  return senderOfKey(caller)
}

async function findRelay({ relays }: SubmissionContext, address: string): Promise<SubmissionSender> {
  const sender = await relays.find(address).catch((error: unknown) => {
    throw isDatabaseAway(error) ? STORE_UNAVAILABLE : error
  })
  if (sender === null) throw LOGIN_REQUIRED
  if (sender.isSuspended) throw SUSPENDED
  return sender
}
