/**
 * Reads the body of a request, once, within bounds: type, size, UTF-8, then `json.ts` or `form.ts`. Everything wrong with it is a refusal.
 * Large JSON is only collected here. A body of CSV, or a report on TLS, is only judged by its headers;
 * whoever handles it reads it as it comes.
 *
 * koa-body collects the bytes (text mode with no encoding gives them as they came: invalid UTF-8 is refused, not replaced by U+FFFD).
 * Compressed bodies are refused: a broken stream of them can end the process behind koa-body's back.
 * Large bodies under way have a budget, so that a crowd of them is told to come again instead of exhausting the memory.
 */
import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import type Koa from 'koa'
import { HttpMethodEnum, koaBody } from 'koa-body'
import type { Config } from '#config/load.ts'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import { readForm, readMultipart } from './form.ts'
import { readJson } from './json.ts'
import type { BodyKind } from './route.ts'

export type BodyResult =
  | { readonly ok: true; readonly value: unknown }
  /** JSON that is to be read beside the event loop (api/large-bodies.ts). */
  | { readonly ok: true; readonly large: Buffer }
  | { readonly ok: false; readonly refusal: Refusal }
export type BodyReader = (koa: Koa.Context, wanted: WantedBody) => Promise<BodyResult>

export interface WantedBody {
  readonly kinds: readonly BodyKind[]
  /** No key was asked for: only a small body is read. */
  readonly isFromAnybody: boolean
}

/** Base64 makes 4 bytes of 3; the rest of the message and the escapes of JSON need room too. */
const SLACK_BYTES = 1024 * 1024
/** Smaller bodies are not counted, and read where they are: that takes 2 or 3 ms at most. */
const LARGE_BYTES = 256 * 1024
const BUDGET_BYTES = 256 * 1024 * 1024
/** A form, and whatever comes without a key. */
const SMALL_BYTES = 64 * 1024
/** What a Content-Type is called. */
const KINDS: Readonly<Record<BodyKind, { readonly type: string; readonly isType: RegExp }>> = {
  json: { type: 'application/json', isType: /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i },
  form: { type: 'application/x-www-form-urlencoded', isType: /^application\/x-www-form-urlencoded\s*(?:;|$)/i },
  multipart: { type: 'multipart/form-data', isType: /^multipart\/form-data\s*;/i },
  csv: { type: 'text/csv', isType: /^text\/csv\s*(?:;|$)/i },
  tlsrpt: { type: 'application/tlsrpt+gzip', isType: /^application\/tlsrpt\+(?:gzip|json)\s*(?:;|$)/i },
}
/** Read by whoever handles them. */
const UNREAD: readonly BodyKind[] = ['csv', 'tlsrpt']
const OTHER_CHARSET = /;\s*charset\s*=\s*(?!"?(?:utf-?8|us-ascii)\b)/i

export function createBodyReader(config: Pick<Config, 'maxMessageBytes'>): BodyReader {
  const limit = Math.ceil((config.maxMessageBytes * 4) / 3) + SLACK_BYTES
  const budget = Math.max(BUDGET_BYTES, limit)
  const [collectLarge, collectSmall] = [collectorOf(limit), collectorOf(SMALL_BYTES)]
  const underWay: Load = { bytes: 0 }

  return async (koa, { kinds, isFromAnybody }) => {
    const { req } = koa
    const judged = judgeHeaders(req, kinds, isFromAnybody ? SMALL_BYTES : limit)
    if (!judged.ok) return judged
    if (UNREAD.includes(judged.kind)) return untouched(koa)
    const length = Number(req.headers['content-length'] ?? 0)
    if (underWay.bytes + length > budget)
      return { ok: false, refusal: refuse('SERVICE_UNAVAILABLE', 'Too many large requests are under way.', 1) }
    if (length > LARGE_BYTES) charge(koa, underWay, length)
    else if (req.headers['transfer-encoding'] !== undefined) chargeAsItComes(koa, underWay, budget)
    return readBody(koa, judged.limit > SMALL_BYTES ? collectLarge : collectSmall, judged)
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
    // DELETE too: koa-body skips it unless told
    parsedMethods: [
      HttpMethodEnum.POST,
      HttpMethodEnum.PUT,
      HttpMethodEnum.PATCH,
      HttpMethodEnum.DELETE,
      HttpMethodEnum.GET,
    ],
  })
}

