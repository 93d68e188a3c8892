/**
 * A complaint of a receiver, read: a feedback report (RFC 5965), or the mail complained of with Microsoft's own field, which has no report.
 * Only tells what was complained of; null where it is none. A report whose machine-readable part got lost is still a complaint.
 */
import { bareAddress } from './bare-address.ts'
import { type Field, readGroups } from './fields.ts'
import { addressesIn } from './notice.ts'
import { type Part, partsOf, textOf, valueOf, walk } from './mime.ts'

export interface Complaint {
  /** abuse, opt-out, … (RFC 5965 7.3); lower case. */
  readonly feedbackType: string
  /** Whom the mail had gone to, each once. */
  readonly addresses: readonly string[]
}

/** In the mail complained of, by Microsoft's programme for senders. */
const MICROSOFT_FIELD = 'x-hmxmroriginalrecipient'

/** `returned` are fields of the mail that is given back. */
export function readComplaint(mail: Part, returned: readonly Field[]): Complaint | null {
  const [part] = partsOf(mail, /^message\/feedback-report$/)
  if (part !== undefined) return readFeedback(readGroups(textOf(part)).flat(), returned)
  const original = [...walk(mail)].map(({ fields }) => valueOf(fields, MICROSOFT_FIELD)).find((value) => value !== null)
  if (original !== undefined && original !== null) return { feedbackType: 'abuse', addresses: addressesIn(original) }
  const isReport = /report-type\s*=\s*"?feedback-report/i.test(valueOf(mail.fields, 'content-type') ?? '')
  return isReport || isHotmail(mail) ? readFeedback([], returned) : null
}

function isHotmail(mail: Part): boolean {
  return (
    /^complaint about message from\b/i.test(valueOf(mail.fields, 'subject') ?? '') &&
    /\bstaff@(?:hotmail|outlook|live|msn)\./i.test(valueOf(mail.fields, 'from') ?? '')
  )
}

function readFeedback(fields: readonly Field[], returned: readonly Field[]): Complaint {
  const told = fields.filter(({ name }) => name === 'original-rcpt-to' || name === 'removal-recipient')
  const addresses = told.map(({ value }) => bareAddress(value)).filter((address) => address !== null)
  const found = addresses.length > 0 ? addresses : addressesIn(valueOf(returned, 'to') ?? '')
  return {
    feedbackType: valueOf(fields, 'feedback-type')?.trim().toLowerCase() ?? 'abuse',
    addresses: [...new Set(found)],
  }
}
