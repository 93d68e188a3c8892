/**
 * Who may begin a transaction, asked at each MAIL: a key that was switched off, or a relay that was taken from the list's workspace, ends
 * with the next mail and not with the connection. What a sender may hand in is bounded by the plan of its workspace, by key and by network,
 * counted over all processes.
 */
import { isDatabaseAway } from '#src/stores/db.ts'
import { networkOf } from '#src/net/address-policy.ts'
import { comeAgain, Reply } from '#mta/smtp-server/reply.ts'
import { planOf, type SubmissionContext } from './context.ts'
import { authenticate } from './login.ts'
import { type Sender, senderOfKey } from './sender.ts'

const NOBODY = new Reply(530, '5.7.0 Log in first: the password is an API key')
const NO_MORE = new Reply(535, '5.7.8 The API key of this login does not work any more')
const STORE_AWAY = new Reply(451, '4.3.0 A store is away, come again')

export interface Peer {
  readonly remoteAddress: string
  /** Our own machine. */
  readonly isLocal: boolean
}

/** `key` is what the connection logged in with. @throws a Reply. */
export async function admit(
  ctx: SubmissionContext,
  { remoteAddress, isLocal }: Peer,
  key: string | null,
): Promise<Sender> {
  const sender = key === null ? await findRelay(ctx, remoteAddress) : await findByKey(ctx, key)
  const { rate, config } = ctx
  const verdicts = [
    rate.take(sender.workspaceId, planOf(ctx, sender.plan).requestsPerSecond),
    ...(sender.keyId === null ? [] : [rate.take(`key ${sender.keyId}`, config.submissionPerKey)]),
    ...(sender.keyId === null || isLocal
      ? []
      : [rate.take(`network ${networkOf(remoteAddress)}`, config.submissionPerNetwork)]),
  ]
  const over = verdicts.find(({ isAllowed }) => !isAllowed)
  if (over !== undefined) throw comeAgain('Too many messages', over.retryAfter)
  return sender
}

async function findByKey(ctx: SubmissionContext, key: string): Promise<Sender> {
  const caller = await authenticate(ctx, key)
  if (caller?.kind !== 'regular') throw NO_MORE
  return senderOfKey(caller)
}

async function findRelay({ relays }: SubmissionContext, address: string): Promise<Sender> {
  const sender = await relays.find(address).catch((error: unknown) => {
    throw isDatabaseAway(error) ? STORE_AWAY : error
  })
  if (sender === null) throw NOBODY
  return sender
}
