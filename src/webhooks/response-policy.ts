/**
 * Evaluates the response of an endpoint. Only 2xx is success. A redirect is a failure, because its target was not
 * registered; 410 disables the endpoint. Attempts: at once, then after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 10 h.
 */
import { backoffMs } from '#src/platform/backoff.ts'
import type { HttpResult } from '#src/net/http-client.ts'

/** Delay after the first, second, … failed attempt. */
export const RETRY_DELAYS_SECONDS = [5, 300, 1800, 7200, 18_000, 36_000, 36_000] as const

export const MAX_ATTEMPTS = RETRY_DELAYS_SECONDS.length + 1
/** Limit for the whole attempt, from DNS to the response body. */
export const ATTEMPT_TIMEOUT_MS = 10_000

const GONE = 410

export interface AttemptVerdict {
  readonly state: 'delivered' | 'pending' | 'failed'
  /** Milliseconds from now; null if there is no next attempt. */
  readonly nextInMs: number | null
  /** The endpoint answered 410 Gone. */
  readonly isGone: boolean
  /** The error, for people; null = none. */
  readonly error: string | null
}

/** @param attempts number of attempts before this one */
export function evaluateResponse(response: HttpResult, attempts: number, retryScale: number): AttemptVerdict {
  const error = response.ok ? responseError(response.status) : response.detail
  if (error === null) return { state: 'delivered', nextInMs: null, isGone: false, error }
  if (response.ok && response.status === GONE) return { state: 'failed', nextInMs: null, isGone: true, error }
  if (attempts + 1 >= MAX_ATTEMPTS) return { state: 'failed', nextInMs: null, isGone: false, error }
  return { state: 'pending', nextInMs: backoffMs(RETRY_DELAYS_SECONDS, attempts + 1, retryScale), isGone: false, error }
}

function responseError(status: number): string | null {
  if (status >= 200 && status < 300) return null
  if (status >= 300 && status < 400) return `answered ${status}: redirects are not followed`
  return status === GONE ? 'answered 410 Gone: the endpoint is switched off' : `answered ${status}`
}
