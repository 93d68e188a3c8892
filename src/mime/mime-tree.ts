/**
 * The body of a message with attachments: mixed, alternative and related parts, files in base64, names as
 * `content-disposition.ts` writes them. `body-pieces.ts` joins its pieces, and `compose.ts` writes the header. A test
 * compares the meaning with nodemailer's composer.
 */
import { isUtf8 } from 'node:buffer'
import type { Part } from './body-pieces.ts'
import { dispositionOf, type DispositionType } from './content-disposition.ts'
import type { DraftAttachment } from './draft.ts'
import { encodeWords, isPlain, makeField } from './field.ts'
import { boundaryRoot, makeTextPart, type BodyTexts } from './mime-writer.ts'
import { loadOctets } from './octets.ts'

interface File extends DraftAttachment {
  /** It is sent as it is, and not in base64. */
  readonly isUnencoded: boolean
}

/** RFC 2045 §5.1, with parameters that are not checked. */
const CONTENT_TYPE = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}(?:\s*;[\x20-\x7e]*)?$/
const MESSAGE_TYPE = /^message\//i
const UNKNOWN_TYPE = 'application/octet-stream'
const TOKEN = /^[\w!#$&^.+-]+$/
const MAX_LINE = 998
const CONTROLS = /\p{Cc}/gu
/** The longest name that goes unencoded into the Content-Type. */
const MAX_NAME = 200
const NAME_WIDTH = 60
/** Of files without a name. */
const EXTENSIONS: ReadonlyMap<string, string> = new Map([
  ['application/pdf', 'pdf'],
  ['image/png', 'png'],
  ['image/jpeg', 'jpg'],
  ['image/gif', 'gif'],
  ['text/plain', 'txt'],
  ['text/html', 'html'],
  ['text/csv', 'csv'],
  ['text/calendar', 'ics'],
])

/** Builds the body. `hex` is the message's id, of which the boundaries are made. */
export function buildContent(texts: BodyTexts, files: readonly DraftAttachment[], hex: string): Part {
  const safeFiles = files.map((file, i): File => ({ ...file, filename: nameOf(file, i), ...safeContent(file) }))
  const [related, mixed] = [[] as Part[], [] as Part[]]
  for (const file of safeFiles) {
    const contentId = contentIdOf(file)
    // only files that the HTML shows are related to it: any other related file would be invisible
    const isShown = contentId !== '' && isMentioned(contentId, texts.html)
    ;(isShown ? related : mixed).push(makeFilePart(file, contentId, isShown ? 'inline' : 'attachment'))
  }
  // a text always precedes the files, even if empty: some clients show a message of only a file badly
  const text = texts.text === '' && texts.html === '' ? '\r\n' : texts.text
  const [textPart, htmlPart] = [textPartOf('text/plain', text), textPartOf('text/html', texts.html)]
  // base64 cannot contain a boundary
  const readable = [...textPart, ...htmlPart, ...mixed, ...related].flatMap(({ pieces }) =>
    pieces.filter((piece) => typeof piece === 'string' || Buffer.isBuffer(piece)),
  )
  const makeMultipart = createMultiparts(boundaryRoot(hex, readable))
  const html = related.length === 0 ? htmlPart : [makeMultipart('related; type="text/html"', [...htmlPart, ...related])]
  const content =
    textPart.length + html.length > 1 ? [makeMultipart('alternative', [...textPart, ...html])] : [...textPart, ...html]
  const [only] = content
  return mixed.length === 0 && only !== undefined ? only : makeMultipart('mixed', [...content, ...mixed])
}

function textPartOf(type: 'text/plain' | 'text/html', text: string): Part[] {
  if (text === '') return []
  const { fields, octets } = makeTextPart(type, text)
  return [{ fields, pieces: [Buffer.from(octets)] }]
}

function makeFilePart(file: File, contentId: string, type: DispositionType): Part {
  const { contentType, filename, content, isUnencoded } = file
  const fields = [
    makeField('Content-Type', `${contentType}; name=${parameterOf(filename)}`),
    ...(contentId === '' ? [] : [makeField('Content-ID', `<${contentId}>`)]),
    makeField('Content-Transfer-Encoding', isUnencoded ? '7bit' : 'base64'),
    { name: 'content-disposition', line: `Content-Disposition: ${dispositionOf(type, filename)}\r\n` },
  ]
  return { fields, pieces: [isUnencoded ? content : { file: content }] }
}

/** Old clients read the name here. Encoded words in a quoted string break the rules, and are what they understand. */
function parameterOf(filename: string): string {
  if (TOKEN.test(filename) && filename.length <= MAX_NAME) return filename
  if (isPlain(filename) && filename.length <= MAX_NAME) return `"${filename.replace(/[\\"]/g, '\\$&')}"`
  return `"${encodeWords(filename, NAME_WIDTH)}"`
}

function nameOf({ filename, contentType }: DraftAttachment, index: number): string {
  const name = filename.replace(CONTROLS, '').toWellFormed()
  const extension = EXTENSIONS.get(/^[^;\s]*/.exec(contentType.toLowerCase())?.[0] ?? '') ?? 'bin'
  return name === '' ? `attachment-${index + 1}.${extension}` : name
}

/** Without brackets, white space and controls; anything beyond ASCII is percent-encoded, as in the URL (RFC 2392). */
function contentIdOf({ contentId }: DraftAttachment): string {
  return (contentId ?? '')
    .replace(/[\s<>\p{Cc}]/gu, '')
    .toWellFormed()
    .replace(/[^!-~]+/gu, encodeURIComponent)
}

function isMentioned(contentId: string, html: string): boolean {
  const forms = [contentId, encodeURIComponent(contentId), decode(contentId)]
  return forms.some((form) => html.includes(`cid:${form}`))
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Makes multiparts, each with a boundary of its own, none of which begins another. */
function createMultiparts(root: string): (subtype: string, parts: readonly Part[]) => Part {
  let count = 0
  return (subtype, parts) => {
    const boundary = `=_-${root}-Part_${++count}`
    const line = `Content-Type: multipart/${subtype};\r\n boundary="${boundary}"\r\n`
    const pieces = parts.flatMap((part) => [
      `--${boundary}\r\n${part.fields.map((field) => field.line).join('')}\r\n`,
      ...part.pieces,
      '\r\n',
    ])
    return { fields: [{ name: 'content-type', line }], pieces: [...pieces, `--${boundary}--\r\n`] }
  }
}

/**
 * A part of type multipart or message must be valid and unencoded (RFC 2046 §5.2.1); any other goes as a plain file. A
 * text without a charset would be read as US-ASCII (RFC 2046 §4.1.2), a calendar in the charset of the reader.
 */
function safeContent(file: DraftAttachment): Pick<File, 'contentType' | 'content' | 'isUnencoded'> {
  const { contentType, content } = file
  if (!CONTENT_TYPE.test(contentType) || /^multipart\//i.test(contentType))
    return { contentType: UNKNOWN_TYPE, content, isUnencoded: false }
  if (lacksCharset(contentType) && isUtf8(content))
    return { contentType: `${contentType.replace(/[\s;]+$/, '')}; charset=utf-8`, content, isUnencoded: false }
  if (!MESSAGE_TYPE.test(contentType)) return { contentType, content, isUnencoded: false }
  const octets = loadOctets(content)
  const { nonAscii, longest, hasNul } = octets.traits()
  const mayTravel = nonAscii === 0 && !hasNul && longest <= MAX_LINE
  return mayTravel
    ? { contentType, content: Buffer.from(octets.lines()), isUnencoded: true }
    : { contentType: UNKNOWN_TYPE, content, isUnencoded: false }
}

function lacksCharset(contentType: string): boolean {
  return /^text\//i.test(contentType) && !/;\s*charset\s*=/i.test(contentType)
}
