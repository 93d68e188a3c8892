/**
 * The attachments of a send: strict base64, decoded once; sanitised filenames; types and content ids that are valid in
 * MIME headers.
 */
import { z } from 'zod'
import type { Attachment } from '#src/messages/submission.ts'

const MAX_ATTACHMENTS = 100
const MAX_NAME_BYTES = 200
const TOKEN = "[A-Za-z0-9!#$&^_.+'-]{1,100}"
const PARAMETER = `\\s*;\\s*[A-Za-z0-9_-]{1,40}=(?:[A-Za-z0-9!#$&^_.+:/'-]{1,100}|"[A-Za-z0-9!#$&^_.+:/ '-]{0,100}")`
/** Excludes multipart/*, which must not be base64-encoded (RFC 2046 §5.1). */
const CONTENT_TYPE = new RegExp(`^(?!multipart/)${TOKEN}/${TOKEN}(?:${PARAMETER}){0,8}$`, 'i')
const CONTENT_ID = /^<?([\w.!#$%&'*+/=?^`{|}~@-]{1,200})>?$/

const attachment = z
  .object({
    filename: z.string().nullish(),
    content: z.string().meta({ contentEncoding: 'base64' }),
    content_type: z.string().regex(CONTENT_TYPE, 'must be a media type such as application/pdf').nullish(),
    contentType: z
      .string()
      .regex(CONTENT_TYPE, 'must be a media type such as application/pdf')
      .nullish()
      .meta({ description: 'alias of content_type' }),
    content_id: z.string().regex(CONTENT_ID, 'must be letters, digits and .-_@ without spaces').nullish(),
  })
  .transform((raw, sink): Attachment => {
    const content = decodeBase64(raw.content)
    if (content === null) sink.addIssue({ code: 'custom', path: ['content'], message: 'is not valid base64' })
    const contentType = raw.content_type ?? raw.contentType
    return {
      filename: sanitizeFilename(raw.filename ?? ''),
      contentType: contentType ?? guessType(raw.filename ?? ''),
      contentId: CONTENT_ID.exec(raw.content_id ?? '')?.[1] ?? null,
      content: content ?? Buffer.alloc(0),
    }
  })

export const attachments = z
  .array(attachment)
  .max(MAX_ATTACHMENTS, `at most ${MAX_ATTACHMENTS} attachments`)
  .nullish()
  .transform((list) => list ?? [])

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

function guessType(filename: string): string {
  return TYPES_BY_EXTENSION[/\.([a-z0-9]+)$/i.exec(filename)?.[1]?.toLowerCase() ?? ''] ?? 'application/octet-stream'
}
