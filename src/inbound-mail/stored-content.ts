/** Builds the stored JSON of a received email: its envelope, what was found in it, and links to its files. Pure. */
import type { ReceivedAttachment, ReceivedContent } from './received-content.ts'

export interface ContentSource {
  readonly mail: {
    readonly recipient: string
    readonly mailFrom: string
    readonly peer: string
    readonly helo: string
    readonly isTls: boolean
    readonly size: number
    readonly receivedAt: Date
  }
  readonly parsed: ReceivedContent
  readonly isUnreadable: boolean
  /** The link to an attachment, or (0) to the source. */
  readonly linkTo: (n: number) => string
  readonly expiresAt: Date
}

export interface LinkedAttachment extends ReceivedAttachment {
  readonly url: string
}

/** The content of a received email as it is stored, sent and returned. */
export interface StoredEmailContent extends ReceivedContent<LinkedAttachment> {
  readonly received_at: string
  readonly mail_from: string
  readonly tag: string | null
  readonly peer: string
  readonly helo: string
  readonly is_tls: boolean
  readonly size: number
  readonly is_unreadable: boolean
  /** The complete mail. */
  readonly source_url: string
  /** Until when the links work. */
  readonly links_expire_at: string
}

const UNCHECKED = { result: 'temperror', domain: null }

/** Of a mail that could not be parsed. */
export const UNREADABLE: ReceivedContent = {
  from: null,
  to: [],
  cc: [],
  reply_to: [],
  subject: null,
  date: null,
  header_message_id: null,
  in_reply_to: null,
  references: [],
  headers: [],
  text: null,
  html: null,
  is_truncated: true,
  is_automatic: false,
  attachments: [],
  authentication: { spf: UNCHECKED, dkim: [], dmarc: { ...UNCHECKED, policy: null }, arc: UNCHECKED },
  spam: { verdict: 'suspicious', score: 0, reasons: ['unreadable'], filter: null },
}

export function storedContentOf({ mail, parsed, isUnreadable, linkTo, expiresAt }: ContentSource): StoredEmailContent {
  const { attachments, ...parts } = parsed
  return {
    received_at: mail.receivedAt.toISOString(),
    mail_from: mail.mailFrom,
    tag: tagOf(mail.recipient),
    peer: mail.peer,
    helo: mail.helo,
    is_tls: mail.isTls,
    size: mail.size,
    is_unreadable: isUnreadable,
    ...parts,
    attachments: attachments.map((one) => ({ ...one, url: linkTo(one.n) })),
    source_url: linkTo(0),
    links_expire_at: expiresAt.toISOString(),
  }
}

/** The subaddress (RFC 5233): what follows the + in the local part. */
function tagOf(recipient: string): string | null {
  const local = recipient.slice(0, recipient.lastIndexOf('@'))
  const plus = local.indexOf('+')
  return plus > 0 ? local.slice(plus + 1) : null
}
