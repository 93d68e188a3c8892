/** Whom a notice in words is about. */
import { bareAddresses } from './bare-address.ts'
import type { Field } from './fields.ts'
import { type Part, valueOf } from './mime.ts'
import { addressesIn, type Entry, type Notice } from './notice.ts'

/** Named by the server's own field, else by the shape of the notice, else the only address that makes sense. */
export function chooseEntries(mail: Part, notice: Notice, returned: readonly Field[]): readonly Entry[] {
  const failed = [
    ...bareAddresses(valueOf(mail.fields, 'x-failed-recipients')),
    ...bareAddresses(valueOf(returned, 'x-failed-recipients')),
  ]
  if (failed.length > 0) return [...new Set(failed)].map((address) => entryOf(notice, address) ?? { address, text: '' })
  const fields = [
    valueOf(mail.fields, 'to'),
    valueOf(mail.fields, 'from'),
    valueOf(returned, 'from'),
    valueOf(returned, 'return-path'),
  ]
  const senders = new Set(fields.flatMap((value) => addressesIn(value ?? '')).map((address) => address.toLowerCase()))
  const others = notice.entries.filter(({ address }) => !senders.has(address.toLowerCase()))
  if (others.length > 0) return others
  if (notice.entries.length > 0) return notice.entries
  const named = addressesIn(`${valueOf(mail.fields, 'subject') ?? ''}\n${notice.text}`).filter(
    (address) => !senders.has(address.toLowerCase()) && !IS_SERVICE.test(address),
  )
  const addressed = addressesIn(`${valueOf(returned, 'to') ?? ''}\n${valueOf(returned, 'cc') ?? ''}`)
  const both = addressed.filter((address) => named.some((name) => name.toLowerCase() === address.toLowerCase()))
  const chosen =
    [both, named.slice(0, 1), addressed.length === 1 ? addressed : []].find((list) => list.length > 0) ?? []
  return chosen.map((address) => ({ address, text: '' }))
}

const IS_SERVICE = /^(?:postmaster|mailer-daemon|abuse|support|help|no-?reply|hostmaster|webmaster)@/i

/** What the notice says of this address. */
export function entryOf(notice: Notice, address: string): Entry | null {
  return notice.entries.find((entry) => entry.address.toLowerCase() === address.toLowerCase()) ?? null
}
