/**
 * Makes the HTTP calls of automations' webhook steps, on the queue of http-delivery-queue.ts. At least once: if a
 * result is not stored, because PostgreSQL is unavailable or the process dies, the call is repeated with the same id
 * when its lease expires.
 */
import {
  claimCalls,
  LEASE_MS,
  makeCall,
  releaseCalls,
  recordCallResults,
  type WebhookCall,
  type CallResult,
} from '#src/automations/webhook-calls.ts'
import type { Context } from '#src/context.ts'
import { createHttpClient } from '#src/net/http-client.ts'
import { ATTEMPT_TIMEOUT_MS, loadOf, type AttemptOutcome } from '#src/webhooks/attempt.ts'
import { createSecretDecryptor } from '#src/webhooks/secret.ts'
import type { Loop } from './loop.ts'
import { startableMs, startDeliveryQueue } from './http-delivery-queue.ts'

const BOUNDS = { slots: 256, firstWindow: 1, maxWindow: 64, timeoutMs: ATTEMPT_TIMEOUT_MS }
/** A call contains a contact, up to about 80 KB. */
const MAX_CLAIMED = 250
const STORING = { max: 250, concurrency: 1 }
/** A call starts within this time after its step. */
const SWEEP_MS = 500

export function startAutomationCalls(ctx: Context): Loop {
  const deps = { clock: ctx.clock, config: ctx.config, outgoing: createHttpClient(ctx.config) }
  const signing = { db: ctx.db, encryption: ctx.encryption, decrypt: createSecretDecryptor(ctx.encryption) }
  return startDeliveryQueue<WebhookCall, CallResult>(ctx.log, {
    name: 'automation calls',
    bounds: BOUNDS,
    maxClaimed: MAX_CLAIMED,
    sweepMs: SWEEP_MS,
    staleMs: startableMs(LEASE_MS),
    idOf: ({ id }) => id,
    laneOf: ({ endpoint }) => endpoint,
    claim: async (room) => ({ ...(await claimCalls(signing, room, ctx.clock.now())), nextInMs: null }),
    attempt: (call) => makeCall(deps, call),
    outcomeOf,
    store: (results) => recordCallResults(ctx.db, results),
    storing: STORING,
    abort: () => deps.outgoing.close(),
    release: (calls) => releaseCalls(ctx.db, calls),
  })
}

function outcomeOf({ state, status, durationMs }: CallResult): AttemptOutcome {
  const isDelivered = state === 'delivered'
  return { isDelivered, load: loadOf(isDelivered, { status, durationMs }), nextInMs: null }
}
