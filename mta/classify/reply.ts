/**
 * What a receiver's answer means: from a reply at a stage of the conversation to a reason, a scope and, for a refusal, hard or soft. Read
 * by the same words as bounces that come later (failure-text.ts), with the difference that the stage is known. What to do about it is decided
 * elsewhere (`src/messages/transition-for-outcome.ts`, `src/suppression`). Only a 5xx to this message ends a delivery; an address is called hard only when
 * the receiver says that the address itself is bad: a policy, a full mailbox or a blocked sender never condemn it.
 */
import { formatReply, type Reply } from '#src/mail/reply.ts'
import type { Outcome, FailureScope } from '#src/messages/outcome.ts'
import type { FailureClassification } from './failure-patterns.ts'
import { type RejectedCommand, isConfirmed, classifyFailureText, maskRecipient } from './failure-text.ts'

export type ReplyStage = 'mail' | 'rcpt' | 'data' | 'dot'

const COMMAND_OF_STAGE: Readonly<Record<ReplyStage, RejectedCommand>> = { mail: 'mail', rcpt: 'rcpt', data: 'data', dot: 'data' }

/** What each class of failure is about; every class of failure-text.ts has its row. */
const SCOPES: Readonly<Record<string, FailureScope>> = {
  'no-such-user': 'recipient',
  'no-such-domain': 'recipient',
  'no-mail-accepted': 'recipient',
  'bad-address': 'recipient',
  moved: 'recipient',
  address: 'recipient',
  mailbox: 'recipient',
  'mailbox-full': 'recipient',
  'mailbox-disabled': 'recipient',
  'recipient-filter': 'recipient',
  'too-large': 'message',
  'message-refused': 'message',
  virus: 'message',
  'no-smtputf8': 'message',
  spam: 'source',
  policy: 'source',
  blocked: 'source',
  authentication: 'source',
  'no-reverse-dns': 'source',
  'relay-denied': 'source',
  'sender-refused': 'source',
  greylisted: 'source',
  throttled: 'source',
  tls: 'source',
  network: 'destination',
  system: 'destination',
  expired: 'destination',
  loop: 'destination',
  protocol: 'destination',
}

/** Where neither words nor status say more, the stage does. */
const BY_STAGE: Readonly<Record<ReplyStage, { readonly reason: string; readonly scope: FailureScope }>> = {
  mail: { reason: 'sender-refused', scope: 'source' },
  rcpt: { reason: 'recipient-refused', scope: 'recipient' },
  data: { reason: 'message-refused', scope: 'message' },
  dot: { reason: 'message-refused', scope: 'message' },
}

/** RFC 3463 3.8: security and policy, which condemn nobody whatever the words beside them say. */
const POLICY_STATUS = /^[245]\.7\./

interface ReplyClassification {
  readonly reason: string
  readonly scope: FailureScope
  readonly isHard: boolean
}

function classifyAtStage(stage: ReplyStage, reply: Reply, recipient: string | null): ReplyClassification {
  // the code says whether it is for good; an enhanced code of another class says only what it is about
  const status = reply.enhanced?.replace(/^./, '5') ?? null
  const command = COMMAND_OF_STAGE[stage]
  const text = formatReply(reply)
  const classification = classifyFailureText(recipient === null ? text : maskRecipient(text, recipient), status, command)
  const scope = SCOPES[classification.class]
  // no mailbox was named yet: it is the server's own disk
  if (stage === 'mail' && classification.class === 'mailbox-full')
    return { reason: 'system', scope: 'destination', isHard: false }
  // an address is judged where it is named: what MAIL is refused with is about us
  if (scope === undefined || (stage === 'mail' && scope === 'recipient')) return { ...BY_STAGE[stage], isHard: false }
  const isVague = classification.isHard || scope === 'destination'
  if (isVague && status !== null && POLICY_STATUS.test(status)) return { reason: 'policy', scope: 'source', isHard: false }
  return { reason: classification.class, scope, isHard: isHardBounce(classification, status, command) }
}

function isHardBounce(classification: FailureClassification, status: string | null, command: RejectedCommand): boolean {
  return classification.isHard && isConfirmed(classification, status, command)
}

/**
 * The outcome of a 4xx or 5xx answer to this message to `recipient`. The reply code decides; an enhanced code of another class does not
 * overrule it.
 */
export function classifyReply(stage: ReplyStage, reply: Reply, recipient: string | null = null): Outcome {
  const classification = classifyAtStage(stage, reply, recipient)
  const detail = formatReply(reply)
  // 421: the server is closing; it says nothing about this message (RFC 5321 3.8)
  if (reply.code === 421)
    return { kind: 'deferred', scope: 'host', reason: classification.reason, detail, reply, isCounted: false }
  if (reply.code < 500 || isTooManyRecipients(stage, reply, classification))
    return { kind: 'deferred', scope: classification.scope, reason: classification.reason, detail, reply, isCounted: true }
  return { kind: 'bounced', scope: classification.scope, reason: classification.reason, isHard: classification.isHard, detail, reply }
}

/** RFC 5321 4.5.3.1.10: old servers say 552 where they have enough recipients for now. */
function isTooManyRecipients(stage: ReplyStage, { code }: Reply, { reason }: ReplyClassification): boolean {
  return code === 552 && stage === 'rcpt' && reason === 'throttled'
}
