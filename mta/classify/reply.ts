/**
 * What a receiver's answer means: from a reply at a stage of the conversation to a reason, a scope and, for a refusal, hard or soft.
 * What to do about it is decided elsewhere (`src/messages/settle.ts`). Only a 5xx to this message ends a delivery; an address is called
 * hard only when the receiver says that the address itself is bad: a policy, a full mailbox or a blocked sender never condemn it.
 */
import { formatReply, type Reply } from '#src/mail/reply.ts'
import type { Outcome, Scope } from '#src/messages/outcome.ts'

export type Stage = 'mail' | 'rcpt' | 'data' | 'dot'

interface Meaning {
  readonly reason: string
  readonly scope: Scope
  readonly isHard: boolean
}

interface Rule extends Meaning {
  /** Enhanced codes without their class (RFC 3463 and its registry), or null for any. */
  readonly status: RegExp | null
  /** What the text says, or null for anything. */
  readonly text: RegExp | null
}

/** Wording families, for servers that send no enhanced code or a useless one. */
const NOBODY = /\b(user|mailbox|recipient|address|account|addressee)\b.{0,40}\b(unknown|not (found|exist|known|valid)|does(n't| not) exist|invalid|no longer|rejected: unknown)|\b(no such|unknown|invalid|nonexistent|no) (user|mailbox|recipient|account|address|person)\b/i
const SENDER = /\b(spam|blocked|block ?list|black ?list|deny ?list|reputation|rbl|dnsbl|spamhaus|policy|dmarc|spf|dkim|authenticat|ptr|reverse dns|greylist|gray ?list|relay)/i
const FULL = /\b(over ?quota|quota|mailbox (is )?full|insufficient (system )?storage|out of storage)\b/i
const THROTTLED = /\b(too many|rate limit|throttl|try again later|temporarily deferred|unusual rate|slow down|connection limit)/i

/** First match wins. */
const RULES: readonly Rule[] = [
  { status: /^7\./, text: null, reason: 'policy', scope: 'source', isHard: false },
  { status: /^1\.(1|6|10)$/, text: SENDER, reason: 'policy', scope: 'source', isHard: false },
  { status: /^1\.(1|6|10)$/, text: null, reason: 'no-such-user', scope: 'recipient', isHard: true },
  { status: /^1\.2$/, text: null, reason: 'no-such-domain', scope: 'recipient', isHard: true },
  { status: /^1\.[37]$/, text: null, reason: 'bad-address', scope: 'recipient', isHard: true },
  { status: /^1\.8$/, text: null, reason: 'bad-sender', scope: 'source', isHard: false },
  { status: /^2\.1$/, text: null, reason: 'mailbox-disabled', scope: 'recipient', isHard: true },
  { status: /^2\.2$/, text: null, reason: 'mailbox-full', scope: 'recipient', isHard: false },
  { status: /^(2\.3|3\.4)$/, text: null, reason: 'too-large', scope: 'message', isHard: false },
  { status: /^6\.7$/, text: null, reason: 'no-smtputf8', scope: 'message', isHard: false },
  { status: /^6\./, text: null, reason: 'content', scope: 'message', isHard: false },
  { status: /^4\.[57]$|^3\.2$|^2\.4$/, text: null, reason: 'busy', scope: 'destination', isHard: false },
  { status: /^4\./, text: null, reason: 'routing', scope: 'destination', isHard: false },
  { status: null, text: FULL, reason: 'mailbox-full', scope: 'recipient', isHard: false },
  { status: null, text: SENDER, reason: 'policy', scope: 'source', isHard: false },
  { status: null, text: NOBODY, reason: 'no-such-user', scope: 'recipient', isHard: true },
  { status: null, text: THROTTLED, reason: 'busy', scope: 'destination', isHard: false },
]

/** Where no rule says more, the stage does. */
const BY_STAGE: Readonly<Record<Stage, Meaning>> = {
  mail: { reason: 'sender-refused', scope: 'source', isHard: false },
  rcpt: { reason: 'recipient-refused', scope: 'recipient', isHard: false },
  data: { reason: 'message-refused', scope: 'message', isHard: false },
  dot:  { reason: 'message-refused', scope: 'message', isHard: false },
}

function meaningOf(stage: Stage, reply: Reply): Meaning {
  const status = reply.enhanced?.slice(2) ?? ''
  const rule = RULES.find((one) => (one.status === null || one.status.test(status)) && (one.text === null || one.text.test(reply.text)))
  const meaning = rule ?? BY_STAGE[stage]
  // An address is judged where it is named. A sender refused as unknown at MAIL is about us.
  return stage === 'mail' && meaning.scope === 'recipient' ? BY_STAGE.mail : meaning
}

/** The outcome of a 4xx or 5xx answer to this message. The reply code decides which; an enhanced code of another class does not overrule it. */
export function classifyReply(stage: Stage, reply: Reply): Outcome {
  const meaning = meaningOf(stage, reply)
  const detail = formatReply(reply)
  // 421: the server is closing; it says nothing about this message (RFC 5321 3.8).
  if (reply.code === 421) return { kind: 'deferred', scope: 'host', reason: meaning.reason === 'policy' ? 'policy' : 'busy', detail, reply, isCounted: false }
  if (reply.code < 500) return { kind: 'deferred', scope: meaning.scope, reason: meaning.reason, detail, reply, isCounted: true }
  return { kind: 'bounced', scope: meaning.scope, reason: meaning.reason, isHard: meaning.isHard, detail, reply }
}
