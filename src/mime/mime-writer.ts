/**
 * The body of a message without attachments: text, HTML, or both as multipart/alternative, with CRLF line ends, in
 * UTF-8. Each part has the simplest transfer encoding: 7bit where the text can travel unchanged, else quoted-printable,
 * or base64 where most of it is not ASCII. The output is always ASCII. A test compares its meaning with nodemailer's
 * composer.
 */
import { textPartOf } from '#src/mail/text-part.ts'
import type { Part, ReadyPiece } from './body-pieces.ts'
import type { Draft } from './draft.ts'
import { loadOctets } from './octets.ts'

type ReadyPart = Part<ReadyPiece>

export interface BodyTexts {
  readonly text: string
  readonly html: string
}

interface Encoded {
  readonly encoding: '7bit' | 'quoted-printable' | 'base64'
  readonly octets: Buffer
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
 * same octets. The pieces are valid until octets are loaded again (octets.ts).
 */
export function writeContent(texts: BodyTexts, hex: string): ReadyPart {
  if (texts.html === '') return single(makeTextPart('text/plain', texts.text))
  // all images: an empty text part is of no use
  if (texts.text === '') return single(makeTextPart('text/html', texts.html))
  const text = makeTextPart('text/plain', texts.text)
  return alternative(
    { fields: text.fields, octets: Buffer.from(text.octets) },
    makeTextPart('text/html', texts.html),
    hex,
  )
}

/** The root of all boundaries of a message: its id, extended until no content contains it. */
export function boundaryRoot(hex: string, contents: readonly (string | Buffer)[]): string {
  let root = hex
  while (contents.some((content) => content.includes(root))) root += '_'
  return root
}

interface TextPart extends Pick<Part, 'fields'> {
  readonly octets: Buffer
}

/**
 * A text with the fields that describe it: ASCII and shorter than a line, so there is nothing to encode or fold. The
 * octets are valid until others are loaded (octets.ts).
 */
export function makeTextPart(type: 'text/plain' | 'text/html', text: string): TextPart {
  const { encoding, octets } = encode(text)
  return {
    fields: [
      { name: 'content-type', line: `Content-Type: ${type}; charset=utf-8\r\n` },
      { name: 'content-transfer-encoding', line: `Content-Transfer-Encoding: ${encoding}\r\n` },
    ],
    octets,
  }
}

function single({ fields, octets }: TextPart): ReadyPart {
  const endsLine = octets.length === 0 || octets.subarray(-2).equals(CRLF)
  return { fields, pieces: endsLine ? [octets] : [octets, CRLF] }
}

function alternative(text: TextPart, html: TextPart, hex: string): ReadyPart {
  const boundary = `=_${boundaryRoot(hex, [text.octets, html.octets])}`
  const parts = [text, html].flatMap(({ fields, octets }) => [
    `--${boundary}\r\n${fields.map(({ line }) => line).join('')}\r\n`,
    octets,
    CRLF,
  ])
  // with the boundary the line would be too long, so it is folded before it
  const type = { name: 'content-type', line: `Content-Type: multipart/alternative;\r\n boundary="${boundary}"\r\n` }
  return { fields: [type], pieces: [...parts, `--${boundary}--\r\n`] }
}

function encode(text: string): Encoded {
  const octets = loadOctets(text)
  const { nonAscii, longest, hasNul, hasFrom } = octets.traits()
  // RFC 2045 §2.7, and nothing that mail servers are known to change ("From " gets a ">" in mailbox files)
  const isSevenBit = nonAscii === 0 && !hasNul && !hasFrom && longest <= MAX_LINE
  if (isSevenBit) return { encoding: '7bit', octets: octets.lines() }
  const isMostlyNonAscii = nonAscii * 2 > Buffer.byteLength(text)
  if (isMostlyNonAscii) return { encoding: 'base64', octets: loadOctets(octets.lines()).base64() }
  return { encoding: 'quoted-printable', octets: octets.quoted() }
}
