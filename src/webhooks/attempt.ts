/**
 * One attempt of a webhook delivery: signs the body, sends it, and evaluates the response. Always returns a result; a
 * delivery that cannot be sent is a failed attempt with its reason.
 *
 * Only 2xx is success. A redirect is a failure, because its target was not registered; 410 disables the endpoint.
 * Attempts: at once, then after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 10 h.
 */
import { createHmac } from 'node:crypto'
import { eventName } from '#src/events/reported-event.ts'
import { backoffMs } from '#src/platform/backoff.ts'
import type { Clock } from '#src/platform/clock.ts'
import type { HttpClient, HttpResult } from '#src/net/http-client.ts'
import type { ClaimedWebhook, WebhookDelivery, WebhookMessage } from './claim.ts'
import type { WebhookSigningKey } from './secret.ts'

/** Delay after the first, second, … failed attempt. */
export const RETRY_DELAYS_SECONDS = [5, 300, 1800, 7200, 18_000, 36_000, 36_000] as const

export const MAX_ATTEMPTS = RETRY_DELAYS_SECONDS.length + 1
/** Limit for the whole attempt, from DNS to the response body. */
export const ATTEMPT_TIMEOUT_MS = 10_000

const GONE = 410
const TOO_MANY_REQUESTS = 429

export interface AttemptVerdict {
  readonly state: 'delivered' | 'pending' | 'failed'
  /** Milliseconds from now; null if there is no next attempt. */
  readonly nextInMs: number | null
  /** The endpoint answered 410 Gone. */
  readonly isGone: boolean
  /** The error, for people; null = none. */
  readonly error: string | null
}

/** One attempt as stored in the log. */
export interface AttemptRecord {
  readonly at: Date
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly status: number | null
  /** First 4 KB. */
  readonly response: string | null
  readonly durationMs: number
}

export interface WebhookAttempt {
  readonly delivery: ClaimedWebhook
  readonly message: WebhookMessage | null
  readonly verdict: AttemptVerdict
  readonly record: AttemptRecord
}

/**
 * What a request shows about the load of its endpoint, for the window of its queue. `overload`: it timed out, could not
 * connect, or was refused with 429 or 5xx. `neutral` says nothing.
 */
export type LoadSignal =
  | { readonly kind: 'success'; readonly durationMs: number }
  | { readonly kind: 'neutral' }
  | { readonly kind: 'overload' }

/** What the result of an attempt means for the queue. */
export interface AttemptOutcome {
  readonly isDelivered: boolean
  readonly load: LoadSignal
  /** Milliseconds until the next round has work because of it; null: the next sweep finds it. */
  readonly nextInMs: number | null
}

export interface AttemptDeps {
  readonly outgoing: HttpClient
  readonly clock: Clock
  readonly retryScale: number
}

const HEADERS = { 'content-type': 'application/json', 'user-agent': 'Mailstead-Webhooks/1' } as const

/** `traceparent`: the span of the request, for its receiver; null for none. */
export async function attemptDelivery(
  delivery: WebhookDelivery,
  deps: AttemptDeps,
  traceparent: string | null = null,
): Promise<WebhookAttempt> {
  const at = new Date(deps.clock.now())
  const { url } = delivery.target
  const body = delivery.body ?? ''
  const signed = headersOf(delivery, body, at)
  const headers = signed === null || traceparent === null ? signed : { ...signed, traceparent }
  const response =
    headers === null
      ? notSent(delivery)
      : await deps.outgoing.post(url, { headers, body, timeoutMs: ATTEMPT_TIMEOUT_MS })
  return {
    delivery,
    message: delivery.message,
    verdict: verdictFor(delivery, response, deps.retryScale),
    record: {
      at,
      url,
      headers: headers ?? {},
      body,
      durationMs: response.durationMs,
      status: response.ok ? response.status : null,
      response: response.ok ? response.body : null,
    },
  }
}

/** Null if it cannot be signed: nothing is sent without a signature. */
function headersOf(delivery: WebhookDelivery, body: string, at: Date): Record<string, string> | null {
  const { keys } = delivery.target
  if (keys === null || delivery.body === null) return null
  const signed = { id: eventName(delivery.eventId), timestampSeconds: Math.floor(at.getTime() / 1000), body }
  return { ...HEADERS, ...signatureHeaders(keys, signed) }
}

function notSent(delivery: WebhookDelivery): HttpResult {
  const detail =
    delivery.body === null
      ? 'not sent: the event is no longer stored'
      : 'not sent: the signing secret cannot be decrypted (was MASTER_KEY changed?)'
  return { ok: false, reason: 'broken', detail, durationMs: 0 }
}

/** A deleted event fails at once; everything else is retried. */
function verdictFor(delivery: WebhookDelivery, response: HttpResult, retryScale: number): AttemptVerdict {
  const verdict = evaluateResponse(response, delivery.attempts, retryScale)
  return delivery.body === null ? { ...verdict, state: 'failed', nextInMs: null } : verdict
}

export interface SignedContent {
  /** `evt_…`, the same in every attempt. */
  readonly id: string
  readonly timestampSeconds: number
  /** The request body. */
  readonly body: string
}

/**
 * The signatures of one delivery: Standard Webhooks 1.0.0 (webhook-id, webhook-timestamp, webhook-signature:
 * HMAC-SHA256 over id.timestamp.body), and `X-Webhook-Signature: sha256=<hex>` over the body alone, for simple
 * receivers. The simple signature has no timestamp and one secret only: a replayed body passes, and after a rotation it
 * uses the new secret at once.
 * @param keys all valid keys, the newest first; at least one
 */
export function signatureHeaders(
  keys: readonly WebhookSigningKey[],
  { id, timestampSeconds, body }: SignedContent,
): Record<string, string> {
  const [newest] = keys
  if (newest === undefined) throw new Error('cannot sign a webhook without a key')
  const content = `${id}.${timestampSeconds}.${body}`
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestampSeconds),
    'webhook-signature': keys
      .map((key) => `v1,${createHmac('sha256', key.standard).update(content).digest('base64')}`)
      .join(' '),
    'X-Webhook-Signature': `sha256=${createHmac('sha256', newest.simple).update(body).digest('hex')}`,
  }
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

/** An endpoint that answered 410 has deliveries to end: the next claim finds them. */
export function outcomeOf(tried: WebhookAttempt): AttemptOutcome {
  const { state, nextInMs, isGone } = tried.verdict
  const isDelivered = state === 'delivered'
  return { isDelivered, load: loadOf(isDelivered, tried.record), nextInMs: isGone ? 0 : nextInMs }
}

/** @param status null if there was no response */
export function loadOf(
  isDelivered: boolean,
  { status, durationMs }: { readonly status: number | null; readonly durationMs: number },
): LoadSignal {
  if (isDelivered) return { kind: 'success', durationMs }
  return { kind: status !== null && status < TOO_MANY_REQUESTS ? 'neutral' : 'overload' }
}
