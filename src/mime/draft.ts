/**
 * The input and output of composing: a stored message, and the same message as header fields and body, ready to be
 * signed and sent.
 *
 * Expected results are values. A draft that cannot become a message (it should never have been accepted) throws
 * InvalidDraftError, which fails this one message and names the invalid field.
 */
import type { Mailbox } from '#src/mail/address.ts'
import type { Room } from './body-pieces.ts'
import type { HeaderField } from '#src/mail/split-message.ts'

export interface DraftAttachment {
  readonly filename: string
  readonly contentType: string
  /** With or without angle brackets; set if the HTML shows the file (`cid:`). */
  readonly contentId: string | null
  readonly content: Buffer
}

/** A stored message. Bcc is not in it: nothing here could let it out. */
export interface Draft {
  /** UUID; its hex is the left side of Message-ID and the root of every MIME boundary. */
  readonly messageId: string
  readonly createdAt: Date
  readonly from: Mailbox
  readonly replyTo: Mailbox | null
  readonly to: readonly Mailbox[]
  readonly cc: readonly Mailbox[]
  readonly subject: string
  readonly html: string | null
  readonly text: string | null
  /**
   * Custom header fields, in order. Fields that Mailstead writes itself (From, Date, Bcc, Content-* …) are left out.
   */
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly attachments: readonly DraftAttachment[]
  /** A complete message (SMTP submission): sent byte for byte; the fields above are for reference only. */
  readonly raw: Buffer | null
}

export interface Composed {
  /** The header fields in order; together they are `head` without its empty line. */
  readonly fields: readonly HeaderField[]
  /** The header and the empty line that ends it, one character per octet. */
  readonly head: string
  readonly body: Buffer
  /** For the rest of the message, before the body. Absent: there is none. */
  readonly room?: Room
  /** The header has UTF-8 that cannot be encoded (an address): only a server with SMTPUTF8 accepts it (RFC 6531). */
  readonly needsSmtputf8: boolean
}

/** A draft that cannot become a message. Permanent: a retry does not help. */
export class InvalidDraftError extends Error {
  override readonly name = 'InvalidDraftError'
  readonly field: string

  constructor(field: string, what: string) {
    super(`${field}: ${what}`)
    this.field = field
  }
}
