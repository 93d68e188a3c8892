/**
 * Mail that came back, read: a bounce, a notice of delay or of delivery, a complaint, an automatic answer, or none of these; and whom it is
 * about. The machine-readable part (RFC 3464, RFC 5965) is believed first; words fill what it leaves out, and stand alone where there is
 * none. This only reads: what to do about it is decided elsewhere. Never throws; a mail that makes no sense is `other`.
 */
import { parseAddressField, parseAddressList } from './address-field.ts'
import { type Complaint, parseComplaint } from './complaint.ts'
import { isAutoReply, isFailureNotice, isDelayNotice, hasNullSender } from './notice-kind.ts'
import { findNoticeRecipients, findEntry } from './notice-recipients.ts'
import { parseNotice, findReturnedFields, type NoticeEntry, type DeliveryNotice } from './delivery-notice.ts'
import { type MimeHeaderField, parseFieldGroups } from './header-fields.ts'
import { type MimePart, findParts, parseMail, decodeText, fieldValue } from './mime.ts'
import type { FailureClassification } from './failure-patterns.ts'
import { type RejectedCommand, findRejectedCommand, isConfirmed, classifyFailureText, findStatusCode, maskRecipient } from './failure-text.ts'
import { collapseWhitespace } from './text-patterns.ts'

export type ReportKind = 'bounce' | 'delay' | 'delivered' | 'complaint' | 'autoreply' | 'other'
export type DsnAction = 'failed' | 'delayed' | 'delivered' | 'relayed' | 'expanded'

export interface ReportedRecipient {
  readonly address: string
  /** The address, or its domain, will never take mail. */
  readonly hard: boolean
  /** Enhanced status code (RFC 3463), where the report holds one. */
  readonly status: string | null
  readonly class: string
  readonly action: DsnAction
  /** What the server said. */
  readonly diagnostic: string | null
}

export interface ParsedReport {
  readonly kind: ReportKind
  readonly recipients: readonly ReportedRecipient[]
  /** abuse, opt-out, … of a complaint (RFC 5965 7.3). */
  readonly feedbackType: string | null
  /** Message-ID of the mail it is about, without angle brackets. */
  readonly originalMessageId: string | null
}

/** `raw` is the whole mail as it was received. */
export function parseReport(raw: Buffer): ParsedReport {
  const mail = parseMail(raw)
  const notice = parseNotice(mail)
  const returned = findReturnedFields(mail, notice)
  const originalMessageId = parseMessageId(fieldValue(returned, 'message-id'))
  const complaint = parseComplaint(mail, returned)
  if (complaint !== null) return reportComplaint(complaint, originalMessageId)
  const reported = parseDeliveryStatus(mail, notice)
  const isNotice = reported.length > 0 || isFailureNotice(mail, notice) || isDelayNotice(mail, notice)
  const common = { feedbackType: null, originalMessageId }
  if (!isNotice)
    return {
      kind: isAutoReply(mail, notice) || hasNullSender(mail) ? 'autoreply' : 'other',
      recipients: [],
      ...common,
    }
  const recipients = reported.length > 0 ? reported : parseNoticeRecipients(mail, notice, returned)
  return { kind: reportKindOf(recipients) ?? (isDelayNotice(mail, notice) ? 'delay' : 'bounce'), recipients, ...common }
}

function reportComplaint({ feedbackType, addresses }: Complaint, originalMessageId: string | null): ParsedReport {
  const common = { hard: false, status: null, class: feedbackType, action: 'delivered', diagnostic: null } as const
  return {
    kind: 'complaint',
    recipients: addresses.map((address) => ({ address, ...common })),
    feedbackType,
    originalMessageId,
  }
}

/** Null where nobody is named. */
function reportKindOf(recipients: readonly ReportedRecipient[]): ReportKind | null {
  const actions = recipients.map(({ action }) => action)
  if (actions.includes('failed')) return 'bounce'
  if (actions.includes('delayed')) return 'delay'
  return actions.length > 0 ? 'delivered' : null
}

