/**
 * Collects the bytes of a body, after a check of its media type and size. Every problem is returned as a refusal. For
 * CSV and TLS reports only the headers are checked; the handler reads the stream.
 *
 * koa-body collects the bytes. Its text mode without an encoding returns them unchanged, so invalid UTF-8 can be
 * refused and is not replaced by U+FFFD. Compressed bodies are refused: a broken compressed stream can end the process
 * outside of koa-body's error handling. Large bodies share a memory budget; beyond it a request gets 503 with
 * Retry-After.
 */
import type { IncomingMessage } from 'node:http'
import type Koa from 'koa'
import { HttpMethodEnum, koaBody } from 'koa-body'
import type { Config } from '#config/load.ts'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import type { BodyKind } from './route.ts'

export type BodyResult = CollectedBody | { readonly ok: false; readonly refusal: Refusal }

export interface CollectedBody {
  readonly ok: true
  readonly kind: BodyKind
  /** Null if the handler reads the body. */
  readonly bytes: Buffer | null
  /** JSON that api/large-bodies.ts parses outside of the event loop. */
  readonly isLarge: boolean
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
const BUDGET_BYTES = 256 * 1024 * 1024
/** The limit for forms and for requests without a key. */
const SMALL_BYTES = 64 * 1024
/** The Content-Type of each kind of body. */
const KINDS: Readonly<Record<BodyKind, { readonly type: string; readonly isType: RegExp }>> = {
  json: { type: 'application/json', isType: /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i },
  form: { type: 'application/x-www-form-urlencoded', isType: /^application\/x-www-form-urlencoded\s*(?:;|$)/i },
  multipart: { type: 'multipart/form-data', isType: /^multipart\/form-data\s*;/i },
  csv: { type: 'text/csv', isType: /^text\/csv\s*(?:;|$)/i },
  tlsrpt: { type: 'application/tlsrpt+gzip', isType: /^application\/tlsrpt\+(?:gzip|json)\s*(?:;|$)/i },
}
/** The handler of the route reads these. */
const STREAMED_KINDS: readonly BodyKind[] = ['csv', 'tlsrpt']
const OTHER_CHARSET = /;\s*charset\s*=\s*(?!"?(?:utf-?8|us-ascii)\b)/i

export function createBodyReader(config: Pick<Config, 'maxMessageBytes'>): BodyReader {
  const limit = Math.ceil((config.maxMessageBytes * 4) / 3) + OVERHEAD_BYTES
  const budget = Math.max(BUDGET_BYTES, limit)
  const [collectLarge, collectSmall] = [collectorOf(limit), collectorOf(SMALL_BYTES)]
  const inUse: BytesInUse = { bytes: 0 }

  return async (koa, { kinds, isUnauthenticated: isFromAnybody }) => {
    const { req } = koa
    const accepted = validateHeaders(req, kinds, isFromAnybody ? SMALL_BYTES : limit)
    if (!accepted.ok) return accepted
    if (STREAMED_KINDS.includes(accepted.kind)) return leaveUnread(koa, accepted.kind)
    const length = Number(req.headers['content-length'] ?? 0)
    if (inUse.bytes + length > budget)
      return {
        ok: false,
        refusal: refuse('SERVICE_UNAVAILABLE', 'Too many large requests at the same time. Try again.', 1),
      }
    if (length > LARGE_BYTES) reserve(koa, inUse, length)
    else if (req.headers['transfer-encoding'] !== undefined) reserveWhileReading(koa, inUse, budget)
    return readBody(koa, accepted.limit > SMALL_BYTES ? collectLarge : collectSmall, accepted)
  }
}

type Collector = ReturnType<typeof koaBody>

function collectorOf(limit: number): Collector {
  return koaBody({
    json: false,
    urlencoded: false,
    multipart: false,
    text: true,
    textTypes: ['json', '+json', 'urlencoded', 'multipart/form-data'],
    textLimit: limit,
    encoding: '',
    // koa-body ignores DELETE by default
    parsedMethods: [
      HttpMethodEnum.POST,
      HttpMethodEnum.PUT,
      HttpMethodEnum.PATCH,
      HttpMethodEnum.DELETE,
      HttpMethodEnum.GET,
    ],
  })
}

interface AcceptedBody {
  readonly ok: true
  readonly kind: BodyKind
  /** Bytes. */
  readonly limit: number
}

interface BytesInUse {
  bytes: number
}

function reserve(koa: Koa.Context, inUse: BytesInUse, bytes: number): void {
  inUse.bytes += bytes
  koa.res.once('close', () => {
    inUse.bytes -= bytes
  })
}

/** A body without Content-Length is accepted, and its connection is closed when it exceeds the budget. */
function reserveWhileReading(koa: Koa.Context, inUse: BytesInUse, budget: number): void {
  let bytes = 0
  koa.req.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    inUse.bytes += chunk.length
    if (inUse.bytes > budget) koa.req.destroy()
  })
  koa.res.once('close', () => {
    inUse.bytes -= bytes
  })
}

