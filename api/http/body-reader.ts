/**
 * Collects the bytes of a body, after a check of its media type and size. Every problem is returned as a refusal. For
 * CSV and TLS reports only the headers are checked; the handler reads the stream.
 *
 * The bytes are collected unchanged (`body-collector.ts`), so invalid UTF-8 can be refused and is not replaced by
 * U+FFFD; then `gzip.ts` decompresses them. Large bodies share a memory budget (`body-budget.ts`), counted as
 * decompressed; beyond it a request gets 503 with Retry-After. A client may disconnect at any time, also before its
 * body is read.
 */
import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import type Koa from 'koa'
import type { Config } from '#config/load.ts'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import { maxOctets } from '#src/submission/message-octets.ts'
import { gunzipBytes, gunzipStream, type GunzipProblem } from './gzip.ts'
import { createBodyBudget, type BodyMemory } from './body-budget.ts'
import { collectBody } from './body-collector.ts'
import type { BodyKind } from './route.ts'

export type BodyResult = CollectedBody | { readonly ok: false; readonly refusal: Refusal }

export interface CollectedBody {
  readonly ok: true
  readonly kind: BodyKind
  /** Null if the handler reads the body, from `stream`. */
  readonly bytes: Buffer | null
  readonly stream: Readable
  /** JSON or a message that api/large-bodies.ts parses outside of the event loop. */
  readonly isLarge: boolean
  /** What the body holds of the budget. */
  readonly memory: BodyMemory
}

export type BodyReader = (koa: Koa.Context, wanted: BodyOptions) => Promise<BodyResult>

export interface BodyOptions {
  readonly kinds: readonly BodyKind[]
  /** The route needs no key: only a small body is accepted. */
  readonly isUnauthenticated: boolean
}

