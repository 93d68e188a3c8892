/**
 * The body of a message without attachments, written directly: text, HTML, or both as multipart/alternative, with CRLF
 * line ends, in UTF-8. Each part has the simplest transfer encoding: 7bit where the text can travel unchanged, else
 * quoted-printable, or base64 where most of it is not ASCII. The output is always ASCII. A test compares its meaning
 * with nodemailer's composer.
 */
import { textPartOf } from '#src/mail/text-part.ts'
import type { Draft } from './draft.ts'
import type { HeaderField } from '#src/mail/split-message.ts'
import { base64Length, writeBase64 } from './base64-lines.ts'
import { loadOctets } from './octets.ts'

/** The fields that describe a body or a part of it, and its octets: ASCII, CRLF. */
export interface MimeContent {
  readonly fields: readonly HeaderField[]
  readonly body: Buffer
}

export interface BodyTexts {
  readonly text: string
  readonly html: string
}

interface Encoded {
  readonly encoding: '7bit' | 'quoted-printable' | 'base64'
  readonly body: Buffer
}

/** RFC 5322 §2.1.1, without the CRLF. */
const MAX_LINE = 998
const CRLF = Buffer.from('\r\n')

/**
 * The text and the HTML of a message, '' for a missing one; the text is derived from the HTML if only that was given.
 */
export function bodyTextsOf(draft: Pick<Draft, 'html' | 'text'>): BodyTexts {
  const html = draft.html ?? ''
  const given = draft.text ?? ''
  return { html, text: given === '' && html !== '' ? textPartOf(html) : given }
}

/**
 * Writes the texts of `bodyTextsOf`. `hex` is the message's id: the boundary derives from it, so that a retry gives the
 * same octets.
 */
export function writeContent(texts: BodyTexts, hex: string): MimeContent {
  if (texts.html === '') return single(makeTextPart('text/plain', texts.text))
  // all images: an empty text part is of no use
  if (texts.text === '') return single(makeTextPart('text/html', texts.html))
  return alternative(makeTextPart('text/plain', texts.text), makeTextPart('text/html', texts.html), hex)
}

/** The root of all boundaries of a message: its id, extended until no content contains it. */
export function boundaryRoot(hex: string, contents: readonly (string | Buffer)[]): string {
  let root = hex
  while (contents.some((content) => content.includes(root))) root += '_'
  return root
}

/** A text with the fields that describe it: ASCII and shorter than a line, so there is nothing to encode or fold. */
export function makeTextPart(type: 'text/plain' | 'text/html', text: string): MimeContent {
  const { encoding, body } = encode(text)
  return {
    fields: [
      { name: 'content-type', line: `Content-Type: ${type}; charset=utf-8\r\n` },
      { name: 'content-transfer-encoding', line: `Content-Transfer-Encoding: ${encoding}\r\n` },
    ],
    body,
  }
}

function single(part: MimeContent): MimeContent {
  const endsLine = part.body.length === 0 || part.body.subarray(-2).equals(CRLF)
  return { fields: part.fields, body: endsLine ? part.body : Buffer.concat([part.body, CRLF]) }
}

function alternative(text: MimeContent, html: MimeContent, hex: string): MimeContent {
  const boundary = `=_${boundaryRoot(hex, [text.body, html.body])}`
  const parts = [text, html].flatMap(({ fields, body }) => [
    Buffer.from(`--${boundary}\r\n${fields.map(({ line }) => line).join('')}\r\n`, 'latin1'),
    body,
    CRLF,
  ])
  // with the boundary the line would be too long, so it is folded before it
  const type = { name: 'content-type', line: `Content-Type: multipart/alternative;\r\n boundary="${boundary}"\r\n` }
  return { fields: [type], body: Buffer.concat([...parts, Buffer.from(`--${boundary}--\r\n`)]) }
}

function encode(text: string): Encoded {
  const octets = loadOctets(text)
  const { nonAscii, longest, hasNul, hasFrom } = octets.traits()
  // RFC 2045 §2.7, and nothing that mail servers are known to change ("From " gets a ">" in mailbox files)
  const isSevenBit = nonAscii === 0 && !hasNul && !hasFrom && longest <= MAX_LINE
  if (isSevenBit) return { encoding: '7bit', body: Buffer.from(octets.lines()) }
  const isMostlyNonAscii = nonAscii * 2 > Buffer.byteLength(text)
  if (isMostlyNonAscii) return { encoding: 'base64', body: wrapBase64(octets.lines()) }
  return { encoding: 'quoted-printable', body: Buffer.from(octets.quoted()) }
}

function wrapBase64(octets: Buffer): Buffer {
  const out = Buffer.allocUnsafe(base64Length(octets))
  writeBase64(octets, out, 0)
  return out
}
