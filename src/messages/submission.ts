/** A message as `accept` gets it: validated, addressed, rendered; only storing it is left. */
import type { Mailbox } from '#src/mail/address.ts'
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
 * A long text may be its UTF-8 bytes, so that megabytes are not decoded and encoded again on the way from the request
 * to the database.
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
  /** Each address once, at least one. */
  readonly recipients: readonly SubmittedRecipient[]
  readonly subject: string
  readonly html: BodyText | null
  readonly text: BodyText | null
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly attachments: readonly Attachment[]
  /** Only of a message that was made from a stored template. */
  readonly template?: TemplateReference | undefined
  /** Only of a message that came by SMTP. */
  readonly smtp?: SmtpPart
  readonly tags: readonly string[]
  readonly metadata: Readonly<Record<string, string | number | boolean | null>> | null
  readonly trackOpens: boolean | null
  readonly trackClicks: boolean | null
  readonly scheduledAt: Date | null
  readonly timezone: string | null
  readonly expiresAt: Date | null
  readonly createdAt: Date
  /** Recipients a month of the workspace's plan; null = unlimited. */
  readonly quota: number | null
  readonly idempotency: Idempotency | null
}

/** As it is stored. */
export interface TemplateReference {
  readonly id: string
  readonly version: number
  /** Sent to try the template. */
  readonly is_test?: true
}

export interface SmtpPart {
  /**
   * The whole message. It is sent octet for octet, with signatures added; subject and names then only describe it.
   * Null: a template makes it.
   */
  readonly raw: Buffer | null
  readonly envelope: SubmittedEnvelope
}

/** What an SMTP client said in the envelope. */
export interface SubmittedEnvelope {
  /** Its MAIL FROM; '' for none. */
  readonly from: string
  /** The client gave the parameter SMTPUTF8 (RFC 6531). */
  readonly isUtf8?: true
  /** A delivery report of ours: it has the null sender, and nothing is ever reported about it (RFC 5321 4.5.5). */
  readonly isReport?: true
  /** It reports broken TLS to a domain, so it must not wait until that TLS works (RFC 8460 3). */
  readonly ignoresTls?: true
  /** Where delivery reports go: MAIL FROM, if it is an address of a verified domain of the workspace. */
  readonly reportTo?: string
  /** RFC 3461 4.3, 4.4 */
  readonly ret?: 'FULL' | 'HDRS'
  readonly envid?: string
  /** By the index of the recipient, for those with DSN parameters. */
  readonly wishes?: Readonly<Record<string, DsnRequest>>
}

/** RFC 3461 4.1, 4.2 */
export interface DsnRequest {
  readonly notify?: readonly string[]
  readonly orcpt?: string
}

/**
 * Whether the sender wants a report by mail of a recipient's failure or success; of failures unless the envelope says
 * otherwise.
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
  /** The answer to the first call, which every replay repeats. */
  readonly answer: string
}

export type AcceptResult =
  | { readonly kind: 'stored' }
  | { readonly kind: 'replayed'; readonly answer: string }
  | { readonly kind: 'mismatch' }
  | { readonly kind: 'in-progress' }
  | { readonly kind: 'over-quota' }
