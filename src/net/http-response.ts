/**
 * Reads the response of a request to a customer's URL: its status, three headers and the beginning of its body. A body
 * that is longer than wanted, or that the caller does not want to hold, is cut, and the connection is closed.
 */
import type { ClientRequest, IncomingMessage } from 'node:http'

/** A response with any status. The headers are unparsed. */
export interface HttpResponse {
  readonly ok: true
  readonly status: number
  /** At most `maxBytes` of the body. */
  readonly bytes: Buffer
  /** `bytes` as text that PostgreSQL can store. Decoded on access. */
  readonly body: string
  /** The body arrived to its end, and `bytes` has all of it. */
  readonly isComplete: boolean
  /** The time limit of the request ended before the body did. */
  readonly isTimedOut: boolean
  readonly location: string | null
  readonly contentType: string | null
  readonly contentEncoding: string | null
  readonly durationMs: number
}

export interface ReadOptions {
  readonly maxBytes: number
  /** Called for each chunk before it is kept; false cuts the body. */
  readonly mayKeep?: ((bytes: number) => boolean) | undefined
}

export interface ResponseReader {
  read(response: IncomingMessage, sent: ClientRequest, done: () => void): void
  /** Null until the status line has arrived. */
  result(ended: Pick<HttpResponse, 'durationMs' | 'isTimedOut'>): HttpResponse | null
}

// the body is read to its end so that the connection can be reused; beyond this size it is cheaper to close it
const MAX_DISCARDED_BYTES = 64 * 1024

export function createResponseReader({ maxBytes, mayKeep }: ReadOptions): ResponseReader {
  const chunks: Buffer[] = []
  let size = 0
  let isRefused = false
  let message: IncomingMessage | null = null

  function read(response: IncomingMessage, sent: ClientRequest, done: () => void): void {
    message = response
    response.on('data', (chunk: Buffer) => {
      const kept = chunk.subarray(0, Math.max(0, maxBytes - size))
      size += chunk.length
      isRefused ||= mayKeep !== undefined && !mayKeep(kept.length)
      if (kept.length > 0 && !isRefused) chunks.push(kept)
      if (isRefused || size > Math.max(MAX_DISCARDED_BYTES, maxBytes)) sent.destroy()
    })
    response.on('end', done)
    response.on('error', done)
  }

  return {
    read,
    result: ({ durationMs, isTimedOut }) => {
      if (message === null) return null
      const { statusCode, headers, complete } = message
      const bytes = Buffer.concat(chunks)
      return new ReadResponse(maxBytes, {
        status: statusCode ?? 0,
        bytes,
        isComplete: complete && !isRefused && size === bytes.length,
        isTimedOut,
        location: headers.location ?? null,
        contentType: headers['content-type'] ?? null,
        contentEncoding: headers['content-encoding'] ?? null,
        durationMs,
      })
    },
  }
}

type ResponseParts = Omit<HttpResponse, 'ok' | 'body'>

/** Not a literal, because of its getter (docs/decisions/124). */
class ReadResponse implements HttpResponse {
  readonly ok = true
  readonly status: number
  readonly bytes: Buffer
  readonly isComplete: boolean
  readonly isTimedOut: boolean
  readonly location: string | null
  readonly contentType: string | null
  readonly contentEncoding: string | null
  readonly durationMs: number
  readonly #maxBytes: number

  constructor(maxBytes: number, parts: ResponseParts) {
    this.#maxBytes = maxBytes
    this.status = parts.status
    this.bytes = parts.bytes
    this.isComplete = parts.isComplete
    this.isTimedOut = parts.isTimedOut
    this.location = parts.location
    this.contentType = parts.contentType
    this.contentEncoding = parts.contentEncoding
    this.durationMs = parts.durationMs
  }

  get body(): string {
    return decodeBody(this.bytes, this.#maxBytes)
  }
}

/** UTF-8 without NUL, and without a partial character at the end. */
function decodeBody(bytes: Buffer, maxBytes: number): string {
  const text = bytes.toString('utf8').replaceAll('\0', '')
  return bytes.length === maxBytes ? text.replace(/\uFFFD+$/, '') : text
}
