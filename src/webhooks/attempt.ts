/**
 * One attempt of a webhook delivery: signs the body, sends it, and evaluates the response. Always returns a result; a
 * delivery that cannot be sent is a failed attempt with its reason.
 */
import type { Clock } from '#src/platform/clock.ts'
import type { HttpClient, HttpResult } from '#src/net/http-client.ts'
import type { WebhookDelivery } from './delivery-content.ts'
import { eventName } from './payload.ts'
import type { WebhookAttempt } from './result-writer.ts'
import { signatureHeaders } from './sign.ts'
import { evaluateResponse, ATTEMPT_TIMEOUT_MS, type AttemptVerdict } from './response-policy.ts'

export interface AttemptDeps {
  readonly outgoing: HttpClient
  readonly clock: Clock
  readonly retryScale: number
}

const HEADERS = { 'content-type': 'application/json', 'user-agent': 'Mailstead-Webhooks/1' } as const

export async function attemptDelivery(delivery: WebhookDelivery, deps: AttemptDeps): Promise<WebhookAttempt> {
  const at = new Date(deps.clock.now())
  const url = delivery.target?.url ?? ''
  const body = delivery.body ?? ''
  const headers = headersOf(delivery, body, at)
  const response =
    headers === null
      ? notSent(delivery)
      : await deps.outgoing.post(url, { headers, body, timeoutMs: ATTEMPT_TIMEOUT_MS })
  return {
    delivery,
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
  const keys = delivery.target?.keys ?? null
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
