/**
 * Unsubscribes by mail to the address in a List-Unsubscribe field (RFC 2369 3.2). Content and sender do not matter,
 * because the address is the proof. The 250 follows the commit, so the mail itself is not stored. While PostgreSQL is
 * unavailable the reply is 451, and the sender retries. A repeated mail changes nothing. Automatic replies and bounces
 * are accepted and ignored.
 */
import { type HeaderField, splitMessage } from '#src/mail/split-message.ts'
import type { Context } from '#src/context.ts'
import type { AttemptLimiter } from '#src/rate-limits/attempt-limits.ts'
import { decodeHeaderText } from '#src/mail/header-text.ts'
import { unsubscribe, type UnsubscribeRef } from '#src/tracking/unsubscribe.ts'
import type { MailboxRef, TrackingTokens } from '#src/tracking/tokens.ts'
import { ReplyError } from '#mta/smtp-server/reply.ts'
import type { IncomingMail } from './listener.ts'

type UnsubscribeMail = Pick<IncomingMail, 'mailFrom' | 'raw' | 'peer'>

export interface UnsubscribeDeps {
  readonly attempts: AttemptLimiter
  readonly tokens: Pick<TrackingTokens, 'readList'>
}

/** Limit for one contact and audience. */
const LIMIT_PER_MAILBOX = { max: 20, windowMs: 10 * 60 * 1000 }

/** Resolves when the unsubscribe is committed. @throws ReplyError, and if PostgreSQL is unavailable. */
export async function acceptUnsubscribe(
  ctx: Context,
  { attempts, tokens }: UnsubscribeDeps,
  ref: MailboxRef,
  mail: UnsubscribeMail,
): Promise<void> {
  const { contactId, audienceId } = ref
  const { fields } = splitMessage(mail.raw)
  if (isAutomatic(mail, fields)) {
    ctx.log.info({ contactId, audienceId, peer: mail.peer }, 'ignored an automatic reply to an unsubscribe address')
    return
  }
  const wait = await attempts.consume(`unsubscribe-mail:${contactId}:${audienceId}`, LIMIT_PER_MAILBOX)
  if (wait !== null) throw new ReplyError(452, '4.7.0 Too many messages to this address, try again later')
  const outcome = await unsubscribe(ctx, selectUnsubscribeRef(ref, tokens, fields))
  ctx.log.info({ contactId, audienceId, peer: mail.peer, result: outcome.kind }, 'unsubscribed by mail')
}

/** Tokens of this version, and of earlier ones. */
const LIST_TOKENS = [/[A-Za-z0-9_-]{126}/, /[A-Za-z0-9_-]{104}/] as const

/** The subject has a token for the message. If it is missing or wrong, only contact and audience are known. */
function selectUnsubscribeRef(
  ref: MailboxRef,
  tokens: UnsubscribeDeps['tokens'],
  fields: readonly HeaderField[],
): UnsubscribeRef {
  const subject = headerText(fields, 'subject').replaceAll(/\s/g, '')
  const found = LIST_TOKENS.map((pattern) => tokens.readList(pattern.exec(subject)?.[0] ?? ''))
  const list = found.find((one) => one !== null) ?? null
  return list !== null && list.contactId === ref.contactId && list.audienceId === ref.audienceId ? list : ref
}

/** RFC 3834 5. `auto-generated` is not included: a client that unsubscribes for its user may send it. */
const AUTO_SUBMITTED = /^auto-(?:replied|notified)\b/i
const BULK_PRECEDENCE = /^(?:bulk|junk|auto[_-]reply)\b/i
const AUTO_REPLY_FIELDS = ['x-autoreply', 'x-autorespond', 'x-autoresponse', 'x-vacation', 'x-loop']

function isAutomatic({ mailFrom }: UnsubscribeMail, fields: readonly HeaderField[]): boolean {
  return (
    mailFrom === '' ||
    AUTO_SUBMITTED.test(headerText(fields, 'auto-submitted')) ||
    BULK_PRECEDENCE.test(headerText(fields, 'precedence')) ||
    /^multipart\/report\b/i.test(headerText(fields, 'content-type')) ||
    AUTO_REPLY_FIELDS.some((name) => fields.some((field) => field.name === name))
  )
}

function headerText(fields: readonly HeaderField[], name: string): string {
  const line = fields.find((field) => field.name === name)?.line ?? ':'
  return decodeHeaderText(line.slice(line.indexOf(':') + 1)).trim()
}
