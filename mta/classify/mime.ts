/**
 * A tolerant MIME parser for bounces, which come from every kind of mail server and pass through others that truncate,
 * wrap and re-encode them. It parses malformed input as far as possible and never throws. Work and depth are bounded. A
 * part is decoded only on request.
 */
import { type MimeHeaderField, parseHeaderFields } from './header-fields.ts'

export interface MimePart {
  readonly fields: readonly MimeHeaderField[]
  /** Lower case; `text/plain` if the field is missing. */
  readonly type: string
  readonly params: Readonly<Record<string, string>>
  /** The encoded body, one character for each octet. */
  readonly body: string
  /** The parts of a multipart, or the mail inside a message/rfc822. */
  readonly children: readonly MimePart[]
}

const MAX_DEPTH = 8
const MAX_PARTS = 200
/** A report is small; the rest is the returned message. */
const MAX_OCTETS = 512 * 1024
/** Twice the limit of RFC 5322 2.1.1. Longer lines are split to bound the work of the patterns. */
const MAX_LINE = 2000

/** Parses a raw mail. */
export function parseMail(raw: Buffer): MimePart {
  const text = wrapLongLines(raw.subarray(0, MAX_OCTETS).toString('latin1').replace(/\r\n?/g, '\n'))
  return parsePart(text.replace(/^\n+/, ''), 0, { left: MAX_PARTS })
}

function wrapLongLines(text: string): string {
  if (!hasLongLine(text)) return text
  return text
    .split('\n')
    .map((line) => (line.length <= MAX_LINE ? line : wrapLine(line)))
    .join('\n')
}

function hasLongLine(text: string): boolean {
  for (let at = 0, end = 0; end >= 0; at = end + 1) {
    end = text.indexOf('\n', at)
    if ((end < 0 ? text.length : end) - at > MAX_LINE) return true
  }
  return false
}

function wrapLine(line: string): string {
  return Array.from({ length: Math.ceil(line.length / MAX_LINE) }, (_, i) =>
    line.slice(i * MAX_LINE, (i + 1) * MAX_LINE),
  ).join('\n')
}

function parsePart(text: string, depth: number, budget: { left: number }): MimePart {
  const { fields, rest: body } = parseHeaderFields(text)
  const { type, params } = parseContentType(fieldValue(fields, 'content-type'))
  return {
    fields,
    type,
    params,
    body,
    children: depth < MAX_DEPTH ? parseChildren(type, params, body, { depth: depth + 1, budget }) : [],
  }
}

interface ParseBudget {
  readonly depth: number
  readonly budget: { left: number }
}

function parseChildren(
  type: string,
  params: MimePart['params'],
  body: string,
  { depth, budget }: ParseBudget,
): MimePart[] {
  if (type === 'message/rfc822' || type === 'message/global')
    return [parsePart(body.replace(/^\n+/, ''), depth, budget)]
  const boundary = chooseBoundary(type, params, body)
  if (boundary === null) return []
  const pieces = splitAtBoundary(body, boundary, budget.left)
  budget.left -= pieces.length
  return pieces.map((piece) => parsePart(piece, depth, budget))
}

/** The boundary from the header. If it is missing or not in the body, the first line that looks like a boundary. */
function chooseBoundary(type: string, params: MimePart['params'], body: string): string | null {
  const declared = params['boundary']
  if (declared !== undefined && (body.startsWith(`--${declared}`) || body.includes(`\n--${declared}`))) return declared
  const isPlain = type.startsWith('text/') && declared === undefined
  if (isPlain && !/^(?:This is a|[^\n]*MIME)[^\n]*\n/i.test(body) && !body.startsWith('--')) return null
  return /(?:^|\n)--([^\s]{8,200}[^\s-]|[^\s]{8,200})\nContent-[A-Z][\w-]*:/i.exec(body)?.[1] ?? null
}

