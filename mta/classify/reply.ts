/**
 * Classifies an SMTP reply: the stage of the session and the reply give a reason, a scope and, for a bounce, hard or
 * soft. It uses the same patterns as late bounces (failure-text.ts), but knows the stage. The consequences are decided
 * in `src/messages/transition-for-outcome.ts` and `src/suppression`. Only a 5xx to this message ends a delivery. A
 * bounce is hard only if the receiver says that the address itself is bad, never for a policy, a full mailbox or a
 * blocked sender.
 */
import { formatReply, type Reply } from '#src/mail/reply.ts'
import type { Outcome, FailureScope } from '#src/messages/outcome.ts'
import type { FailureClassification, RejectedCommand } from './failure-patterns.ts'
import { isConfirmed, classifyFailureText, maskRecipient } from './failure-text.ts'
import { findForwardedAddress } from './forwarded-address.ts'

export type ReplyStage = 'mail' | 'rcpt' | 'data' | 'dot'

const COMMAND_OF_STAGE: Readonly<Record<ReplyStage, RejectedCommand>> = {
  mail: 'mail',
  rcpt: 'rcpt',
  data: 'data',
  dot: 'data',
}

/** The scope of each failure class; every class of failure-text.ts has a row. */
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

/** The reason and scope if neither text nor status is known. */
const BY_STAGE: Readonly<Record<ReplyStage, { readonly reason: string; readonly scope: FailureScope }>> = {
  mail: { reason: 'sender-refused', scope: 'source' },
  rcpt: { reason: 'recipient-refused', scope: 'recipient' },
  data: { reason: 'message-refused', scope: 'message' },
  dot: { reason: 'message-refused', scope: 'message' },
}

/** RFC 3463 3.8: security and policy codes are never a hard bounce, whatever the text says. */
const POLICY_STATUS = /^[245]\.7\./

interface ReplyClassification {
  readonly reason: string
  readonly scope: FailureScope
  readonly isHard: boolean
}

function classifyAtStage(stage: ReplyStage, reply: Reply, recipient: string | null): ReplyClassification {
  // the reply code says whether the failure is permanent; an enhanced code of another class only gives the subject
  const status = reply.enhanced?.replace(/^./, '5') ?? null
  const command = COMMAND_OF_STAGE[stage]
  const text = formatReply(reply)
  const classification = classifyFailureText(
    recipient === null ? text : maskRecipient(text, recipient),
    status,
    command,
  )
  const scope = SCOPES[classification.class]
  // no mailbox has been named yet, so the disk of the server is full
  if (stage === 'mail' && classification.class === 'mailbox-full')
    return { reason: 'system', scope: 'destination', isHard: false }
  // a rejection of MAIL is about the sender, not about a recipient
  if (scope === undefined || (stage === 'mail' && scope === 'recipient')) return { ...BY_STAGE[stage], isHard: false }
  const isVague = classification.isHard || scope === 'destination'
  if (isVague && status !== null && POLICY_STATUS.test(status))
    return { reason: 'policy', scope: 'source', isHard: false }
  const isHard = isHardBounce(classification, status, command)
  // a server that expands an alias at RCPT may refuse what the alias leads to
  const isForward = isHard && recipient !== null && namesOther(recipient, text)
  return { reason: isForward ? 'forward-broken' : classification.class, scope, isHard }
}

function namesOther(recipient: string, text: string): boolean {
  return findForwardedAddress(recipient, { actual: [], texts: [text], entries: [], senders: [] }) !== null
}

function isHardBounce(classification: FailureClassification, status: string | null, command: RejectedCommand): boolean {
  return classification.isHard && isConfirmed(classification, status, command)
}

/**
 * Returns the outcome of a 4xx or 5xx reply for this message to `recipient`. The reply code decides between deferral
 * and bounce, even if the class of the enhanced code differs.
 */
export function classifyReply(stage: ReplyStage, reply: Reply, recipient: string | null = null): Outcome {
  const classification = classifyAtStage(stage, reply, recipient)
  const detail = formatReply(reply)
  // 421: the server closes the connection, which says nothing about this message (RFC 5321 3.8)
  if (reply.code === 421)
    return { kind: 'deferred', scope: 'host', reason: classification.reason, detail, reply, isCounted: false }
  if (reply.code < 500 || isTooManyRecipients(stage, reply, classification))
    return {
      kind: 'deferred',
      scope: classification.scope,
      reason: classification.reason,
      detail,
      reply,
      isCounted: true,
    }
  return {
    kind: 'bounced',
    scope: classification.scope,
    reason: classification.reason,
    isHard: classification.isHard,
    detail,
    reply,
  }
}

/** RFC 5321 4.5.3.1.10: old servers send 552 instead of 452 for too many recipients. */
function isTooManyRecipients(stage: ReplyStage, { code }: Reply, { reason }: ReplyClassification): boolean {
  return code === 552 && stage === 'rcpt' && reason === 'throttled'
}
