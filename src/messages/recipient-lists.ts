/** The recipients of a message by the lists To, Cc and Bcc. An address occurs once, whatever its case. Pure. */
import type { Mailbox } from '#src/mail/address.ts'
import type { SubmittedRecipient } from './submission.ts'

export interface RecipientLists {
  readonly to: readonly Mailbox[]
  readonly cc: readonly Mailbox[]
  readonly bcc: readonly Mailbox[]
}

/** Each address in the first of to, cc and bcc that names it. */
export function listRecipients(
  lists: RecipientLists,
  destinationFor: (address: string) => string,
): SubmittedRecipient[] {
  const found = new Map<string, SubmittedRecipient>()
  for (const kind of ['to', 'cc', 'bcc'] as const)
    for (const { email } of lists[kind])
      if (!found.has(email.toLowerCase()))
        found.set(email.toLowerCase(), { address: email, domain: destinationFor(email), kind })
  return [...found.values()]
}

/** The headers To and Cc, also with each address once. */
export function uniqueHeaderLists(
  { to, cc }: Pick<RecipientLists, 'to' | 'cc'>,
  recipients: readonly SubmittedRecipient[],
): { to: Mailbox[]; cc: Mailbox[] } {
  const keepFirst = (list: readonly Mailbox[], kind: SubmittedRecipient['kind']): Mailbox[] => {
    const remaining = new Set(recipients.filter((one) => one.kind === kind).map((one) => one.address.toLowerCase()))
    return list.filter(({ email }) => remaining.delete(email.toLowerCase()))
  }
  return { to: keepFirst(to, 'to'), cc: keepFirst(cc, 'cc') }
}
