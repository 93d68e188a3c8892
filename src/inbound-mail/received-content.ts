/**
 * What was found in a received email: the JSON that the column `content` stores, that webhooks carry as `data`, and
 * that the API returns. Names are those of the JSON. Everything comes from the sender, except the results of checks.
 */

export interface MailAddress {
  readonly address: string
  readonly name: string | null
}

export interface ReceivedAttachment {
  /** From 1. */
  readonly n: number
  readonly filename: string | null
  readonly content_type: string
  /** Without angle brackets; HTML refers to it as `cid:`. */
  readonly content_id: string | null
  readonly disposition: string | null
  readonly size: number
  /** Of a small attachment. */
  readonly content_base64: string | null
}

/** RFC 8601 2.7: none, pass, fail, softfail, neutral, policy, temperror, permerror. */
export interface CheckResult {
  readonly result: string
  readonly domain: string | null
}

export interface DkimCheck extends CheckResult {
  readonly selector: string | null
  readonly is_aligned: boolean
}

export interface Authentication {
  readonly spf: CheckResult
  readonly dkim: readonly DkimCheck[]
  /** `policy`: of the From domain, for mail that fails: none, quarantine or reject. */
  readonly dmarc: CheckResult & { readonly policy: string | null }
  /** `domain`: of the last seal. */
  readonly arc: CheckResult
}

export const SPAM_VERDICTS = ['clean', 'suspicious', 'spam'] as const
export type SpamVerdict = (typeof SPAM_VERDICTS)[number]

/** What SpamAssassin or rspamd found. */
export interface SpamFilterResult {
  readonly name: 'spamassassin' | 'rspamd'
  /** `unknown`: it did not answer in time, or the mail is too large for it. */
  readonly verdict: 'clean' | 'spam' | 'unknown'
  readonly score: number | null
  /** The score from which it calls a mail spam. */
  readonly threshold: number | null
  readonly symbols: readonly string[]
}

export interface SpamResult {
  readonly verdict: SpamVerdict
  readonly score: number
  /** Names of the rules that matched (src/inbound-mail/spam-rules.ts). */
  readonly reasons: readonly string[]
  /** Null: the operator uses no filter. */
  readonly filter: SpamFilterResult | null
}

export interface ReceivedParts {
  readonly from: MailAddress | null
  readonly to: readonly MailAddress[]
  readonly cc: readonly MailAddress[]
  readonly reply_to: readonly MailAddress[]
  readonly subject: string | null
  /** Of the Date field, in ISO 8601. */
  readonly date: string | null
  readonly header_message_id: string | null
  readonly in_reply_to: string | null
  readonly references: readonly string[]
  readonly headers: readonly { readonly name: string; readonly value: string }[]
  readonly text: string | null
  readonly html: string | null
  /** Headers, text, HTML or the list of attachments are longer: the source has all of them. */
  readonly is_truncated: boolean
  /** An automatic reply, a list or a report (RFC 3834): do not answer it automatically. */
  readonly is_automatic: boolean
}

/** `Attachment`: with a link, once it is stored. */
export interface ReceivedContent<Attachment = ReceivedAttachment> extends ReceivedParts {
  readonly attachments: readonly Attachment[]
  readonly authentication: Authentication
  readonly spam: SpamResult
}
