/**
 * The one catalogue of errors that the API answers: code, HTTP status, and when it is given. Codes are a promise: they are never
 * renamed. A refusal is a value that a handler returns; an exception is a bug and becomes INTERNAL_ERROR, or SERVICE_UNAVAILABLE while a
 * store is away.
 */
export const ERRORS = {
  VALIDATION_ERROR: { status: 400, when: 'a required field is missing or a value is not valid; `details` lists each' },
  INVALID_TEMPLATE: {
    status: 400,
    when: 'the template is not known, is not valid or cannot be rendered with these params',
  },
  UNAUTHORIZED: { status: 401, when: 'the key is missing or not valid' },
  FORBIDDEN: { status: 403, when: 'this kind of key, or this sender, is not allowed here' },
  INSUFFICIENT_SCOPE: { status: 403, when: 'the Admin key lacks the scope of this endpoint' },
  PLAN_REQUIRED: { status: 403, when: 'the feature needs the plan LAUNCH or higher' },
  NOT_FOUND: { status: 404, when: 'there is no such endpoint, or no such object in this workspace' },
  METHOD_NOT_ALLOWED: { status: 405, when: 'the endpoint has other methods; `Allow` names them' },
  REQUEST_TIMEOUT: { status: 408, when: 'the request did not arrive in time' },
  CONFLICT: { status: 409, when: 'the object is in a state that does not allow this' },
  IDEMPOTENCY_MISMATCH: { status: 409, when: 'this Idempotency-Key was used with another request' },
  IDEMPOTENCY_IN_PROGRESS: { status: 409, when: 'a request with this Idempotency-Key is still under way; try again' },
  PAYLOAD_TOO_LARGE: { status: 413, when: 'the body, or the message in it, is larger than the limit' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, when: 'the body is of a type that the endpoint does not take' },
  RATE_LIMITED: {
    status: 429,
    when: 'the request rate or the monthly quota of the plan is reached; `Retry-After` says how long',
  },
  HEADERS_TOO_LARGE: { status: 431, when: 'the request headers are larger than the limit' },
  INTERNAL_ERROR: {
    status: 500,
    when: 'a fault on our side; try again with growing pauses and quote the X-Request-Id',
  },
  SERVICE_UNAVAILABLE: {
    status: 503,
    when: 'a store is away or the server is full; try again after `Retry-After` seconds',
  },
} as const satisfies Record<string, { readonly status: number; readonly when: string }>

export type ErrorCode = keyof typeof ERRORS

/** One thing that is wrong with a request: where (`to.1.email`) and why. */
export interface Detail {
  readonly path: string
  readonly message: string
}

export interface Refusal {
  readonly error: ErrorCode
  readonly message: string
  readonly details?: readonly Detail[]
  /** Whole seconds, sent as Retry-After. */
  readonly retryAfter?: number
}

export function refuse(error: ErrorCode, message: string, retryAfter?: number): Refusal {
  return retryAfter === undefined ? { error, message } : { error, message, retryAfter }
}

// More would only repeat itself, and an answer must not grow with a hostile request.
const MAX_DETAILS = 50

/** 400 VALIDATION_ERROR; the message is the first detail, so that a client that shows only it says something useful. */
export function invalid(details: readonly Detail[]): Refusal {
  const [first] = details
  const message =
    first === undefined
      ? 'The request is not valid.'
      : `${first.path === '' ? 'The request' : first.path}: ${first.message}`
  return { error: 'VALIDATION_ERROR', message, details: details.slice(0, MAX_DETAILS) }
}
