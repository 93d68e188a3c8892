/**
 * A complaint of a receiver, read: a feedback report (RFC 5965), or the mail complained of with Microsoft's own field, which has no report.
 * Only tells what was complained of; null where it is none. A report whose machine-readable part got lost is still a complaint.
 */
import { parseAddressField } from './address-field.ts'
import { type MimeHeaderField, parseFieldGroups } from './header-fields.ts'
import { findAddresses } from './delivery-notice.ts'
import { type MimePart, findParts, decodeText, fieldValue, walkParts } from './mime.ts'

export interface Complaint {
  /** abuse, opt-out, … (RFC 5965 7.3); lower case. */
  readonly feedbackType: string
  /** Whom the mail had gone to, each once. */
  readonly addresses: readonly string[]
}

/** In the mail complained of, by Microsoft's programme for senders. */
const MICROSOFT_FIELD = 'x-hmxmroriginalrecipient'

/** `returned` are fields of the mail that is given back. */
export function parseComplaint(mail: MimePart, returned: readonly MimeHeaderField[]): Complaint | null {
  const [part] = findParts(mail, /^message\/feedback-report$/)
  if (part !== undefined) return parseFeedbackReport(parseFieldGroups(decodeText(part)).flat(), returned)
  const original = [...walkParts(mail)].map(({ fields }) => fieldValue(fields, MICROSOFT_FIELD)).find((value) => value !== null)
  if (original !== undefined && original !== null) return { feedbackType: 'abuse', addresses: findAddresses(original) }
  const isReport = /report-type\s*=\s*"?feedback-report/i.test(fieldValue(mail.fields, 'content-type') ?? '')
  return isReport || isHotmailComplaint(mail) ? parseFeedbackReport([], returned) : null
}

function isHotmailComplaint(mail: MimePart): boolean {
  return (
    /^complaint about message from\b/i.test(fieldValue(mail.fields, 'subject') ?? '') &&
    /\bstaff@(?:hotmail|outlook|live|msn)\./i.test(fieldValue(mail.fields, 'from') ?? '')
  )
}

function parseFeedbackReport(fields: readonly MimeHeaderField[], returned: readonly MimeHeaderField[]): Complaint {
  const recipientFields = fields.filter(({ name }) => name === 'original-rcpt-to' || name === 'removal-recipient')
  const addresses = recipientFields.map(({ value }) => parseAddressField(value)).filter((address) => address !== null)
  const recipients = addresses.length > 0 ? addresses : findAddresses(fieldValue(returned, 'to') ?? '')
  return {
    feedbackType: fieldValue(fields, 'feedback-type')?.trim().toLowerCase() ?? 'abuse',
    addresses: [...new Set(recipients)],
  }
}
