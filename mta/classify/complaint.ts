/**
 * Parses a complaint: a feedback report (RFC 5965), or the original mail with Microsoft's own header field and no
 * report. A feedback report whose machine-readable part is missing still counts as a complaint.
 */
import { parseAddressField } from './address-field.ts'
import { type MimeHeaderField, parseFieldGroups } from './header-fields.ts'
import { findAddresses } from './delivery-notice.ts'
import { type MimePart, findParts, decodeText, fieldValue, walkParts } from './mime.ts'

export interface Complaint {
  /** abuse, opt-out, … (RFC 5965 7.3); lower case. */
  readonly feedbackType: string
  /** The recipients of the mail, without duplicates. */
  readonly addresses: readonly string[]
}

/** Microsoft's Junk Mail Reporting Program adds this field to the original mail. */
const MICROSOFT_FIELD = 'x-hmxmroriginalrecipient'

/** Returns null if the mail is not a complaint. `returned`: header fields of the returned message. */
export function parseComplaint(mail: MimePart, returned: readonly MimeHeaderField[]): Complaint | null {
  const [part] = findParts(mail, /^message\/feedback-report$/)
  if (part !== undefined) return parseFeedbackReport(parseFieldGroups(decodeText(part)).flat(), returned)
  const original = [...walkParts(mail)]
    .map(({ fields }) => fieldValue(fields, MICROSOFT_FIELD))
    .find((value) => value !== null)
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
