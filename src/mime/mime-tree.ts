/**
 * The body of a message with attachments, built by nodemailer's composer: mixed, alternative and related parts, files
 * in base64, names as `content-disposition.ts` writes them. The composer gets strings and buffers only and may neither
 * read files nor fetch addresses. `compose.ts` writes the header.
 */
import { isUtf8 } from 'node:buffer'
import { Readable } from 'node:stream'
import MailComposer from 'nodemailer/lib/mail-composer'
import type MimeNode from 'nodemailer/lib/mime-node'
import { dispositionOf } from './content-disposition.ts'
import type { DraftAttachment } from './draft.ts'
import { type HeaderField, splitMessage } from '#src/mail/split-message.ts'
import { boundaryRoot, withCrlf } from './mime-writer.ts'
import type { BodyTexts } from './mime-writer.ts'

interface MimeTree {
  readonly fields: readonly HeaderField[]
  readonly body: Buffer
}

/** RFC 2045 §5.1, with parameters that are not checked. */
const CONTENT_TYPE = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}(?:\s*;[\x20-\x7e]*)?$/
const MESSAGE_TYPE = /^message\//i
const UNKNOWN_TYPE = 'application/octet-stream'
const MAX_LINE = 998
const SLICE = 64 * 1024
const CONTROLS = /\p{Cc}/gu

export async function buildContent(
  texts: BodyTexts,
  files: readonly DraftAttachment[],
  hex: string,
): Promise<MimeTree> {
  const safeFiles = files.map((file) => ({ ...file, ...safeContent(file) }))
  // Base64 cannot contain a boundary; texts and messages may.
  const unencoded = safeFiles.filter(({ contentType }) => MESSAGE_TYPE.test(contentType)).map(({ content }) => content)
  const mail = new MailComposer({
    // A text always precedes the files, even if empty: some clients show a message of only a file badly.
    text: texts.text === '' && texts.html === '' ? '\r\n' : texts.text,
    html: texts.html,
    attachments: safeFiles.map((file) => describe(file, texts.html)),
    baseBoundary: boundaryRoot(hex, [texts.text, texts.html, ...unencoded]),
    boundaryPrefix: '=_',
    // Only Content-* of its header is used; these values avoid a clock and random values in the rest.
    messageId: `<${hex}>`,
    date: new Date(0),
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  const tree = mail.compile()
  nameFiles(tree)
  const { fields, body } = splitMessage(await tree.build())
  return { fields: fields.filter((field) => field.name.startsWith('content-')), body }
}

function describe({ contentType, content: octets, ...file }: DraftAttachment, html: string) {
  // In slices, so that encoding a large file does not block the event loop.
  const content = octets.length > SLICE ? Readable.from(slices(octets)) : octets
  const filename = file.filename.replace(CONTROLS, '').toWellFormed()
  const cid = (file.contentId ?? '').replace(/[\s<>\p{Cc}]/gu, '')
  // Only files that the HTML shows are related to it: any other related file would be invisible.
  const isShown = cid !== '' && (html.includes(`cid:${cid}`) || html.includes(`cid:${encodeURIComponent(cid)}`))
  if (isShown) return { filename, contentType, content, cid, contentDisposition: 'inline' }
  return {
    filename,
    contentType,
    content,
    contentDisposition: 'attachment',
    headers: cid === '' ? {} : { 'Content-ID': `<${cid}>` },
  }
}

/** Writes the names of the files, which the composer would write in RFC 2231 only. */
function nameFiles(node: MimeNode): void {
  for (const child of node.childNodes) nameFiles(child)
  if (node.filename === undefined) return
  const type = node.getHeader('Content-Disposition') === 'inline' ? 'inline' : 'attachment'
  node.setHeader('Content-Disposition', { prepared: true, value: dispositionOf(type, node.filename) })
}

function* slices(octets: Buffer): Generator<Buffer> {
  for (let from = 0; from < octets.length; from += SLICE) yield octets.subarray(from, from + SLICE)
}

/**
 * A part of type multipart or message must be valid and unencoded (RFC 2046 §5.2.1); any other goes as a plain file. A
 * text without a charset would be read as US-ASCII (RFC 2046 §4.1.2), a calendar in the charset of the reader.
 */
function safeContent(file: DraftAttachment): Pick<DraftAttachment, 'contentType' | 'content'> {
  const { contentType, content } = file
  if (!CONTENT_TYPE.test(contentType) || /^multipart\//i.test(contentType))
    return { contentType: UNKNOWN_TYPE, content }
  if (lacksCharset(contentType) && isUtf8(content))
    return { contentType: `${contentType.replace(/[\s;]+$/, '')}; charset=utf-8`, content }
  if (!MESSAGE_TYPE.test(contentType)) return { contentType, content }
  const text = withCrlf(content.toString('latin1'))
  const isAscii = Buffer.byteLength(text) === text.length
  const mayTravel = isAscii && !text.includes('\0') && text.split('\r\n').every((line) => line.length <= MAX_LINE)
  return mayTravel ? { contentType, content: Buffer.from(text, 'latin1') } : { contentType: UNKNOWN_TYPE, content }
}

function lacksCharset(contentType: string): boolean {
  return /^text\//i.test(contentType) && !/;\s*charset\s*=/i.test(contentType)
}
