/** What an endpoint of the API is, and how a request to it is sent. Nothing else in the dashboard calls `fetch`. */
import type { ErrorBody, Translation } from './endpoints.ts'

/** `Input` and `Output` are types only: what a request has, and what a success answers. */
export interface Endpoint<Input, Output> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** With `{name}` for each parameter. */
  readonly path: string
  /** `workspace`: the request names the workspace that the page shows. */
  readonly scope: 'workspace' | 'person' | 'operator'
  readonly types?: (input: Input) => Output
}

interface RequestInput {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: object
  readonly body?: unknown
}

export interface CallOptions {
  readonly workspaceId?: string | null
  readonly signal?: AbortSignal
  /** Repeating a send with the same key sends it only once. */
  readonly idempotencyKey?: string
}

/** An invalid field: its path (such as `to.1.email`) and what is wrong. */
export interface FieldProblem {
  readonly path: string
  readonly message: string
}

type SentenceTranslation = Translation | null | undefined

export interface ErrorLanguage {
  readonly sayError: (code: string, message: string, translation: SentenceTranslation) => string
  /** A sentence about a field. */
  readonly sayDetail: (message: string, translation: SentenceTranslation) => string
}

let language: ErrorLanguage = { sayError: (_, message) => message, sayDetail: (message) => message }

/** How errors are said from now on: the shell sets it to the language of the reader. */
export function setErrorLanguage(given: ErrorLanguage): void {
  language = given
}

function sayDetails({ details = [], detail_translations: translations = [] }: Partial<ErrorBody>): FieldProblem[] {
  return details.map(({ path, message }, i) => ({ path, message: language.sayDetail(message, translations[i]) }))
}

/** The message of an invalid request is its first detail. */
function messageOf(
  { message }: Partial<ErrorBody>,
  [said]: readonly FieldProblem[],
  [first]: readonly FieldProblem[],
): string | undefined {
  if (said === undefined || said.message === first?.message) return message
  return said.path === '' ? said.message : `${said.path}: ${said.message}`
}

/** Every answer of the API that is not a success, and every request that got no answer (status 0). */
export class ApiError extends Error {
  readonly status: number
  readonly code: ErrorBody['error'] | 'UNREACHABLE' | 'UNKNOWN'
  /** In English, for what is read from it. */
  readonly serverMessage: string
  readonly details: readonly FieldProblem[]
  /** Seconds; null if a retry does not help. */
  readonly retryAfter: number | null
  readonly requestId: string | null
  readonly docUrl: string | null

  constructor(status: number, answer: Partial<ErrorBody>, headers = new Headers()) {
    const code = status === 0 ? 'UNREACHABLE' : (answer.error ?? 'UNKNOWN')
    const details = sayDetails(answer)
    const message = messageOf(answer, details, answer.details ?? [])
    const sentence = message ?? `The server answered with status ${status}.`
    super(language.sayError(code, sentence, answer.message_translation))
    this.name = 'ApiError'
    this.serverMessage = answer.message ?? sentence
    this.status = status
    this.code = code
    this.details = details
    const seconds = Number(headers.get('retry-after') ?? Number.NaN)
    this.retryAfter = Number.isFinite(seconds) ? seconds : null
    this.requestId = headers.get('x-request-id')
    this.docUrl = answer.doc_url ?? null
  }
}

/**
 * Sends one request.
 * @returns the JSON of the answer; the text of an answer that is not JSON; undefined for 204
 * @throws ApiError
 */
export async function send<Input, Output>(
  endpoint: Endpoint<Input, Output>,
  input: Input,
  options: CallOptions = {},
): Promise<Output> {
  const response = await request(endpoint, input, options)
  return (await readAnswer(response)) as Output
}

/**
 * Reads a file, byte for byte.
 * @throws ApiError
 */
export async function download<Input>(
  endpoint: Endpoint<Input, unknown>,
  input: Input,
  options: CallOptions = {},
): Promise<Blob> {
  return (await request(endpoint, input, options)).blob()
}

/** @throws ApiError unless the answer is a success. */
async function request<Input, Output>(
  { method, path, scope }: Endpoint<Input, Output>,
  input: Input,
  { workspaceId = null, signal, idempotencyKey }: CallOptions,
): Promise<Response> {
  const { params = {}, query = {}, body } = input as RequestInput
  const isJson = body !== undefined && !(body instanceof Blob) && typeof body !== 'string'
  const headers: Record<string, string> = { Accept: 'application/json', Prefer: 'translations' }
  if (scope === 'workspace' && workspaceId !== null) headers['X-Workspace'] = workspaceId
  if (idempotencyKey !== undefined) headers['Idempotency-Key'] = idempotencyKey
  if (body !== undefined) headers['Content-Type'] = isJson ? 'application/json' : 'text/csv'
  const url = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? '')) + queryOf(query)
  const response = await fetch(url, {
    method,
    headers,
    ...(body === undefined ? {} : { body: isJson ? JSON.stringify(body) : body }),
    ...(signal === undefined ? {} : { signal }),
  }).catch((error: unknown) => {
    if (signal?.aborted === true) throw error
    throw new ApiError(0, { message: 'The server cannot be reached. Check the connection, then try again.' })
  })
  if (response.ok) return response
  const answer = await readAnswer(response)
  throw new ApiError(response.status, isObject(answer) ? answer : {}, response.headers)
}

/**
 * The query of an address. Empty values are left out, but for a cursor: an empty one asks for the first page of a list,
 * with the cursor of the next.
 */
export function queryOf(query: object): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value])
      .filter((one) => one !== undefined && one !== null && (one !== '' || name === 'cursor'))
      .map((one) => [name, String(one)]),
  )
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs).toString()}`
}

async function readAnswer(response: Response): Promise<unknown> {
  if (response.status === 204) return undefined
  const text = await response.text()
  if (response.headers.get('content-type')?.includes('json') !== true) return text
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

function isObject(value: unknown): value is Partial<ErrorBody> {
  return typeof value === 'object' && value !== null
}
