/**
 * What a try means. Only 2xx is success; a redirect is a failure, since what lies behind it was not registered; 410 switches the endpoint
 * off. A failed try comes again on the schedule of the contract: at once, then after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 10 h.
 */
import { backoffMs } from '#src/platform/backoff.ts'
import type { HttpResult } from '#src/net/http-client.ts'

/** After the first, second, … failed try. */
export const RETRY_DELAYS_SECONDS = [5, 300, 1800, 7200, 18_000, 36_000, 36_000] as const

export const MAX_ATTEMPTS = RETRY_DELAYS_SECONDS.length + 1
/** For everything from the name to the answer. */
export const ATTEMPT_TIMEOUT_MS = 10_000

const GONE = 410

export interface AttemptVerdict {
  readonly state: 'delivered' | 'pending' | 'failed'
  /** From now on; null when there is no next try. */
  readonly nextInMs: number | null
  /** The endpoint said that it wants no more. */
  readonly isGone: boolean
  /** What went wrong, for people; null = nothing. */
  readonly error: string | null
}

/** @param tries how many were made before this one. */
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