/** On top of the base64 of the largest message (4 bytes for 3): the other fields, and the escapes of JSON. */
const OVERHEAD_BYTES = 1024 * 1024
/** Smaller bodies do not count towards the budget and are parsed in the event loop, which takes at most 2 or 3 ms. */
const LARGE_BYTES = 256 * 1024
/** JSON of up to this size takes 2 ms, too, if it has hardly any escapes: most of it is a file in base64. */
const MAX_PLAIN_BYTES = 1024 * 1024
const MANY_ESCAPES = 2000
/** The same for values: a schema checks each, so a small body of very many takes longer than a large text. */
const MANY_VALUES = 5000
const COMMA = 0x2c
const BACKSLASH = 0x5c
const BUDGET_BYTES = 256 * 1024 * 1024
/** The limit for forms and for requests without a key. */
const SMALL_BYTES = 64 * 1024
/** The Content-Type of each kind of body. */
const KINDS: Readonly<Record<BodyKind, { readonly type: string; readonly isType: RegExp }>> = {
  json: { type: 'application/json', isType: /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i },
  form: { type: 'application/x-www-form-urlencoded', isType: /^application\/x-www-form-urlencoded\s*(?:;|$)/i },
  multipart: { type: 'multipart/form-data', isType: /^multipart\/form-data\s*;/i },
  message: { type: 'message/rfc822', isType: /^message\/(?:rfc822|global)\s*(?:;|$)/i },
  csv: { type: 'text/csv', isType: /^text\/csv\s*(?:;|$)/i },
  tlsrpt: { type: 'application/tlsrpt+gzip', isType: /^application\/tlsrpt\+(?:gzip|json)\s*(?:;|$)/i },
}
/** The handler of the route reads these. */
const STREAMED_KINDS: readonly BodyKind[] = ['csv', 'tlsrpt']
const OTHER_CHARSET = /;\s*charset\s*=\s*(?!"?(?:utf-?8|us-ascii)\b)/i

type BodyConfig = Pick<Config, 'maxMessageBytes' | 'maxImportBytes'>

export function createBodyReader(config: BodyConfig, budget = createBodyBudget(budgetBytes(config))): BodyReader {
  const limits = limitsOf(config)

  return async (koa, { kinds, isUnauthenticated: isFromAnybody }) => {
    const { req } = koa
    const accepted = validateHeaders(req, kinds, (kind) =>
      isFromAnybody ? SMALL_BYTES : limitFor(kind, kinds, limits),
    )
    if (!accepted.ok) return accepted
    const memory = budget.open(koa.res)
    if (STREAMED_KINDS.includes(accepted.kind))
      return leaveUnread(koa, accepted, memory, config.maxImportBytes + OVERHEAD_BYTES)
    const length = Number(req.headers['content-length'] ?? 0)
    const hasRoom = length > LARGE_BYTES ? memory.reserve(length) : budget.hasRoom(length)
    if (!hasRoom) return { ok: false, refusal: refusalWithoutRoom(memory) }
    if (req.headers['transfer-encoding'] !== undefined) reserveWhileReading(req, memory)
    const collected = await readBody(koa, accepted)
    const bytes =
      collected.ok && accepted.isCompressed ? await decompress(collected.bytes, accepted, memory) : collected
    if (!bytes.ok) return bytes
    const { kind, limit } = accepted
    const isLarge = isLargeKind(kind) && limit > SMALL_BYTES && isExpensive(kind, bytes.bytes)
    return { ok: true, kind, bytes: bytes.bytes, isLarge, memory, stream: req }
  }
}

function budgetBytes(config: BodyConfig): number {
  return Math.max(BUDGET_BYTES, ...Object.values(limitsOf(config)))
}

type BytesResult = { readonly ok: true; readonly bytes: Buffer } | { readonly ok: false; readonly refusal: Refusal }

async function decompress(packed: Buffer, { limit }: AcceptedBody, memory: BodyMemory): Promise<BytesResult> {
  const bytes = await memory.keepFor(gunzipBytes(packed, limit, (more) => memory.reserve(more)))
  if (typeof bytes !== 'string') return { ok: true, bytes }
  const refusal = bytes === 'no-memory' ? refusalWithoutRoom(memory) : refusalForGzip(bytes, limit)
  return { ok: false, refusal }
}

/** The largest bodies of each kind, in bytes. */
interface BodyLimits {
  readonly json: number
  readonly message: number
  /** JSON with a complete message in base64. */
  readonly messageInJson: number
}

function limitsOf(config: Pick<Config, 'maxMessageBytes'>): BodyLimits {
  const inJson = (bytes: number): number => Math.ceil((bytes * 4) / 3) + OVERHEAD_BYTES
  const message = maxOctets(config)
  return { json: inJson(config.maxMessageBytes), message, messageInJson: inJson(message) }
}

function limitFor(kind: BodyKind, kinds: readonly BodyKind[], limits: BodyLimits): number {
  if (kind === 'form' || kind === 'multipart') return SMALL_BYTES
  if (kind === 'message') return limits.message
  return kinds.includes('message') ? limits.messageInJson : limits.json
}

function isLargeKind(kind: BodyKind): boolean {
  return kind === 'json' || kind === 'message'
}

const NO_MEMORY = refuse('SERVICE_UNAVAILABLE', 'Too many large requests at the same time. Try again.', 1)
const ENDED_EARLY = invalid([{ path: '', message: 'the body ended early' }])

/** A client that has gone is no reason for a 503 in the metrics. */
function refusalWithoutRoom(memory: BodyMemory): Refusal {
  return memory.isClosed() ? ENDED_EARLY : NO_MEMORY
}

/** The refusal of a compressed body. `limit` is that of the decompressed bytes. */
export function refusalForGzip(problem: GunzipProblem, limit: number): Refusal {
  if (problem === 'no-memory') return NO_MEMORY
  return problem === 'too-large' ? tooLarge(limit) : invalid([{ path: '', message: 'the body is not valid gzip' }])
}

interface AcceptedBody {
  readonly ok: true
  readonly kind: BodyKind
  /** Bytes, after decompression. */
  readonly limit: number
  readonly isCompressed: boolean
}

/** A body without Content-Length is accepted, and its connection is closed when it exceeds the budget. */
function reserveWhileReading(req: IncomingMessage, memory: BodyMemory): void {
  req.on('data', (chunk: Buffer) => {
    // after the response, what still arrives is discarded: closing at once could lose the response
    if (!memory.reserve(chunk.length) && !memory.isClosed()) req.destroy()
  })
}

function validateHeaders(
  req: IncomingMessage,
  kinds: readonly BodyKind[],
  limitOf: (kind: BodyKind) => number,
): AcceptedBody | { ok: false; refusal: Refusal } {
  const first = kinds[0] ?? 'json'
  if (!hasBody(req)) return { ok: true, kind: first, limit: limitOf(first), isCompressed: false }
  const type = (req.headers['content-type'] ??= KINDS[first].type) // a missing type means the first accepted one
  const kind = kinds.find((one) => KINDS[one].isType.test(type))
  if (kind === undefined || OTHER_CHARSET.test(type))
    return unsupported(`Send the body as ${listTypes(kinds)} in UTF-8.`)
  const coding = takeCoding(req)
  if (coding !== 'identity' && (coding !== 'gzip' || kind === 'tlsrpt'))
    return unsupported('Send the body with the Content-Encoding gzip, or without one.')
  const limit = limitOf(kind)
  const isTooLarge = kind !== 'csv' && Number(req.headers['content-length'] ?? 0) > limit
  if (isTooLarge) return { ok: false, refusal: tooLarge(limit) }
  return { ok: true, kind, limit, isCompressed: coding === 'gzip' }
}

/** Removes the header, so that nothing else decompresses the body. */
function takeCoding({ headers }: IncomingMessage): string {
  const coding = (headers['content-encoding'] ?? 'identity').trim().toLowerCase()
  delete headers['content-encoding']
  return coding === 'x-gzip' ? 'gzip' : coding
}

function unsupported(message: string): { ok: false; refusal: Refusal } {
  return { ok: false, refusal: refuse('UNSUPPORTED_MEDIA_TYPE', message) }
}

function listTypes(kinds: readonly BodyKind[]): string {
  return kinds.map((kind) => KINDS[kind].type).join(' or ')
}

/** Leaves the body to the handler. A client that sent `Expect: 100-continue` gets its 100. */
function leaveUnread(
  koa: Koa.Context,
  { kind, isCompressed }: AcceptedBody,
  memory: BodyMemory,
  limit: number,
): BodyResult {
  if (koa.req.headers.expect !== undefined) koa.res.writeContinue()
  const stream = isCompressed ? gunzipStream(koa.req, limit) : koa.req
  return { ok: true, kind, bytes: null, isLarge: false, memory, stream }
}

function hasBody(req: IncomingMessage): boolean {
  return req.headers['transfer-encoding'] !== undefined || (req.headers['content-length'] ?? '0') !== '0'
}

function tooLarge(limit: number): Refusal {
  return refuse('PAYLOAD_TOO_LARGE', `The body is larger than ${limit} bytes. Send less in one request.`)
}

const NO_BYTES = Buffer.alloc(0)

async function readBody({ req, res }: Koa.Context, { limit }: AcceptedBody): Promise<BytesResult> {
  if (!hasBody(req)) return { ok: true, bytes: NO_BYTES }
  if (req.headers.expect !== undefined) res.writeContinue()
  const bytes = await collectBody(req, limit)
  if (Buffer.isBuffer(bytes)) return { ok: true, bytes }
  return { ok: false, refusal: bytes === 'too-large' ? tooLarge(limit) : ENDED_EARLY }
}

/** Whether parsing the body would block the event loop. */
export function isExpensive(kind: BodyKind, bytes: Buffer): boolean {
  const isLarge = bytes.length > LARGE_BYTES
  if (kind !== 'json' || bytes.length > MAX_PLAIN_BYTES) return isLarge
  if (isLarge && hasMany(bytes, BACKSLASH, MANY_ESCAPES)) return true
  return bytes.length >= 2 * MANY_VALUES && hasMany(bytes, COMMA, MANY_VALUES)
}

function hasMany(bytes: Buffer, octet: number, many: number): boolean {
  let count = 0
  for (let at = bytes.indexOf(octet); at >= 0 && count < many; at = bytes.indexOf(octet, at + 1)) count++
  return count >= many
}
