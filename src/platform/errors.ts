/**
 * The catalogue of errors that the API returns: code, HTTP status and cause. Codes are a public contract and are never
 * renamed. A handler returns a refusal as a value. An exception is a bug and becomes INTERNAL_ERROR, or
 * SERVICE_UNAVAILABLE while a store is down.
 */
export const ERRORS = {
  VALIDATION_ERROR: {
    status: 400,
    when: 'a required field is missing, or a value is invalid; `details` lists each problem',
  },
  INVALID_TEMPLATE: {
    status: 400,
    when: 'the template does not exist, is invalid, or cannot be rendered with these params',
  },
  UNAUTHORIZED: { status: 401, when: 'the key is missing or invalid' },
  FORBIDDEN: { status: 403, when: 'this type of key, or this sender, is not allowed' },
  INSUFFICIENT_SCOPE: { status: 403, when: 'the Admin key lacks the scope of this endpoint' },
  PLAN_REQUIRED: { status: 403, when: 'the feature needs the plan LAUNCH or higher' },
  NOT_FOUND: { status: 404, when: 'the endpoint does not exist, or the object does not exist in this workspace' },
  METHOD_NOT_ALLOWED: { status: 405, when: 'the endpoint does not support this method; `Allow` lists those it does' },
  REQUEST_TIMEOUT: { status: 408, when: 'the request did not arrive in time' },
  CONFLICT: { status: 409, when: 'the state of the object does not allow this' },
  IDEMPOTENCY_MISMATCH: { status: 409, when: 'this Idempotency-Key was used with a different request' },
  IDEMPOTENCY_IN_PROGRESS: { status: 409, when: 'a request with this Idempotency-Key is still in progress; retry' },
  PAYLOAD_TOO_LARGE: { status: 413, when: 'the body, or the message in it, exceeds the limit' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, when: 'the endpoint does not accept this content type' },
  RATE_LIMITED: {
    status: 429,
    when: 'a limit is reached; `reason` says which: the monthly quota or a rate; retry after `Retry-After` seconds',
  },
  HEADERS_TOO_LARGE: { status: 431, when: 'the request headers exceed the limit' },
  INTERNAL_ERROR: {
    status: 500,
    when: 'an internal error; retry with increasing delays, and report the X-Request-Id if it persists',
  },
  SERVICE_UNAVAILABLE: {
    status: 503,
    when: 'a store is down or the server is overloaded; retry after `Retry-After` seconds',
  },
} as const satisfies Record<string, { readonly status: number; readonly when: string }>

export type ErrorCode = keyof typeof ERRORS

/** The limits behind RATE_LIMITED, by the `reason` in the response. */
export const LIMIT_REASONS = {
  quota: 'the recipients that the plan allows in a calendar month (UTC)',
  request_rate: 'the requests that the plan allows in 10 seconds',
  client_rate: 'the attempts that one client, network or link may make',
  open_requests: 'the requests of a workspace that may wait at the same time',
} as const

export type LimitReason = keyof typeof LIMIT_REASONS

/** One problem of a request: where (`to.1.email`) and what. */
export interface Detail {
  readonly path: string
  readonly message: string
}

/** A reason against a request. */
export interface RefusalFinding {
  readonly code: string
  readonly message: string
  /** Whether the same request with `force: true` is accepted despite it. */
  readonly may_force: boolean
}

export interface Refusal {
  readonly error: ErrorCode
  readonly message: string
  readonly details?: readonly Detail[]
  /** On a CONFLICT of a campaign: why it cannot be sent. */
  readonly findings?: readonly RefusalFinding[]
  /** On RATE_LIMITED: which limit. */
  readonly reason?: LimitReason
  /** Whole seconds, sent as `Retry-After`. */
  readonly retryAfter?: number
  readonly headers?: Readonly<Record<string, string>>
}

export function refuse(error: ErrorCode, message: string, retryAfter?: number): Refusal {
  return retryAfter === undefined ? { error, message } : { error, message, retryAfter }
}

/** 429 RATE_LIMITED. */
export function rateLimited(reason: LimitReason, message: string, retryAfter: number): Refusal {
  return { error: 'RATE_LIMITED', message, reason, retryAfter }
}

// More would repeat themselves, and a hostile request must not make the response large.
const MAX_DETAILS = 50

/** 400 VALIDATION_ERROR. The message is the first detail, for clients that show only the message. */
export function invalid(details: readonly Detail[]): Refusal {
  const [first] = details
  const message =
    first === undefined
      ? 'The request is not valid.'
      : `${first.path === '' ? 'The request' : first.path}: ${first.message}`
  return { error: 'VALIDATION_ERROR', message, details: details.slice(0, MAX_DETAILS) }
}