// ── RFC 3464 ──

/** A report is about one message, and ours go to one recipient each: more than these are noise or harm. */
const MAX_RECIPIENTS = 200

/** So many are looked for in the notice as a whole; it cannot say much about more, and is read anew for each. */
const MAX_BY_NOTICE = 20

function noticeFor(notice: DeliveryNotice, index: number): DeliveryNotice {
  return index < MAX_BY_NOTICE ? notice : { ...notice, text: '' }
}

const ACTIONS: ReadonlyMap<string, DsnAction> = new Map([
  ['failed', 'failed'],
  ['failure', 'failed'],
  ['delayed', 'delayed'],
  ['delivered', 'delivered'],
  ['deliverable', 'delivered'],
  ['relayed', 'relayed'],
  ['expanded', 'expanded'],
])

/** Recipients of the delivery-status part; where there is none, of fields that stand in the notice itself. */
function parseDeliveryStatus(mail: MimePart, notice: DeliveryNotice): ReportedRecipient[] {
  const parts = findParts(mail, /^message\/(?:global-|x)?delivery-status$/)
  const groups = parts.length > 0 ? parts.flatMap((part) => parseFieldGroups(decodeText(part))) : inlineGroups(notice)
  const failedAddresses = parseAddressList(fieldValue(mail.fields, 'x-failed-recipients'))
  const recipientGroups = groups.filter((fields) => RECIPIENT_FIELDS.some((name) => fieldValue(fields, name) !== null))
  const fallbackAddresses = recipientGroups.length === 1 ? failedAddresses : []
  const recipients = recipientGroups
    .slice(0, MAX_RECIPIENTS)
    .map((fields, i) => parseRecipientGroup(fields, noticeFor(notice, i), fallbackAddresses))
    .filter((recipient) => recipient !== null)
  return [...new Map(recipients.map((recipient) => [recipient.address.toLowerCase(), recipient])).values()]
}

/** Some servers write the fields of a report into its text. */
function inlineGroups(notice: DeliveryNotice): (readonly MimeHeaderField[])[] {
  const text = notice.text + notice.returned
  return /^[ \t]*(?:final|original)-recipient:/im.test(text) && /^[ \t]*(?:action|status|diagnostic-code):/im.test(text)
    ? parseFieldGroups(text.replace(/^[ \t]+(?=[A-Z][\w-]+:)/gm, '')).filter(
        (fields) => fieldValue(fields, 'action') !== null || fieldValue(fields, 'status') !== null,
      )
    : []
}

const RECIPIENT_FIELDS = ['final-recipient', 'original-recipient', 'x-actual-recipient'] as const

function parseRecipientGroup(fields: readonly MimeHeaderField[], notice: DeliveryNotice, failedAddresses: readonly string[]): ReportedRecipient | null {
  const address = selectAddress(fields, failedAddresses)
  if (address === null) return null
  const statusField = fieldValue(fields, 'status')
  const status = /[245]\.\d{1,3}\.\d{1,3}/.exec(statusField ?? '')?.[0] ?? null
  const diagnostic = cleanDiagnostic(fieldValue(fields, 'diagnostic-code'))
  const action =
    ACTIONS.get(/^[a-z]+/.exec((fieldValue(fields, 'action') ?? '').toLowerCase())?.[0] ?? '') ?? actionOf(status)
  return classifyRecipient({
    address,
    action,
    status,
    diagnostic,
    comment: statusField,
    entry: findEntry(notice, address),
    notice: notice.text,
  })
}

function actionOf(status: string | null): DsnAction {
  return status?.startsWith('2') === true ? 'delivered' : 'failed'
}

function selectAddress(fields: readonly MimeHeaderField[], failedAddresses: readonly string[]): string | null {
  // a route or a local name stands for another address, which the sender has named
  for (const name of RECIPIENT_FIELDS) {
    for (const { value } of fields.filter((field) => field.name === name).toReversed()) {
      const address = parseAddressField(value)
      if (address !== null && !/^[^;]*;\s*@/.test(value)) return address
    }
  }
  return failedAddresses[0] ?? null
}

