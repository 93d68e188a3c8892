/**
 * The attachments of a send: strict base64, decoded once, or a URL that `load-attachments.ts` fetches; sanitised
 * filenames; types and content ids that are valid in MIME headers.
 */
import { z } from 'zod'
import type { Attachment } from '#src/messages/submission.ts'
import type { DownloadedFile } from '#src/net/file-downloads.ts'

const MAX_ATTACHMENTS = 100
const MAX_NAME_BYTES = 200
const TOKEN = "[A-Za-z0-9!#$&^_.+'-]{1,100}"
const PARAMETER = `\\s*;\\s*[A-Za-z0-9_-]{1,40}=(?:[A-Za-z0-9!#$&^_.+:/'-]{1,100}|"[A-Za-z0-9!#$&^_.+:/ '-]{0,100}")`
/** Excludes multipart/*, which must not be base64-encoded (RFC 2046 §5.1). */
const CONTENT_TYPE = new RegExp(`^(?!multipart/)${TOKEN}/${TOKEN}(?:${PARAMETER}){0,8}$`, 'i')
const MAX_URL_LENGTH = 2000
const DEFAULT_TYPE = 'application/octet-stream'
const CONTENT_ID = /^<?([\w.!#$%&'*+/=?^`{|}~@-]{1,200})>?$/

const contentType = z.string().regex(CONTENT_TYPE, 'must be a media type such as application/pdf').nullish()
const fileUrl = z.string().max(MAX_URL_LENGTH, `at most ${MAX_URL_LENGTH} characters`).nullish()

/** An attachment whose content is still to be fetched. Without a name or a type, the response decides. */
export interface RemoteAttachment {
  readonly url: string
  readonly filename: string | null
  readonly contentType: string | null
  readonly contentId: string | null
}

export type RequestedAttachment = Attachment | RemoteAttachment

const attachment = z
  .object({
    filename: z.string().nullish(),
    content: z.string().nullish().meta({ contentEncoding: 'base64', description: 'the file; or give its url' }),
    url: fileUrl.meta({ description: 'where to fetch the file when the message is accepted, instead of content' }),
    path: fileUrl.meta({ description: 'alias of url' }),
    content_type: contentType,
    contentType: contentType.meta({ description: 'alias of content_type' }),
    content_id: z.string().regex(CONTENT_ID, 'must be letters, digits and .-_@ without spaces').nullish(),
  })
  .transform((raw, sink): RequestedAttachment => {
    const type = raw.content_type ?? raw.contentType ?? null
    const contentId = CONTENT_ID.exec(raw.content_id ?? '')?.[1] ?? null
    const url = raw.url || raw.path || null
    if (url !== null) {
      const reason = raw.content ? 'cannot be given together with content' : validateUrl(url)
      if (reason !== null) sink.addIssue({ code: 'custom', path: [raw.url ? 'url' : 'path'], message: reason })
      return { url, filename: raw.filename ? sanitizeFilename(raw.filename) : null, contentType: type, contentId }
    }
    const content = decodeContent(raw.content, sink)
    const filename = raw.filename ?? ''
    return {
      filename: sanitizeFilename(filename),
      contentType: type ?? guessType(filename) ?? DEFAULT_TYPE,
      contentId,
      content,
    }
  })

function decodeContent(given: string | null | undefined, sink: z.core.$RefinementCtx): Buffer {
  const content = decodeBase64(given ?? '')
  const reason = given === undefined || given === null ? 'is required, or url' : 'is not valid base64'
  if (content === null || given === undefined || given === null)
    sink.addIssue({ code: 'custom', path: ['content'], message: reason })
  return content ?? Buffer.alloc(0)
}

/** What is wrong with a URL, as far as it is known before it is fetched. */
function validateUrl(text: string): string | null {
  const url = URL.parse(text)
  return url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
    ? null
    : 'must be an http or https URL without user name and password'
}

const givenAttachments = z.array(attachment).max(MAX_ATTACHMENTS, `at most ${MAX_ATTACHMENTS} attachments`).nullish()

export const attachments = givenAttachments.transform((list) => list ?? [])
/** The attachments of a change; null if absent, so that they stay. */
export const changedAttachments = givenAttachments.transform((list) => list ?? null)

/** Standard alphabet and padding (RFC 4648 §4), with or without line breaks. Null if the text is not valid base64. */
export function decodeBase64(text: string): Buffer | null {
  const compact = text.includes('\n') ? text.replace(/\r?\n/g, '') : text
  // Buffer.from skips invalid characters, which the length check at the end finds, and accepts the URL alphabet
  if (compact.length % 4 !== 0 || compact.includes('-') || compact.includes('_')) return null
  const padding = compact.endsWith('==') ? 2 : compact.endsWith('=') ? 1 : 0
  const bytes = Buffer.from(compact, 'base64')
  return bytes.length === (compact.length / 4) * 3 - padding ? bytes : null
}

/** The last segment of a path, without invisible characters and those with a meaning in file systems. Never empty. */
export function sanitizeFilename(name: string): string {
  const last = name.split(/[/\\]/).at(-1) ?? ''
  const visible = last
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}"<>|?*:]/gu, '')
    .replace(/\s+/g, ' ')
    .replace(/^[. ]+|[. ]+$/g, '')
  return shorten(visible) || 'attachment'
}

/** Shortens the part before the extension, between characters. */
function shorten(name: string): string {
  if (Buffer.byteLength(name) <= MAX_NAME_BYTES) return name
  const extension = /\.[A-Za-z0-9]{1,10}$/.exec(name)?.[0] ?? ''
  const stem = Buffer.from(name.slice(0, name.length - extension.length)).subarray(0, MAX_NAME_BYTES - extension.length)
  return stem.toString('utf8').replace(/\uFFFD+$/, '') + extension
}

/** The media type by extension, for attachments without a type. */
const TYPES_BY_EXTENSION: Readonly<Record<string, string>> = {
  pdf: 'application/pdf',
  txt: 'text/plain',
  csv: 'text/csv',
  html: 'text/html',
  htm: 'text/html',
  ics: 'text/calendar',
  xml: 'application/xml',
  json: 'application/json',
  zip: 'application/zip',
  gz: 'application/gzip',
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  svg: 'image/svg+xml',
  mp3: 'audio/mpeg',
  mp4: 'video/mp4',
  rtf: 'application/rtf',
  doc: 'application/msword',
  xls: 'application/vnd.ms-excel',
  ppt: 'application/vnd.ms-powerpoint',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  pptx: 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  odt: 'application/vnd.oasis.opendocument.text',
  vcf: 'text/vcard',
}

function guessType(filename: string): string | null {
  return TYPES_BY_EXTENSION[/\.([a-z0-9]+)$/i.exec(filename)?.[1]?.toLowerCase() ?? ''] ?? null
}

/** The attachment with its fetched file. */
export function completeAttachment(
  { filename, contentType: wanted, contentId }: RemoteAttachment,
  { content, contentType: served, url }: DownloadedFile,
): Attachment {
  const name = filename ?? sanitizeFilename(nameIn(url))
  const isUsable = served !== null && CONTENT_TYPE.test(served)
  return {
    filename: name,
    contentType: wanted ?? guessType(name) ?? (isUsable ? served : DEFAULT_TYPE),
    contentId,
    content,
  }
}

/** The last segment of the path. */
function nameIn(url: string): string {
  const segment = URL.parse(url)?.pathname.split('/').at(-1) ?? ''
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
