/**
 * Who may begin a transaction, asked at each MAIL: a key that was switched off, or a relay that was taken from the list's workspace, ends
 * with the next mail and not with the connection. What a sender may hand in is bounded by the plan of its workspace, by key and by network,
 * counted over all processes.
 */
import { isDatabaseAway } from '#src/stores/db.ts'
import { networkOf } from '#src/net/address-policy.ts'
import { retryLaterError, ReplyError } from '#mta/smtp-server/reply.ts'
import { planOf, type SubmissionContext } from './context.ts'
import { authenticate } from './login.ts'
import { type SubmissionSender, senderOfKey } from './sender.ts'

const LOGIN_REQUIRED = new ReplyError(530, '5.7.0 Log in first: the password is an API key')
const KEY_REVOKED = new ReplyError(535, '5.7.8 The API key of this login does not work any more')
const STORE_UNAVAILABLE = new ReplyError(451, '4.3.0 A store is away, come again')

export interface SubmissionPeer {
  readonly remoteAddress: string
  /** Our own machine. */
  readonly isLocal: boolean
}

/** `key` is what the connection logged in with. @throws a Reply. */
export async function authorizeTransaction(
  ctx: SubmissionContext,
  { remoteAddress, isLocal }: SubmissionPeer,
  key: string | null,
): Promise<SubmissionSender> {
  const sender = key === null ? await findRelay(ctx, remoteAddress) : await findByKey(ctx, key)
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

async function findByKey(ctx: SubmissionContext, key: string): Promise<SubmissionSender> {
  const caller = await authenticate(ctx, key)
  if (caller?.kind !== 'regular') throw KEY_REVOKED
  return senderOfKey(caller)
}

async function findRelay({ relays }: SubmissionContext, address: string): Promise<SubmissionSender> {
  const sender = await relays.find(address).catch((error: unknown) => {
    throw isDatabaseAway(error) ? STORE_UNAVAILABLE : error
  })
  if (sender === null) throw LOGIN_REQUIRED
  return sender
}
