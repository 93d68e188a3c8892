/**
 * The hand-written part of the client, which `generate.ts` copies to the top of `mailstead.ts`. It sends one request
 * and returns the response or throws a MailsteadError. It needs only `fetch`: Node 20 or newer, or a browser.
 *
 * After 429 and 503 it waits for Retry-After and retries, if repeating the request is safe: GET, DELETE, PUT, PATCH,
 * and requests with an Idempotency-Key. A send without a key gets a random one. If Retry-After is longer than
 * `maxRetrySeconds`, the error is thrown immediately.
 */
import type { ErrorBody } from './mailstead.ts'

export interface MailsteadOptions {
  /** The URL of the service, such as `https://mail.example.com`. */
  readonly baseUrl: string
  readonly apiKey: string
  /** Retries after the first attempt; 2 by default. */
  readonly retries?: number
  /** The longest Retry-After to wait for, in seconds; 30 by default. */
  readonly maxRetrySeconds?: number
  readonly fetch?: typeof fetch
}

export interface CallOptions {
  /** For sends: repeating a message with the same key sends it only once. */
  readonly idempotencyKey?: string
  readonly signal?: AbortSignal
}

/** An invalid field: its path (such as `to.1.email`) and what is wrong. */
export interface Detail {
  readonly path: string
  readonly message: string
}

/** Thrown for every response that is not a success. */
export class MailsteadError extends Error {
  readonly status: number
  /** Such as VALIDATION_ERROR; UNKNOWN if the response did not come from Mailstead. */
  readonly code: ErrorCode
  readonly details: readonly Detail[]
  /** Seconds; null if a retry does not help. */
  readonly retryAfter: number | null
  /** Quote it when you report a problem. */
  readonly requestId: string | null
  /** Where the error is explained; null if the response did not come from Mailstead. */
  readonly docUrl: string | null

  constructor(response: Response, answer: unknown) {
    const { error, message, details, doc_url: docUrl } = isObject(answer) ? answer : {}
    super(typeof message === 'string' ? message : `The server returned status ${response.status}.`)
    this.name = 'MailsteadError'
    this.status = response.status
    this.code = typeof error === 'string' ? (error as ErrorCode) : 'UNKNOWN'
    this.details = Array.isArray(details) ? (details as Detail[]) : []
    this.retryAfter = readSeconds(response.headers.get('retry-after'))
    this.requestId = response.headers.get('x-request-id')
    this.docUrl = typeof docUrl === 'string' ? docUrl : null
  }
}

export type ErrorCode = ErrorBody['error'] | 'UNKNOWN'

interface Input {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: object
  readonly body?: unknown
}

interface Operation {
  readonly method: string
  /** With `{name}` for each parameter. */
  readonly path: string
  /** The endpoint accepts an Idempotency-Key. */
  readonly isIdempotent?: true
}

const NOT_IDEMPOTENT = 'POST'

export class Transport {
  readonly #options: MailsteadOptions

  constructor(options: MailsteadOptions) {
    this.#options = options
  }

  /** @throws MailsteadError, or the error of `fetch` if the server is unreachable. */
  async call<T>(operation: Operation, input: Input, options: CallOptions = {}): Promise<T> {
    const key = operation.isIdempotent === true ? (options.idempotencyKey ?? crypto.randomUUID()) : undefined
    const isSafe = operation.method !== NOT_IDEMPOTENT || key !== undefined
    const { retries = 2, maxRetrySeconds = 30 } = this.#options
    for (let tries = 0; ; tries++) {
      const response = await this.#send(operation, input, key, options.signal)
      if (response.ok) return (await read(response)) as T
      const error = new MailsteadError(response, await read(response))
      const mayTryAgain =
        response.status === 429 || (isSafe && (response.status === 503 || error.code === 'IDEMPOTENCY_IN_PROGRESS'))
      if (!mayTryAgain || tries >= retries || error.retryAfter === null || error.retryAfter > maxRetrySeconds)
        throw error
      await pause(error.retryAfter * 1000, options.signal)
    }
  }

  #send(
    { method, path }: Operation,
    input: Input,
    key: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Response> {
    const { body } = input
    const isRaw = typeof body === 'string' || body instanceof Blob
    return (this.#options.fetch ?? fetch)(addressOf(this.#options.baseUrl, path, input), {
      method,
      headers: {
        authorization: `Bearer ${this.#options.apiKey}`,
        ...(key === undefined ? {} : { 'idempotency-key': key }),
        ...(body === undefined ? {} : { 'content-type': isRaw ? 'text/csv' : 'application/json' }),
      },
      ...(body === undefined ? {} : { body: isRaw ? body : JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    })
  }
}

/** A page of a list, as the methods of the client return it. */
type ListPage = { readonly data: { readonly next_cursor?: string | null } } | { readonly next_cursor?: string | null }

/**
 * Reads a list to its end, page by page: `readPages((cursor) => client.listApiKeys({ query: { cursor } }))`.
 * No item is repeated or omitted while the list changes. Each call has the same filter.
 */
export async function* readPages<T extends ListPage>(readPage: (cursor: string) => Promise<T>): AsyncGenerator<T> {
  for (let cursor = ''; ;) {
    const page = await readPage(cursor)
    yield page
    const next = 'next_cursor' in page || !('data' in page) ? page.next_cursor : page.data.next_cursor
    if (typeof next !== 'string') return
    cursor = next
  }
}

function addressOf(baseUrl: string, path: string, { params = {}, query = {} }: Input): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== null) search.append(name, String(value))
  return `${baseUrl.replace(/\/+$/, '')}${filled}${search.size === 0 ? '' : `?${search.toString()}`}`
}

/** Parses JSON, returns other types as text, and undefined for an empty body. */
async function read(response: Response): Promise<unknown> {
  const text = await response.text()
  if (text === '') return undefined
  if (response.headers.get('content-type')?.startsWith('application/json') !== true) return text
  return JSON.parse(text)
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

function readSeconds(text: string | null): number | null {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(done, ms)
    signal?.addEventListener('abort', done, { once: true })
    function done(): void {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      if (signal?.aborted === true) reject(signal.reason as Error)
      else resolve()
    }
  })
}
