/** Finds the recipients that a human-readable notice is about. */
import { parseAddressList } from './address-field.ts'
import type { MimeHeaderField } from './header-fields.ts'
import { type MimePart, fieldValue } from './mime.ts'
import { isOrigin } from './forwarded-address.ts'
import { findAddresses, type NoticeEntry, type DeliveryNotice } from './delivery-notice.ts'

/** Uses X-Failed-Recipients, else the entries of the notice, else the only plausible address in its text. */
export function findNoticeRecipients(
  mail: MimePart,
  notice: DeliveryNotice,
  returned: readonly MimeHeaderField[],
): readonly NoticeEntry[] {
  const failed = [
    ...parseAddressList(fieldValue(mail.fields, 'x-failed-recipients')),
    ...parseAddressList(fieldValue(returned, 'x-failed-recipients')),
  ]
  if (failed.length > 0)
    return [...new Set(failed)].map((address) => findEntry(notice, address) ?? { address, text: '' })
  const senders = new Set(findSenders(mail, returned))
  const others = notice.entries.filter(({ address }) => !senders.has(address.toLowerCase()))
  if (others.length > 0) return others
  if (notice.entries.length > 0) return notice.entries
  const named = findAddresses(`${fieldValue(mail.fields, 'subject') ?? ''}\n${notice.text}`).filter(
    (address) => !senders.has(address.toLowerCase()) && !ROLE_ADDRESS.test(address),
  )
  const addressed = findAddresses(`${fieldValue(returned, 'to') ?? ''}\n${fieldValue(returned, 'cc') ?? ''}`)
  const both = addressed.filter((address) => named.some((name) => name.toLowerCase() === address.toLowerCase()))
  const chosen =
    [both, named.slice(0, 1), addressed.length === 1 ? addressed : []].find((list) => list.length > 0) ?? []
  return chosen.map((address) => ({ address, text: '' }))
}

/** The addresses of the sender of the message and of the report, in lower case. */
export function findSenders(mail: MimePart, returned: readonly MimeHeaderField[]): readonly string[] {
  const fields = [
    fieldValue(mail.fields, 'to'),
    fieldValue(mail.fields, 'from'),
    fieldValue(returned, 'from'),
    fieldValue(returned, 'return-path'),
  ]
  return fields.flatMap((value) => findAddresses(value ?? '')).map((address) => address.toLowerCase())
}

const ROLE_ADDRESS = /^(?:postmaster|mailer-daemon|abuse|support|help|no-?reply|hostmaster|webmaster)@/i

/** The entry of the notice for this address, or for one that it was expanded to. */
export function findEntry(notice: DeliveryNotice, address: string): NoticeEntry | null {
  return (
    notice.entries.find((entry) => entry.address.toLowerCase() === address.toLowerCase()) ??
    notice.entries.find(({ origin }) => isOrigin(origin, address)) ??
    null
  )
}
