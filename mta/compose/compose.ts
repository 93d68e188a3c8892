/**
 * A stored message becomes the message that goes over the wire: header fields and body,
 * for `sign.ts` to sign and `assemble` to put together. The same draft always makes the same octets,
 * so a retry repeats the message and not merely its meaning.
 */
import type { Composed, Draft, Field } from './draft.ts'
import { hexOf, writeHeader } from './header.ts'
import { splitMessage } from './message.ts'
import { readingsOf, writeContent } from './straight.ts'
import { buildContent } from './tree.ts'

/**
 * Simple shapes are put together straight, mail with attachments by nodemailer's composer; a raw draft passes through.
 * @throws BrokenDraft where no message can be made; its text begins with the field at fault.
 */
export async function compose(draft: Draft): Promise<Composed> {
  if (draft.raw !== null) return passThrough(draft.raw)
  const header = writeHeader(draft)
  const hex = hexOf(draft)
  const texts = readingsOf(draft)
  if (draft.attachments.length > 0) {
    const { fields, body } = await buildContent(texts, draft.attachments, hex)
    return join([...header, ...fields], body)
  }
  const { fields, body } = writeContent(texts, hex)
  return join([...header, ...fields], Buffer.from(body, 'latin1'))
}

function join(fields: readonly Field[], body: Buffer): Composed {
  let head = ''
  for (const field of fields) head += field.line
  return { fields, head: `${head}\r\n`, body, needsSmtputf8: !isAscii(head) }
}

function passThrough(raw: Buffer): Composed {
  const message = splitMessage(raw)
  return { ...message, needsSmtputf8: !isAscii(message.head) }
}

/** `text` has one character per octet: those beyond ASCII take two in UTF-8. */
function isAscii(text: string): boolean {
  return Buffer.byteLength(text) === text.length
}
