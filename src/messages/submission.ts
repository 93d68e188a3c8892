/** A submitted message as the input of `accept`: validated, with its recipients, rendered and ready to be stored. */
import type { Mailbox } from '#src/mail/address.ts'
import type { ArcChain } from '#src/mail/arc-chain.ts'
import type { Tier } from '#src/queue/tiers.ts'

export interface SubmittedRecipient {
  readonly address: string
  /** A-labels, lower case. */
  readonly domain: string
  readonly kind: 'to' | 'cc' | 'bcc'
}

export interface Attachment {
  readonly filename: string
  readonly contentType: string
  readonly contentId: string | null
  readonly content: Buffer
}

/**
 * A long text may be given as UTF-8 bytes, so that megabytes are not decoded and encoded again between the request and
 * the database.
 */
export type BodyText = string | Buffer

export interface Submission {
  /** UUIDv7. */
  readonly id: string
  readonly workspaceId: string
  readonly apiKeyId: string | null
  readonly domainId: string | null
  readonly tier: Tier
  readonly from: Mailbox
  readonly replyTo: Mailbox | null
  readonly to: readonly Mailbox[]
  readonly cc: readonly Mailbox[]
  /** At least one; no address occurs twice. */
  readonly recipients: readonly SubmittedRecipient[]
  readonly subject: string
  readonly html: BodyText | null
  readonly text: BodyText | null
  /** The body as it is stored, if compressed (`body-compression.ts`); texts and raw message stay in their fields. */
  readonly compressed?: Buffer | null
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly attachments: readonly Attachment[]
  /** Only for a message that was rendered from a stored template. */
  readonly template?: TemplateReference | undefined
  /** Only for a message that was submitted complete, by SMTP or by HTTP. */
  readonly smtp?: SmtpPart
  /** It has a link that gives access: nobody reads it here or sends it again (`stored-content.ts`). */
  readonly isConfidential?: true
  readonly tags: readonly string[]
  readonly metadata: Readonly<Record<string, string | number | boolean | null>> | null
  readonly trackOpens: boolean | null
  readonly trackClicks: boolean | null
  readonly scheduledAt: Date | null
  readonly timezone: string | null
  readonly expiresAt: Date | null
  readonly createdAt: Date
  /** Recipients per month in the workspace's plan; null = unlimited. */
  readonly quota: number | null
  readonly idempotency: Idempotency | null
  /** Absent for messages that the server creates by itself, such as delivery reports. */
  readonly origin?: MessageOrigin
}

/** The request or SMTP transaction that accepts a message. */
export interface MessageOrigin {
  /** The X-Request-Id, or the id of the transaction. */
  readonly requestId: string
  /** The span that the spans of the message follow; null while no trace is recorded. */
  readonly traceparent: string | null
}

/** The template and version a message was rendered from, as stored. */
export interface TemplateReference {
  readonly id: string
  readonly version: number
  /** A test message of the template. */
  readonly is_test?: true
}

export interface SmtpPart {
  /**
   * The complete message. It is sent octet for octet, with signatures added; subject and names are only for display.
   * Null: the message is rendered from a template.
   */
  readonly raw: Buffer | null
  readonly envelope: SubmittedEnvelope
}

/** The envelope of a message that was submitted complete. */
export interface SubmittedEnvelope {
  /** The message came by HTTP; without it, by SMTP. */
  readonly protocol?: 'http'
  /** MAIL FROM; '' for the null sender. */
  readonly from: string
  /** The client gave the parameter SMTPUTF8 (RFC 6531). */
  readonly isUtf8?: true
  /** A delivery report of this server: null sender, and no report is ever sent about it (RFC 5321 4.5.5). */
  readonly isReport?: true
  /** A received email that an inbound route forwards: its octets stay, and it gets an ARC set instead of DKIM. */
  readonly forward?: ForwardedMail
  /** A TLS report: it tells a domain that its TLS fails, so it must not wait for TLS (RFC 8460 3). */
  readonly ignoresTls?: true
  /** The address for delivery reports: MAIL FROM, if its domain is a verified domain of the workspace. */
  readonly reportTo?: string
  /** RFC 3461 4.3, 4.4 */
  readonly ret?: 'FULL' | 'HDRS'
  readonly envid?: string
  /** DSN parameters by recipient index. `wishes` is the name in stored JSON. */
  readonly wishes?: Readonly<Record<string, DsnRequest>>
}

export interface ForwardedMail {
  /** The received email. */
  readonly receivedId: string
  readonly arc: ArcChain
}

/** RFC 3461 4.1, 4.2 */
export interface DsnRequest {
  readonly notify?: readonly string[]
  readonly orcpt?: string
}

/**
 * Whether the sender requested a delivery report for a recipient's failure or success. Failures are reported unless the
 * envelope says otherwise.
 */
export function isReportRequested(
  { reportTo, wishes }: SubmittedEnvelope,
  n: number,
  of: 'FAILURE' | 'SUCCESS',
): boolean {
  return reportTo !== undefined && (wishes?.[n]?.notify ?? ['FAILURE']).includes(of)
}

/** Characters of the texts, and bytes of the raw message and the attachments: how much loading them costs. */
export function contentSizeOf({ html, text, smtp, attachments }: Submission): number {
  return (
    (html?.length ?? 0) +
    (text?.length ?? 0) +
    (smtp?.raw?.length ?? 0) +
    attachments.reduce((sum, { content }) => sum + content.length, 0)
  )
}

export interface Idempotency {
  readonly key: string
  readonly bodyHash: Buffer
  /** The response to the first call, which every replay returns. */
  readonly answer: string
}

/** `quotaUsed`: the recipients of the workspace that count in this month, after this batch. */
export type AcceptResult =
  | { readonly kind: 'stored'; readonly quotaUsed: number }
  | { readonly kind: 'replayed'; readonly answer: string }
  | { readonly kind: 'mismatch' }
  | { readonly kind: 'in-progress' }
  | { readonly kind: 'over-quota'; readonly quotaUsed: number }
