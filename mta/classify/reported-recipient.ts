/**
 * Classifies what a report says about one recipient: the fields of the machine-readable part, the entry of the notice
 * and the notice itself, most specific first. If the text is about another address, the recipient forwards to it, and
 * the class is `forward-broken`. Pure; the input may be hostile.
 */
import type { DeliveryNotice, NoticeEntry } from './delivery-notice.ts'
import type { FailureClassification, RejectedCommand } from './failure-patterns.ts'
import {
  BLOCKED_BY_LIST,
  classifyFailureText,
  findRejectedCommand,
  findStatusCode,
  isConfirmed,
  maskRecipient,
  quotesBlocklist,
} from './failure-text.ts'
import { findForwardedAddress } from './forwarded-address.ts'
import { findQuotedReason } from './quoted-reason.ts'
import { collapseWhitespace } from './text-patterns.ts'

export type DsnAction = 'failed' | 'delayed' | 'delivered' | 'relayed' | 'expanded'

export interface ReportedRecipient {
  readonly address: string
  /** The address or its domain will never accept mail. */
  readonly hard: boolean
  /** Enhanced status code (RFC 3463), if the report has one. */
  readonly status: string | null
  readonly class: string
  readonly action: DsnAction
  /** The reply of the server. */
  readonly diagnostic: string | null
}

export interface RecipientEvidence {
  readonly address: string
  readonly action: DsnAction
  readonly status: string | null
  readonly diagnostic: string | null
  /** The whole Status field, with the comment behind the code. */
  readonly comment: string | null
  /** X-Actual-Recipient */
  readonly actual: readonly string[]
  readonly entry: NoticeEntry | null
  readonly notice: DeliveryNotice
  readonly senders: readonly string[]
}

/** Maximum length of the text that is classified for one recipient. */
const MAX_EVIDENCE_TEXT = 4000

/** Classifies a failure or a delay; every other action is its own class. */
export function classifyRecipient(evidence: RecipientEvidence): ReportedRecipient {
  const { address, action } = evidence
  const status = selectStatus(evidence)
  if (action !== 'failed' && action !== 'delayed') {
    return { address, hard: false, status, class: action, action, diagnostic: evidence.diagnostic }
  }
  const said = evidence.entry?.text ?? evidence.notice.text
  const command = findRejectedCommand(said) ?? findRejectedCommand(evidence.diagnostic ?? '')
  const classification = classifyEvidence(evidence, status, command)
  const isTemporary =
    action === 'delayed' || (status?.startsWith('4') === true && classification.class !== 'no-such-user')
  const isHard = classification.isHard && !isTemporary && isConfirmed(classification, status, command)
  const isReason = (text: string): boolean => classifyText(text, address, command) !== null
  const diagnostic =
    evidence.diagnostic ??
    findQuotedReason({ address, entry: evidence.entry?.text ?? null, notice: evidence.notice.text }, isReason) ??
    commentOf(evidence.comment)
  const isForward = isHard && isAboutOther(evidence, command)
  return {
    address,
    hard: isHard,
    status,
    class: isForward ? 'forward-broken' : classification.class,
    action,
    diagnostic,
  }
}

function isAboutOther(
  { address, actual, diagnostic, entry, notice, senders }: RecipientEvidence,
  command: RejectedCommand | null,
): boolean {
  const isFailure = (text: string): boolean => classifyText(text, address, command)?.isHard === true
  const said = (entry?.text ?? notice.text).slice(0, MAX_EVIDENCE_TEXT)
  // other paragraphs may name the help desk, or who receives a copy
  const failures = said.split(/\n\s*\n/).filter((text) => REPLY.test(text) || isFailure(text))
  return (
    findForwardedAddress(address, {
      actual,
      texts: [diagnostic ?? '', ...failures],
      entries: notice.entries,
      senders,
    }) !== null
  )
}

const REPLY = /(?:^|\s)[45]\d\d[ -]|\brcpt to\b/i

/** The explanation behind the code of a Status field. */
function commentOf(field: string | null): string | null {
  const comment = /\(([^()]{2,500})\)/.exec(field ?? '')?.[1] ?? ''
  return comment === '' ? null : comment
}

/** Classifies the evidence, or else the status code. A block list that any text quotes outranks a hard failure. */
function classifyEvidence(
  evidence: RecipientEvidence,
  status: string | null,
  command: RejectedCommand | null,
): FailureClassification {
  const { address, diagnostic, entry, notice } = evidence
  const classification = classifyTexts(evidence, command) ?? classifyFailureText('', status, command)
  const isBlocked = [diagnostic, entry?.text ?? notice.text].some((text) =>
    quotesBlocklist(maskRecipient((text ?? '').slice(0, MAX_EVIDENCE_TEXT), address)),
  )
  return classification.isHard && isBlocked ? BLOCKED_BY_LIST : classification
}

/**
 * Classifies the evidence, most specific text first; null if nothing matches. If the quoted reply of the server matches
 * no pattern, the notice around it never makes a hard bounce, because it lists possible causes or describes the
 * message.
 */
function classifyTexts(
  { address, diagnostic, entry, comment, notice }: RecipientEvidence,
  command: RejectedCommand | null,
): FailureClassification | null {
  const entryText = entry?.text ?? null
  for (const text of [
    diagnostic,
    firstReply(entryText),
    entryText,
    entryText === null ? null : collapseWhitespace(entryText.slice(0, MAX_EVIDENCE_TEXT)),
    comment,
  ]) {
    const classification = classifyText(text, address, command)
    if (classification !== null) return classification
  }
  const classification = classifyText(notice.text, address, command)
  return classification?.isHard === true && diagnostic !== null ? null : classification
}

function classifyText(
  text: string | null,
  address: string,
  command: RejectedCommand | null,
): FailureClassification | null {
  if (text === null || text.trim() === '') return null
  const classification = classifyFailureText(maskRecipient(text.slice(0, MAX_EVIDENCE_TEXT), address), null, command)
  return classification.class === 'unknown' ? null : classification
}

function selectStatus({ status, diagnostic, entry, notice }: RecipientEvidence): string | null {
  const textStatus = findStatusCode(diagnostic ?? '') ?? findStatusCode(entry?.text ?? '')
  if (status === null) return textStatus ?? (entry === null ? findStatusCode(notice.text) : null)
  return textStatus !== null && (textStatus[0] === status[0] || status.endsWith('.0.0')) ? textStatus : status
}

/** The line to classify: the first with an SMTP reply, else the second, else the first. */
function firstReply(text: string | null): string | null {
  const lines = (text ?? '').split('\n').filter((line) => line.trim() !== '')
  const line = lines.find((one) => /(?:^|\s)[245]\d\d[ -]/.test(one)) ?? lines[1] ?? lines[0]
  return line === undefined ? null : line.slice(0, 2000)
}
