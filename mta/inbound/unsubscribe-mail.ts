/**
 * Letters that unsubscribe: to the address in a mail's List-Unsubscribe (RFC 2369 3.2), whatever they say and whoever writes them, for the
 * address is the proof. Done before the 250, so nothing is stored and nothing is forgotten; PostgreSQL away is 451, and the sender comes
 * again. A letter that comes twice is one. What answers by itself and what comes back (bounces) is taken and does nothing.
 */
import { splitMessage } from '#mta/compose/message.ts'
import type { Field } from '#mta/compose/draft.ts'
import type { Context } from '#src/context.ts'
import type { Attempts } from '#src/rate-limits/attempt-limits.ts'
import { readHeaderText } from '#src/mail/header-text.ts'
import { leave, type Leaver } from '#src/tracking/unsubscribe.ts'
import type { MailboxRef, Tokens } from '#src/tracking/tokens.ts'
import { Reply } from '#mta/smtp-server/reply.ts'
import type { Incoming } from './listener.ts'

type Letter = Pick<Incoming, 'mailFrom' | 'raw' | 'peer'>

export interface Unsubscribing {
  readonly attempts: Attempts
  readonly tokens: Pick<Tokens, 'readList'>
}

/** Of one contact and audience. */
const PER_ADDRESS = { max: 20, windowMs: 10 * 60 * 1000 }

/** Resolves when it is committed. @throws Reply, and when PostgreSQL is away. */
export async function takeUnsubscribe(
  ctx: Context,
  { attempts, tokens }: Unsubscribing,
  ref: MailboxRef,
  letter: Letter,
): Promise<void> {
  const { contactId, audienceId } = ref
  const { fields } = splitMessage(letter.raw)
  if (isAutomatic(letter, fields)) {
    ctx.log.info(
      { contactId, audienceId, peer: letter.peer },
      'an automatic letter to an unsubscribe address was left alone',
    )
    return
  }
  const wait = await attempts.take(`unsubscribe-mail:${contactId}:${audienceId}`, PER_ADDRESS)
  if (wait !== null) throw new Reply(452, '4.7.0 Too many letters to this address, come again later')
  const left = await leave(ctx, leaverOf(ref, tokens, fields))
  ctx.log.info({ contactId, audienceId, peer: letter.peer, result: left.kind }, 'unsubscribed by mail')
}

const LIST_TOKEN = /[A-Za-z0-9_-]{104}/

/** The subject says by which mail, unless somebody wrote another one: then only the contact and the audience are known. */
function leaverOf(ref: MailboxRef, tokens: Unsubscribing['tokens'], fields: readonly Field[]): Leaver {
  const token = LIST_TOKEN.exec(textOf(fields, 'subject').replaceAll(/\s/g, ''))?.[0]
  const list = token === undefined ? null : tokens.readList(token)
  return list !== null && list.contactId === ref.contactId && list.audienceId === ref.audienceId ? list : ref
}

/** RFC 3834 5; a program that unsubscribes for its user may say auto-generated. */
const ANSWERS_ITSELF = /^auto-(?:replied|notified)\b/i
const IN_BULK = /^(?:bulk|junk|auto[_-]reply)\b/i
const MARKS = ['x-autoreply', 'x-autorespond', 'x-autoresponse', 'x-vacation', 'x-loop']

function isAutomatic({ mailFrom }: Letter, fields: readonly Field[]): boolean {
  return (
    mailFrom === '' ||
    ANSWERS_ITSELF.test(textOf(fields, 'auto-submitted')) ||
    IN_BULK.test(textOf(fields, 'precedence')) ||
    /^multipart\/report\b/i.test(textOf(fields, 'content-type')) ||
    MARKS.some((name) => fields.some((field) => field.name === name))
  )
}

function textOf(fields: readonly Field[], name: string): string {
  const line = fields.find((field) => field.name === name)?.line ?? ':'
  return readHeaderText(line.slice(line.indexOf(':') + 1)).trim()
}
