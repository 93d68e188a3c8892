/**
 * Parses returned mail: a bounce, a delay or delivery notice, a complaint, an automatic reply, or `other`, and the
 * recipients it is about. The machine-readable part (RFC 3464, RFC 5965) has priority. The text supplies what is
 * missing there, or everything if there is no such part. The consequences are decided elsewhere. Never throws.
 */
import { parseAddressField, parseAddressList } from './address-field.ts'
import { type Complaint, parseComplaint } from './complaint.ts'
import { isAutoReply, isFailureNotice, isDelayNotice, hasNullSender } from './notice-kind.ts'
import { findNoticeRecipients, findEntry, findSenders } from './notice-recipients.ts'
import { parseNotice, findReturnedFields, type DeliveryNotice } from './delivery-notice.ts'
import { type MimeHeaderField, parseFieldGroups } from './header-fields.ts'
import { type MimePart, findParts, parseMail, decodeText, fieldValue } from './mime.ts'
import { classifyRecipient, type DsnAction, type ReportedRecipient } from './reported-recipient.ts'

export type { ReportedRecipient } from './reported-recipient.ts'

export type ReportKind = 'bounce' | 'delay' | 'delivered' | 'complaint' | 'autoreply' | 'other'
export interface ParsedReport {
  readonly kind: ReportKind
  readonly recipients: readonly ReportedRecipient[]
  /** The type of a complaint: abuse, opt-out, … (RFC 5965 7.3). */
  readonly feedbackType: string | null
  /** Message-ID of the returned message, without angle brackets. */
  readonly originalMessageId: string | null
}

/** Parses the whole mail as received. */
export function parseReport(raw: Buffer): ParsedReport {
  const mail = parseMail(raw)
  const notice = parseNotice(mail)
  const returned = findReturnedFields(mail, notice)
  const originalMessageId = parseMessageId(fieldValue(returned, 'message-id'))
  const complaint = parseComplaint(mail, returned)
  if (complaint !== null) return reportComplaint(complaint, originalMessageId)
  const senders = findSenders(mail, returned)
  const reported = parseDeliveryStatus(mail, notice, senders)
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

/** Returns null if there are no recipients. */
function reportKindOf(recipients: readonly ReportedRecipient[]): ReportKind | null {
  const actions = recipients.map(({ action }) => action)
  if (actions.includes('failed')) return 'bounce'
  if (actions.includes('delayed')) return 'delay'
  return actions.length > 0 ? 'delivered' : null
}

// ── RFC 3464 ──

/** Our messages have one recipient each, so a report with more recipients than this is noise or hostile. */
const MAX_RECIPIENTS = 200

/** The whole notice is classified again for each recipient, so only for this many. */
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

/** Parses the delivery-status parts; if there is none, status fields in the text of the notice. */
function parseDeliveryStatus(mail: MimePart, notice: DeliveryNotice, senders: readonly string[]): ReportedRecipient[] {
  const parts = findParts(mail, /^message\/(?:global-|x)?delivery-status$/)
  const groups = parts.length > 0 ? parts.flatMap((part) => parseFieldGroups(decodeText(part))) : inlineGroups(notice)
  const failedAddresses = parseAddressList(fieldValue(mail.fields, 'x-failed-recipients'))
  const recipientGroups = groups.filter((fields) => RECIPIENT_FIELDS.some((name) => fieldValue(fields, name) !== null))
  const fallbackAddresses = recipientGroups.length === 1 ? failedAddresses : []
  const recipients = recipientGroups
    .slice(0, MAX_RECIPIENTS)
    .map((fields, i) => parseRecipientGroup(fields, { notice: noticeFor(notice, i), fallbackAddresses, senders }))
    .filter((recipient) => recipient !== null)
  return [...new Map(recipients.map((recipient) => [recipient.address.toLowerCase(), recipient])).values()]
}

/** Some servers write the status fields into the text. */
function inlineGroups(notice: DeliveryNotice): (readonly MimeHeaderField[])[] {
  const text = notice.text + notice.returned
  return /^[ \t]*(?:final|original)-recipient:/im.test(text) && /^[ \t]*(?:action|status|diagnostic-code):/im.test(text)
    ? parseFieldGroups(text.replace(/^[ \t]+(?=[A-Z][\w-]+:)/gm, '')).filter(
        (fields) => fieldValue(fields, 'action') !== null || fieldValue(fields, 'status') !== null,
      )
    : []
}

const RECIPIENT_FIELDS = ['final-recipient', 'original-recipient', 'x-actual-recipient'] as const

interface GroupContext {
  readonly notice: DeliveryNotice
  readonly fallbackAddresses: readonly string[]
  readonly senders: readonly string[]
}

function parseRecipientGroup(
  fields: readonly MimeHeaderField[],
  { notice, fallbackAddresses, senders }: GroupContext,
): ReportedRecipient | null {
  const address = selectAddress(fields, fallbackAddresses)
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
    actual: actualAddresses(fields),
    entry: findEntry(notice, address),
    notice,
    senders,
  })
}

function actualAddresses(fields: readonly MimeHeaderField[]): string[] {
  const values = fields.filter(({ name }) => name === 'x-actual-recipient').map(({ value }) => value)
  return values.map(parseAddressField).filter((address) => address !== null)
}

function actionOf(status: string | null): DsnAction {
  return status?.startsWith('2') === true ? 'delivered' : 'failed'
}

function selectAddress(fields: readonly MimeHeaderField[], failedAddresses: readonly string[]): string | null {
  // skip a route or a local name: another field has the address that the sender used
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
  // an exit status alone explains nothing
  return /\p{L}{2}/u.test(text) ? text.slice(0, 2000) : null
}

// ── text ──

function parseNoticeRecipients(
  mail: MimePart,
  notice: DeliveryNotice,
  returned: readonly MimeHeaderField[],
): ReportedRecipient[] {
  const action = isDelayNotice(mail, notice) ? 'delayed' : 'failed'
  return findNoticeRecipients(mail, notice, returned).map((entry, i) =>
    classifyRecipient({
      address: entry.address,
      action,
      status: null,
      diagnostic: null,
      comment: null,
      actual: [],
      entry,
      notice: noticeFor(notice, i),
      senders: findSenders(mail, returned),
    }),
  )
}

function parseMessageId(value: string | null): string | null {
  const text = /<([^<>\s]+)>/.exec(value ?? '')?.[1] ?? value?.trim() ?? ''
  return text === '' ? null : text.slice(0, 998)
}
