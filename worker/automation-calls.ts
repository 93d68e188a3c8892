/**
 * Makes the calls of webhook steps: the rules of their queue (http-delivery-queue.ts has the rounds). At least once: what could not be written down,
 * because PostgreSQL was away or the process died, is made again with the same id when its lease has run out.
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
import type { ResponseSpeed } from '#src/webhooks/endpoint-concurrency.ts'
import type { Loop } from './loop.ts'
import { paceWithin, startableMs, startDeliveryQueue } from './http-delivery-queue.ts'

const BOUNDS = { slots: 256, firstWindow: 8, maxWindow: 64 }
/** A call carries a contact, up to some 80 KB. */
const MAX_CLAIMED = 250
const SETTLE = { max: 250, concurrency: 1 }
/** Calls of a step that was just taken go out within it. */
const SWEEP_MS = 500

export function startAutomationCalls(ctx: Context): Loop {
  const deps = { clock: ctx.clock, config: ctx.config, outgoing: createHttpClient(ctx.config) }
  const resultBatcher = createBatcher<CallResult, null>(async (told) => {
    await recordCallResults(ctx.db, told)
    return told.map(() => null)
  }, SETTLE)

  async function settle(told: CallResult): Promise<ResponseSpeed> {
    await resultBatcher.add(told).catch((error: unknown) => {
      ctx.log.warn(
        { err: error, call: told.call.id },
        'a call of an automation was made and could not be settled; it comes again',
      )
    })
    return told.state === 'delivered' ? paceWithin(told.durationMs) : 'bad'
  }

  return startDeliveryQueue<WebhookCall, CallResult>(ctx.log, {
    name: 'calls of automations',
    bounds: BOUNDS,
    maxClaimed: MAX_CLAIMED,
    sweepMs: SWEEP_MS,
    staleMs: startableMs(LEASE_MS),
    laneOf: ({ lane }) => lane,
    claim: async (room) => ({ ...(await claimCalls(ctx.db, room, ctx.clock.now())), nextInMs: null }),
    attempt: (call) => makeCall(deps, call),
    isDelivered: ({ state }) => state === 'delivered',
    settle,
    abort: () => deps.outgoing.close(),
    release: (calls) => releaseCalls(ctx.db, calls),
  })
}