interface Expected {
  readonly ok: true
  readonly kind: BodyKind
  /** Bytes. */
  readonly limit: number
}

interface Load {
  bytes: number
}

function charge(koa: Koa.Context, underWay: Load, bytes: number): void {
  underWay.bytes += bytes
  koa.res.once('close', () => {
    underWay.bytes -= bytes
  })
}

/** A body that does not tell its length is let in, and cut off where it breaks the budget. */
function chargeAsItComes(koa: Koa.Context, underWay: Load, budget: number): void {
  let bytes = 0
  koa.req.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    underWay.bytes += chunk.length
    if (underWay.bytes > budget) koa.req.destroy()
  })
  koa.res.once('close', () => {
    underWay.bytes -= bytes
  })
}

function judgeHeaders(
  req: IncomingMessage,
  kinds: readonly BodyKind[],
  largest: number,
): Expected | { ok: false; refusal: Refusal } {
  const first = kinds[0] ?? 'json'
  if (!hasBody(req)) return { ok: true, kind: first, limit: largest }
  const type = (req.headers['content-type'] ??= KINDS[first].type) // what else would it be
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

/** The handler reads it; a client that waits to be asked is asked. */
function untouched(koa: Koa.Context): BodyResult {
  if (koa.req.headers.expect !== undefined) koa.res.writeContinue()
  return { ok: true, value: undefined }
}

function hasBody(req: IncomingMessage): boolean {
  return req.headers['transfer-encoding'] !== undefined || (req.headers['content-length'] ?? '0') !== '0'
}

function tooLarge(limit: number): Refusal {
  return refuse('PAYLOAD_TOO_LARGE', `The body is larger than ${limit} bytes.`)
}

async function readBody(koa: Koa.Context, collect: Collector, { kind, limit }: Expected): Promise<BodyResult> {
  if (!hasBody(koa.req)) return { ok: true, value: {} }
  if (koa.req.headers.expect !== undefined) koa.res.writeContinue()
  try {
    await collect(koa, nothing)
  } catch (error) {
    return { ok: false, refusal: explain(error, limit) }
  }
  const bytes: unknown = koa.request.body
  if (!Buffer.isBuffer(bytes)) throw new Error('the body was not collected as bytes')
  if (kind === 'json' && bytes.length > LARGE_BYTES) return { ok: true, large: bytes }
  if (!isUtf8(bytes)) return { ok: false, refusal: invalid([{ path: '', message: 'the body is not valid UTF-8' }]) }
  const text = bytes.toString('utf8')
  const read = FIELD_READERS[kind]?.(text, koa.req.headers['content-type'] ?? '') ?? readJson(text)
  return read.ok ? read : { ok: false, refusal: invalid([{ path: '', message: read.reason }]) }
}

/** What makes fields of a text; all else is JSON. */
const FIELD_READERS: Partial<Readonly<Record<BodyKind, (text: string, type: string) => ReturnType<typeof readForm>>>> =
  {
    form: readForm,
    multipart: readMultipart,
  }

function nothing(): Promise<void> {
  return Promise.resolve()
}

/** What raw-body throws carries a `type`; anything else is a bug. */
function explain(error: unknown, limit: number): Refusal {
  const type = error instanceof Error && 'type' in error ? error.type : undefined
  if (type === 'entity.too.large') return tooLarge(limit)
  if (type === 'request.aborted' || type === 'request.size.invalid')
    return invalid([{ path: '', message: 'the body ended early' }])
  throw error
}
