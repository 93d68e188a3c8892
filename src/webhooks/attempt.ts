/**
 * One try of one delivery: signed now, posted, judged. A value in every case; what could not even be sent is a failed try with its reason.
 */
import type { Clock } from '#src/platform/clock.ts'
import type { Outgoing, Posted } from '#src/net/http-client.ts'
import type { Delivery } from './delivery-content.ts'
import { eventName } from './payload.ts'
import type { Tried } from './result-writer.ts'
import { signatureHeaders } from './sign.ts'
import { judge, TRY_TIMEOUT_MS, type Verdict } from './response-policy.ts'

export interface Means {
  readonly outgoing: Outgoing
  readonly clock: Clock
  readonly retryScale: number
}

const HEADERS = { 'content-type': 'application/json', 'user-agent': 'Mailstead-Webhooks/1' } as const

export async function attemptDelivery(delivery: Delivery, means: Means): Promise<Tried> {
  const at = new Date(means.clock.now())
  const url = delivery.target?.url ?? ''
  const body = delivery.body ?? ''
  const headers = headersOf(delivery, body, at)
  const posted =
    headers === null ? obstacle(delivery) : await means.outgoing.post(url, { headers, body, timeoutMs: TRY_TIMEOUT_MS })
  return {
    delivery,
    verdict: verdictOn(delivery, posted, means.retryScale),
    record: {
      at,
      url,
      headers: headers ?? {},
      body,
      durationMs: posted.durationMs,
      status: posted.ok ? posted.status : null,
      response: posted.ok ? posted.body : null,
    },
  }
}

/** Null when it cannot be signed: nothing leaves without a signature. */
function headersOf(delivery: Delivery, body: string, at: Date): Record<string, string> | null {
  const keys = delivery.target?.keys ?? null
  if (keys === null || delivery.body === null) return null
  const signed = { id: eventName(delivery.eventId), timestampSeconds: Math.floor(at.getTime() / 1000), body }
  return { ...HEADERS, ...signatureHeaders(keys, signed) }
}

function obstacle(delivery: Delivery): Posted {
  const detail =
    delivery.body === null
      ? 'not sent: the event is no longer stored'
      : 'not sent: the signing secret cannot be opened (was MASTER_KEY changed?)'
  return { ok: false, reason: 'broken', detail, durationMs: 0 }
}

/** An event that is gone does not come back; everything else is worth another try. */
function verdictOn(delivery: Delivery, posted: Posted, retryScale: number): Verdict {
  const verdict = judge(posted, delivery.tries, retryScale)
  return delivery.body === null ? { ...verdict, state: 'failed', nextInMs: null } : verdict
}
