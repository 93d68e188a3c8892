/**
 * A stored message becomes the message that goes over the wire: header fields and body,
 * for `sign.ts` to sign and `assemble` to put together. The same draft always makes the same octets,
 * so a retry repeats the message and not merely its meaning.
 */
import { isUtf8 } from 'node:buffer'
import type { Composed, Draft, HeaderField } from './draft.ts'
import { hexOf, writeHeader } from './header.ts'
import { splitMessage } from './message.ts'
import { bodyTextsOf, writeContent } from './mime-writer.ts'

/**
 * Simple shapes are put together straight, mail with attachments by nodemailer's composer; a raw draft passes through.
 * @throws BrokenDraft where no message can be made; its text begins with the field at fault.
 */
export async function compose(draft: Draft): Promise<Composed> {
  if (draft.raw !== null) return passThrough(draft.raw)
  if (draft.attachments.length === 0) return composeTexts(draft)
  const header = writeHeader(draft)
  // the library of it is large, and most mail has no attachment
  const { buildContent } = await import('./mime-tree.ts')
  const { fields, body } = await buildContent(bodyTextsOf(draft), draft.attachments, hexOf(draft))
  return join([...header, ...fields], body)
}

/** A draft of texts only. @throws BrokenDraft */
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
 * Whether a header, one character per octet, is UTF-8 and more than ASCII. Other octets (Latin-1, in
 * mail that others wrote) were never allowed, have always been let through, and do not need RFC 6531.
 */
function holdsUtf8(head: string): boolean {
  const isAscii = Buffer.byteLength(head) === head.length // beyond ASCII a character takes two octets
  return !isAscii && isUtf8(Buffer.from(head, 'latin1'))
}
