/**
 * The part of the client that is written by hand; `generate.ts` puts it in front of the methods in `mailstead.ts`. One request: its
 * address, its body, its answer or a MailsteadError. It needs `fetch` and nothing else: Node 20 and newer, or a browser.
 *
 * 429 and 503 are tried again after their Retry-After, where that cannot do anything twice: reading, deleting, changing, and whatever has
 * an Idempotency-Key. A send gets a key of its own when none is given. A wait that is longer than the bound is told by the error.
 */
import type { ErrorBody } from './mailstead.ts'

export interface MailsteadOptions {
  /** Where the service is, such as `https://mail.example.com`. */
  readonly baseUrl: string
  readonly apiKey: string
  /** Further tries after the first; 2 when not given. */
  readonly retries?: number
  /** The longest Retry-After that is waited for; 30 when not given. */
  readonly maxRetrySeconds?: number
  readonly fetch?: typeof fetch
}

export interface CallOptions {
  /** For sends: the same key with the same message is sent once, whatever happens on the way. */
  readonly idempotencyKey?: string
  readonly signal?: AbortSignal
}

/** One field that is wrong: where (`to.1.email`) and why. */
export interface Detail {
  readonly path: string
  readonly message: string
}

/** Everything but a success. */
export class MailsteadError extends Error {
  readonly status: number
  /** Such as VALIDATION_ERROR; UNKNOWN when the answer was not Mailstead's. */
  readonly code: ErrorCode
  readonly details: readonly Detail[]
  /** Seconds; null when trying again is of no use. */
  readonly retryAfter: number | null
  /** Quote it when you report a fault. */
  readonly requestId: string | null

  constructor(response: Response, answer: unknown) {
    const { error, message, details } = isObject(answer) ? answer : {}
    super(typeof message === 'string' ? message : `The server answered ${response.status}.`)
    this.name = 'MailsteadError'
    this.status = response.status
    this.code = typeof error === 'string' ? (error as ErrorCode) : 'UNKNOWN'
    this.details = Array.isArray(details) ? (details as Detail[]) : []
    this.retryAfter = readSeconds(response.headers.get('retry-after'))
    this.requestId = response.headers.get('x-request-id')
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
  /** With `{name}` where a parameter stands. */
  readonly path: string
  /** It reads the Idempotency-Key. */
  readonly isIdempotent?: true
}

const UNWANTED_TWICE = 'POST'

export class Transport {
  readonly #options: MailsteadOptions

  constructor(options: MailsteadOptions) {
    this.#options = options
  }

  /** @throws MailsteadError, and what `fetch` throws when the server cannot be reached. */
  async call<T>(operation: Operation, input: Input, options: CallOptions = {}): Promise<T> {
    const key = operation.isIdempotent === true ? (options.idempotencyKey ?? crypto.randomUUID()) : undefined
    const isSafe = operation.method !== UNWANTED_TWICE || key !== undefined
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

function addressOf(baseUrl: string, path: string, { params = {}, query = {} }: Input): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== null) search.append(name, String(value))
  return `${baseUrl.replace(/\/+$/, '')}${filled}${search.size === 0 ? '' : `?${search.toString()}`}`
}

/** JSON parsed, anything else as text, nothing as undefined. */
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