/** Splits a body at its boundary lines into at most `maxPieces`. The last piece may lack its closing boundary. */
function splitAtBoundary(body: string, boundary: string, maxPieces: number): string[] {
  const pieces: string[] = []
  let begin: number | null = null
  for (const { at, end, isLast } of findBoundaryLines(body, `--${boundary}`)) {
    if (begin !== null) pieces.push(body.slice(begin, Math.max(begin, at - 1)))
    if (pieces.length >= maxPieces) return pieces
    begin = isLast ? null : end + 1
  }
  if (begin !== null && pieces.length < maxPieces) pieces.push(body.slice(begin))
  return pieces
}

/** Finds the lines that consist of the mark, with or without a final `--`. */
function* findBoundaryLines(
  body: string,
  mark: string,
): Generator<{ readonly at: number; readonly end: number; readonly isLast: boolean }> {
  for (let at = body.startsWith(mark) ? 0 : findLineStart(body, mark, 0); at >= 0;) {
    const next = body.indexOf('\n', at)
    const end = next < 0 ? body.length : next
    const tail = body.slice(at + mark.length, end).trimEnd()
    if (tail === '' || tail === '--') yield { at, end, isLast: tail === '--' }
    at = next < 0 ? -1 : findLineStart(body, mark, next)
  }
}

/** The position of the next line that starts with the mark; -1 if there is none. */
function findLineStart(body: string, mark: string, from: number): number {
  const at = body.indexOf(`\n${mark}`, from)
  return at < 0 ? -1 : at + 1
}

/** The unfolded value of the first field with this name. */
export function fieldValue(fields: readonly MimeHeaderField[], name: string): string | null {
  return fields.find((field) => field.name === name)?.value ?? null
}

function parseContentType(value: string | null): { type: string; params: Record<string, string> } {
  const [first = '', ...rest] = (value ?? '').split(';')
  const type = first.trim().toLowerCase()
  const params: Record<string, string> = {}
  for (const [, name = '', quoted, bare] of rest
    .join(';')
    .matchAll(/([\w*-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;]+))/g))
    params[name.toLowerCase()] ??= quoted?.replace(/\\(.)/g, '$1') ?? bare ?? ''
  return { type: /^[\w.+-]+\/[\w.+-]+$/.test(type) ? type : 'text/plain', params }
}

/** All parts, outer before inner. */
export function* walkParts(part: MimePart): Generator<MimePart> {
  yield part
  for (const child of part.children) yield* walkParts(child)
}

/** Finds the parts of a type in the mail itself; if it has none, in a mail within it. */
export function findParts(mail: MimePart, type: RegExp): MimePart[] {
  const own = [...walkOuterParts(mail)].filter((part) => type.test(part.type))
  return own.length > 0 ? own : [...walkParts(mail)].filter((part) => type.test(part.type))
}

function* walkOuterParts(part: MimePart): Generator<MimePart> {
  yield part
  if (part.type.startsWith('message/')) return
  for (const child of part.children) yield* walkOuterParts(child)
}

/** Decodes transfer encoding and charset of a part. Lines end with LF. HTML is not converted. */
export function decodeText(part: MimePart): string {
  const encoding = (fieldValue(part.fields, 'content-transfer-encoding') ?? '').trim().toLowerCase()
  const octets = TRANSFER_DECODERS.get(encoding)?.(part.body) ?? Buffer.from(part.body, 'latin1')
  return wrapLongLines(decodeCharset(octets, part.params['charset']).replace(/\r\n?/g, '\n'))
}

const TRANSFER_DECODERS: ReadonlyMap<string, (text: string) => Buffer> = new Map([
  ['base64', (text: string) => Buffer.from(text, 'base64')],
  [
    'quoted-printable',
    (text: string) =>
      Buffer.from(text.replace(/[ \t]*=[ \t]*\n/g, '').replace(/=([0-9A-F]{2})/gi, decodeHexOctet), 'latin1'),
  ],
])

function decodeHexOctet(_: string, hex: string): string {
  return String.fromCharCode(Number.parseInt(hex, 16))
}

function decodeCharset(octets: Buffer, charset: string | undefined): string {
  for (const label of [charset ?? 'utf-8', 'utf-8']) {
    try {
      return new TextDecoder(label, { fatal: true }).decode(octets)
    } catch {
      // unknown charset or invalid octets: try the next
    }
  }
  return octets.toString('latin1')
}
