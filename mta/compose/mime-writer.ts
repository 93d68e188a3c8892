/**
 * The body of a message without attachments, written directly: text, HTML, or both as multipart/alternative. A test
 * compares its meaning with nodemailer's composer.
 */
import { textFromHtml } from '#src/mail/html-text.ts'
import type { Draft, HeaderField } from './draft.ts'
import { makeTextPart, withCrlf } from './text-part.ts'
import type { TextPart } from './text-part.ts'
import { makeField } from './field.ts'

/** The fields that describe a body, and the body: ASCII, CRLF. */
export interface MimeContent {
  readonly fields: readonly HeaderField[]
  readonly body: string
}

export interface BodyTexts {
  readonly text: string
  readonly html: string
}

/**
 * The text and the HTML of a message, '' for a missing one; the text is derived from the HTML if only that was given.
 */
export function bodyTextsOf(draft: Pick<Draft, 'html' | 'text'>): BodyTexts {
  const html = draft.html ?? ''
  const given = draft.text ?? ''
  return { html: withCrlf(html), text: withCrlf(given === '' && html !== '' ? textFromHtml(html) : given) }
}

/** `hex` is the message's id: the boundary derives from it, so that a retry gives the same octets. */
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

function single(part: TextPart): MimeContent {
  const endsLine = part.body === '' || part.body.endsWith('\r\n')
  return { fields: part.fields, body: endsLine ? part.body : `${part.body}\r\n` }
}

function alternative(text: TextPart, html: TextPart, hex: string): MimeContent {
  const boundary = `=_${boundaryRoot(hex, [text.body, html.body])}`
  const parts = [text, html].map(
    (part) => `--${boundary}\r\n${part.fields.map((field) => field.line).join('')}\r\n${part.body}\r\n`,
  )
  const type = makeField('Content-Type', `multipart/alternative; boundary="${boundary}"`)
  return { fields: [type], body: `${parts.join('')}--${boundary}--\r\n` }
}
