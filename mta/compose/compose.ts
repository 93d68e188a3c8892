/**
 * Composes a stored message as it goes over the wire: header fields and body, which `sign.ts` signs and `assemble`
 * joins. The same draft always gives the same octets, so a retry repeats the exact message and not only its meaning.
 */
import { isUtf8 } from 'node:buffer'
import type { Composed, Draft, HeaderField } from './draft.ts'
import { hexOf, writeHeader } from './header.ts'
import { splitMessage } from './message.ts'
import { bodyTextsOf, writeContent } from './mime-writer.ts'

/**
 * Writes messages of texts directly, messages with attachments with nodemailer's composer; a raw draft passes through.
 * @throws InvalidDraftError where no message can be made; its text begins with the invalid field.
 */
export async function compose(draft: Draft): Promise<Composed> {
  if (draft.raw !== null) return passThrough(draft.raw)
  if (draft.attachments.length === 0) return composeTexts(draft)
  const header = writeHeader(draft)
  // its library is large, and most mail has no attachment
  const { buildContent } = await import('./mime-tree.ts')
  const { fields, body } = await buildContent(bodyTextsOf(draft), draft.attachments, hexOf(draft))
  return join([...header, ...fields], body)
}

/** Composes a draft of texts only. @throws InvalidDraftError */
export function composeTexts(draft: Draft): Composed {
  const header = writeHeader(draft)
  const { fields, body } = writeContent(bodyTextsOf(draft), hexOf(draft))
  return join([...header, ...fields], Buffer.from(body, 'latin1'))
}

function join(fields: readonly HeaderField[], body: Buffer): Composed {
  let head = ''
  for (const field of fields) head += field.line
  return { fields, head: `${head}\r\n`, body, needsSmtputf8: holdsUtf8(head) }
}

function passThrough(raw: Buffer): Composed {
  const message = splitMessage(raw)
  return { ...message, needsSmtputf8: holdsUtf8(message.head) }
}

/**
 * Whether a header, one character per octet, is UTF-8 beyond ASCII. Other octets (Latin-1, in mail from clients) were
 * never allowed, are accepted everywhere, and do not need RFC 6531.
 */
function holdsUtf8(head: string): boolean {
  const isAscii = Buffer.byteLength(head) === head.length // beyond ASCII a character takes two octets
  return !isAscii && isUtf8(Buffer.from(head, 'latin1'))
}
