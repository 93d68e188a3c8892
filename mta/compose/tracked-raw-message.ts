/**
 * Tracking in a complete message of a client: changes the link targets in its HTML parts, adds an image, and leaves
 * every other octet unchanged. A part stays unchanged where an edit is not safe: signed or encrypted (only mixed,
 * alternative and related are searched), attached, in a charset that is no superset of ASCII, in an unknown encoding,
 * or with lines that would become too long.
 */
import { isUtf8 } from 'node:buffer'
import { editsOf, type HtmlEdit, type TrackingMarkup } from '#src/tracking/html-tracking.ts'
import { type HeaderField, splitMessage } from '#src/mail/split-message.ts'
import { decodePart } from './tracked-part.ts'

const OPEN_TYPES: ReadonlySet<string> = new Set(['multipart/mixed', 'multipart/alternative', 'multipart/related'])
const MAX_DEPTH = 8
const MAX_PARTS = 100
/** Octets below 128 are ASCII in all of these. */
const ASCII_SUPERSET = /^(?:iso-8859-\d{1,2}|windows-125\d|koi8-[ru])$/

interface Entity {
  readonly type: string
  readonly params: Readonly<Record<string, string>>
  readonly encoding: string
  readonly isAttached: boolean
  /** Octets of the message. */
  readonly from: number
  readonly to: number
}

export function trackRaw(raw: Buffer, marks: TrackingMarkup): Buffer {
  const edits: HtmlEdit[] = []
  let { pixel } = marks
  for (const entity of listHtml(raw)) {
    const found = editsOfPart(raw, entity, { pixel, link: marks.link })
    if (found.length > 0) pixel = null // one image for the whole message
    edits.push(...found)
  }
  return edits.length === 0 ? raw : applyToOctets(raw, edits)
}

function applyToOctets(raw: Buffer, edits: readonly HtmlEdit[]): Buffer {
  const pieces: Buffer[] = []
  let at = 0
  for (const { from, to, text } of edits) {
    pieces.push(raw.subarray(at, from), Buffer.from(text, 'latin1'))
    at = to
  }
  return Buffer.concat([...pieces, raw.subarray(at)])
}

function editsOfPart(raw: Buffer, { params, encoding, from, to }: Entity, marks: TrackingMarkup): HtmlEdit[] {
  const charset = (params['charset'] ?? 'us-ascii').toLowerCase()
  const readValue = readerOf(charset)
  const part = readValue === null ? null : decodePart(raw.subarray(from, to), encoding)
  if (readValue === null || part === null) return []
  const edits = part.toOctetEdits(editsOf(part.html, marks, readValue))
  return edits.map((edit) => ({ ...edit, from: edit.from + from, to: edit.to + from }))
}

/** Null for a charset that is no superset of ASCII. */
function readerOf(charset: string): ((value: string) => string | null) | null {
  if (charset === 'utf-8' || charset === 'us-ascii') return readUtf8
  return ASCII_SUPERSET.test(charset) ? (value) => (isAscii(value) ? value : null) : null
}

function readUtf8(value: string): string | null {
  const octets = Buffer.from(value, 'latin1')
  return isUtf8(octets) ? octets.toString('utf8') : null
}

function isAscii(text: string): boolean {
  return Buffer.byteLength(text) === text.length
}

/** The HTML parts that are shown, in order. */
function listHtml(raw: Buffer): Entity[] {
  const found: Entity[] = []
  let left = MAX_PARTS
  const visit = (from: number, to: number, depth: number): void => {
    const entity = left-- > 0 ? readEntity(raw, from, to) : null
    if (entity === null || entity.isAttached) return
    if (entity.type === 'text/html') found.push(entity)
    else if (OPEN_TYPES.has(entity.type) && depth < MAX_DEPTH)
      for (const [childFrom, childTo] of listChildren(raw, entity)) visit(childFrom, childTo, depth + 1)
  }
  visit(0, raw.length, 0)
  return found
}

/** Null if its header has one of these fields twice. */
function readEntity(raw: Buffer, from: number, to: number): Entity | null {
  const { fields, head } = splitMessage(raw.subarray(from, to))
  const [type, encoding, disposition] = ['content-type', 'content-transfer-encoding', 'content-disposition'].map(
    (name) => valueOf(fields, name),
  )
  if (type === null || encoding === null || disposition === null) return null
  const [name = ''] = (type ?? 'text/plain').split(';', 1)
  return {
    type: name.trim().toLowerCase(),
    params: paramsOf(type ?? ''),
    encoding: (encoding ?? '7bit').toLowerCase(),
    isAttached: /^attachment\b/i.test(disposition ?? ''),
    from: from + head.length,
    to,
  }
}

/** Undefined if the field is missing, null if it occurs twice. */
function valueOf(fields: readonly HeaderField[], wanted: string): string | null | undefined {
  const [field, ...others] = fields.filter(({ name }) => name === wanted)
  if (others.length > 0) return null
  return field?.line
    .slice(field.line.indexOf(':') + 1)
    .replaceAll(/\r?\n/g, '')
    .trim()
}

const PARAM = /;\s*([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))/g

function paramsOf(value: string): Record<string, string> {
  const params: Record<string, string> = {}
  for (const [, name = '', quoted, plain = ''] of value.matchAll(PARAM))
    params[name.toLowerCase()] ??= quoted?.replaceAll(/\\(.)/g, '$1') ?? plain
  return params
}

const LF = 10
const CR = 13

/** From and to of each part (RFC 2046 5.1.1): the line end before a delimiter belongs to the delimiter. */
function listChildren(raw: Buffer, { params, from, to }: Entity): [number, number][] {
  const { boundary } = params
  if (boundary === undefined || boundary === '') return []
  const children: [number, number][] = []
  let partStart = -1
  for (
    let at = findDelimiter(raw, boundary, { from, to });
    at !== null;
    at = findDelimiter(raw, boundary, { from: at.to, to })
  ) {
    if (partStart >= 0) children.push([partStart, Math.max(partStart, endBefore(raw, at.from))])
    partStart = at.isLast ? -1 : at.to
    if (at.isLast || children.length > MAX_PARTS) return children
  }
  if (partStart >= 0) children.push([partStart, to])
  return children
}

interface Delimiter {
  readonly from: number
  readonly to: number
  readonly isLast: boolean
}

function findDelimiter(
  raw: Buffer,
  boundary: string,
  { from, to }: { readonly from: number; readonly to: number },
): Delimiter | null {
  const wanted = Buffer.from(`--${boundary}`, 'latin1')
  for (let at = raw.indexOf(wanted, from); at >= 0 && at < to; at = raw.indexOf(wanted, at + 1)) {
    if (at > from && raw[at - 1] !== LF) continue
    const lineEnd = raw.indexOf(LF, at)
    const next = lineEnd < 0 || lineEnd >= to ? to : lineEnd + 1
    const rest = /^(--)?[ \t]*\r?\n?$/.exec(
      raw.toString('latin1', at + wanted.length, Math.min(next, at + wanted.length + 100)),
    )
    if (rest !== null) return { from: at, to: next, isLast: rest[1] !== undefined }
  }
  return null
}

function endBefore(raw: Buffer, delimiter: number): number {
  const end = raw[delimiter - 1] === LF ? delimiter - 1 : delimiter
  return raw[end - 1] === CR ? end - 1 : end
}