function cleanDiagnostic(value: string | null): string | null {
  const text = (value ?? '').replace(/^\s*[\w.-]+\s*;/, '').trim()
  return text === '' ? null : text.slice(0, 2000)
}

// ── words ──

function parseNoticeRecipients(mail: MimePart, notice: DeliveryNotice, returned: readonly MimeHeaderField[]): ReportedRecipient[] {
  const action = isDelayNotice(mail, notice) ? 'delayed' : 'failed'
  return findNoticeRecipients(mail, notice, returned).map((entry, i) =>
    classifyRecipient({
      address: entry.address,
      action,
      status: null,
      diagnostic: null,
      comment: null,
      entry,
      notice: noticeFor(notice, i).text,
    }),
  )
}

interface RecipientEvidence {
  readonly address: string
  readonly action: DsnAction
  readonly status: string | null
  readonly diagnostic: string | null
  /** What stands behind the status code in parentheses. */
  readonly comment: string | null
  readonly entry: NoticeEntry | null
  readonly notice: string
}

/** Characters that are looked at of what is said about one recipient. */
const MAX_EVIDENCE_TEXT = 4000

function classifyRecipient(evidence: RecipientEvidence): ReportedRecipient {
  const { address, action } = evidence
  const status = selectStatus(evidence)
  if (action !== 'failed' && action !== 'delayed') {
    return { address, hard: false, status, class: action, action, diagnostic: evidence.diagnostic }
  }
  const command = findRejectedCommand(evidence.entry?.text ?? evidence.notice)
  const classification = classifyEvidence(evidence, command) ?? classifyFailureText('', status, command)
  const isTemporary = action === 'delayed' || (status?.startsWith('4') === true && classification.class !== 'no-such-user')
  const isHard = classification.isHard && !isTemporary && isConfirmed(classification, status, command)
  const diagnostic = evidence.diagnostic ?? firstReply(evidence.entry?.text ?? null)
  return { address, hard: isHard, status, class: classification.class, action, diagnostic }
}

/**
 * From the most exact words to the least; null where none says anything. A notice around the server's own answer, which says nothing
 * itself, condemns nobody: it speaks of what may be, or of the mail.
 */
function classifyEvidence({ address, diagnostic, entry, comment, notice }: RecipientEvidence, command: RejectedCommand | null): FailureClassification | null {
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
  const classification = classifyText(notice, address, command)
  return classification?.isHard === true && diagnostic !== null ? null : classification
}

function classifyText(text: string | null, address: string, command: RejectedCommand | null): FailureClassification | null {
  if (text === null || text.trim() === '') return null
  const classification = classifyFailureText(maskRecipient(text.slice(0, MAX_EVIDENCE_TEXT), address), null, command)
  return classification.class === 'unknown' ? null : classification
}

function selectStatus({ status, diagnostic, entry, notice }: RecipientEvidence): string | null {
  const textStatus = findStatusCode(diagnostic ?? '') ?? findStatusCode(entry?.text ?? '')
  if (status === null) return textStatus ?? (entry === null ? findStatusCode(notice) : null)
  return textStatus !== null && (textStatus[0] === status[0] || status.endsWith('.0.0')) ? textStatus : status
}

/** The line of an SMTP reply in a text, or its first line. */
function firstReply(text: string | null): string | null {
  const lines = (text ?? '').split('\n').filter((line) => line.trim() !== '')
  const line = lines.find((one) => /(?:^|\s)[245]\d\d[ -]/.test(one)) ?? lines[1] ?? lines[0]
  return line === undefined ? null : line.slice(0, 2000)
}

function parseMessageId(value: string | null): string | null {
  const text = /<([^<>\s]+)>/.exec(value ?? '')?.[1] ?? value?.trim() ?? ''
  return text === '' ? null : text.slice(0, 998)
}
