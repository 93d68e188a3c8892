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
import { createBatcher } from '#src/concurrency/batcher.ts'
import type { Context } from '#src/context.ts'
import { createHttpClient } from '#src/net/http-client.ts'
import type { Loop } from './loop.ts'
import { paceWithin, startableMs, startDeliveryQueue, type ResponseSpeed } from './http-delivery-queue.ts'

const BOUNDS = { slots: 256, firstWindow: 8, maxWindow: 64 }
/** A call contains a contact, up to about 80 KB. */
const MAX_CLAIMED = 250
const SETTLE = { max: 250, concurrency: 1 }
/** A call starts within this time after its step. */
const SWEEP_MS = 500

export function startAutomationCalls(ctx: Context): Loop {
  const deps = { clock: ctx.clock, config: ctx.config, outgoing: createHttpClient(ctx.config) }
  const resultBatcher = createBatcher<CallResult, null>(async (result) => {
    await recordCallResults(ctx.db, result)
    return result.map(() => null)
  }, SETTLE)

  async function settle(result: CallResult): Promise<ResponseSpeed> {
    await resultBatcher.add(result).catch((error: unknown) => {
      ctx.log.warn(
        { err: error, call: result.call.id },
        'failed to store the result of an automation call; the call is repeated',
      )
    })
    return result.state === 'delivered' ? paceWithin(result.durationMs) : 'bad'
  }

  return startDeliveryQueue<WebhookCall, CallResult>(ctx.log, {
    name: 'automation calls',
    bounds: BOUNDS,
    maxClaimed: MAX_CLAIMED,
    sweepMs: SWEEP_MS,
    staleMs: startableMs(LEASE_MS),
    laneOf: ({ endpoint }) => endpoint,
    claim: async (room) => ({ ...(await claimCalls(ctx.db, room, ctx.clock.now())), nextInMs: null }),
    attempt: (call) => makeCall(deps, call),
    isDelivered: ({ state }) => state === 'delivered',
    settle,
    abort: () => deps.outgoing.close(),
    release: (calls) => releaseCalls(ctx.db, calls),
  })
}
