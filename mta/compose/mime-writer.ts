/**
 * The body of a message without attachments, put together by hand: text, HTML, or both
 * as multipart/alternative. A test holds its meaning against nodemailer's composer.
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

/** The two readings of a message, '' for one that it does not have; the text is made from the HTML where only that was given. */
export function bodyTextsOf(draft: Pick<Draft, 'html' | 'text'>): BodyTexts {
  const html = draft.html ?? ''
  const given = draft.text ?? ''
  return { html: withCrlf(html), text: withCrlf(given === '' && html !== '' ? textFromHtml(html) : given) }
}

/** `hex` is the message's id: the boundary comes from it, so that a retry makes the same bytes. */
export function writeContent(texts: BodyTexts, hex: string): MimeContent {
  if (texts.html === '') return single(makeTextPart('text/plain', texts.text))
  if (texts.text === '') return single(makeTextPart('text/html', texts.html)) // all images: an empty text part would help nobody
  return alternative(makeTextPart('text/plain', texts.text), makeTextPart('text/html', texts.html), hex)
}

/** What all boundaries of a message are made from: its id, grown until none of the contents holds it. */
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