function validateHeaders(
  req: IncomingMessage,
  kinds: readonly BodyKind[],
  largest: number,
): AcceptedBody | { ok: false; refusal: Refusal } {
  const first = kinds[0] ?? 'json'
  if (!hasBody(req)) return { ok: true, kind: first, limit: largest }
  const type = (req.headers['content-type'] ??= KINDS[first].type) // a missing type means the first accepted one
  const kind = kinds.find((one) => KINDS[one].isType.test(type))
  if (kind === undefined || OTHER_CHARSET.test(type))
    return unsupported(`Send the body as ${listTypes(kinds)} in UTF-8.`)
  const coding = req.headers['content-encoding']
  if (coding !== undefined && coding !== 'identity') return unsupported('Send the body without a Content-Encoding.')
  const limit = kind === 'form' || kind === 'multipart' ? SMALL_BYTES : largest
  const isTooLarge = kind !== 'csv' && Number(req.headers['content-length'] ?? 0) > limit
  return isTooLarge ? { ok: false, refusal: tooLarge(limit) } : { ok: true, kind, limit }
}

function unsupported(message: string): { ok: false; refusal: Refusal } {
  return { ok: false, refusal: refuse('UNSUPPORTED_MEDIA_TYPE', message) }
}

function listTypes(kinds: readonly BodyKind[]): string {
  return kinds.map((kind) => KINDS[kind].type).join(' or ')
}

/** Leaves the body to the handler. A client that sent `Expect: 100-continue` gets its 100. */
function leaveUnread(koa: Koa.Context, kind: BodyKind): BodyResult {
  if (koa.req.headers.expect !== undefined) koa.res.writeContinue()
  return { ok: true, kind, bytes: null, isLarge: false }
}

function hasBody(req: IncomingMessage): boolean {
  return req.headers['transfer-encoding'] !== undefined || (req.headers['content-length'] ?? '0') !== '0'
}

function tooLarge(limit: number): Refusal {
  return refuse('PAYLOAD_TOO_LARGE', `The body is larger than ${limit} bytes.`)
}

const NO_BYTES = Buffer.alloc(0)

async function readBody(koa: Koa.Context, collect: Collector, { kind, limit }: AcceptedBody): Promise<BodyResult> {
  if (!hasBody(koa.req)) return { ok: true, kind, bytes: NO_BYTES, isLarge: false }
  if (koa.req.headers.expect !== undefined) koa.res.writeContinue()
  try {
    await collect(koa, noNext)
  } catch (error) {
    return { ok: false, refusal: refusalFor(error, limit) }
  }
  const bytes: unknown = koa.request.body
  if (!Buffer.isBuffer(bytes)) throw new Error('the body was not collected as bytes')
  return { ok: true, kind, bytes, isLarge: kind === 'json' && bytes.length > LARGE_BYTES }
}

function noNext(): Promise<void> {
  return Promise.resolve()
}

/** Errors of raw-body have a `type`. Anything else is a bug and is thrown again. */
function refusalFor(error: unknown, limit: number): Refusal {
  const type = error instanceof Error && 'type' in error ? error.type : undefined
  if (type === 'entity.too.large') return tooLarge(limit)
  if (type === 'request.aborted' || type === 'request.size.invalid')
    return invalid([{ path: '', message: 'the body ended early' }])
  throw error
}
