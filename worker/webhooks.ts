/**
 * Sends webhooks: the rules of their queue (http-delivery-queue.ts has the rounds). Woken by Redis when rows were stored, by a timer set to the next
 * due time, and every 15 s in any case, so that Redis may be away.
 *
 * At least once: a process that dies between the receiver's answer and the commit has sent an event that comes again, with the same
 * webhook-id, when its lease has run out (60 s). PostgreSQL away: results are kept and written when it returns within the lease.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createAlarm, type Alarm } from '#src/concurrency/debounced-runner.ts'
import { createBatcher } from '#src/concurrency/batcher.ts'
import type { Context } from '#src/context.ts'
import { isDatabaseAway } from '#src/stores/db.ts'
import { isWorthRepeating } from '#src/messages/transition.ts'
import { createOutgoing } from '#src/net/http-client.ts'
import { WEBHOOKS_CHANNEL } from '#src/queue/keys.ts'
import { listenTo } from '#src/stores/redis.ts'
import { attemptDelivery } from '#src/webhooks/attempt.ts'
import { claimDeliveries, LEASE_SECONDS } from '#src/webhooks/claim.ts'
import type { Pace, Room } from '#src/webhooks/endpoint-concurrency.ts'
import { loadDeliveries, type Delivery } from '#src/webhooks/delivery-content.ts'
import { createOpener } from '#src/webhooks/secret.ts'
import { endAbandoned, releaseDeliveries, settleTries, type Tried } from '#src/webhooks/result-writer.ts'
import type { Loop } from './loop.ts'
import { paceWithin, startableMs, startPosting, type Taken } from './http-delivery-queue.ts'

const BOUNDS = { slots: 512, firstWindow: 16, maxWindow: 64 }
const MOST_CLAIMED = 500
const SETTLE = { max: 250, lanes: 2 }
const SWEEP_MS = 15_000
const AWAY_MS = 500
const ENDING_SPACING_MS = 20
const STALE_MS = startableMs(LEASE_SECONDS * 1000)

export function startWebhooks(ctx: Context, redisUrl: string): Loop {
  const means = { outgoing: createOutgoing(ctx.config), clock: ctx.clock, retryScale: ctx.config.retryScale }
  const open = createOpener(ctx.vault)
  const settler = createBatcher<Tried, null>((tried) => repeatSettling(ctx, tried), SETTLE)
  const ending: Alarm = createAlarm(() => endAll(ctx, ending), ENDING_SPACING_MS)

  async function claim(room: Room): Promise<Taken<Delivery>> {
    const { deliveries, unfinished, nextInMs, hasAbandoned } = await claimDeliveries(ctx.db, room)
    if (hasAbandoned) ending.set(0)
    const loaded = deliveries.length === 0 ? [] : await loadDeliveries(ctx.db, deliveries, open)
    return { jobs: loaded.filter(({ target }) => target !== null), unfinished, nextInMs }
  }

  async function settle(tried: Tried): Promise<Pace> {
    report(ctx, tried)
    await settler.add(tried).catch((error: unknown) => {
      ctx.log.error(
        { err: error, event: tried.delivery.eventId },
        'a webhook was tried and could not be settled; it comes again',
      )
    })
    if (tried.verdict.nextInMs !== null) posting.wake(tried.verdict.nextInMs + 1)
    if (tried.verdict.isGone) posting.wake(0)
    return paceOf(tried)
  }

  const posting = startPosting<Delivery, Tried>(ctx.log, {
    name: 'webhooks',
    bounds: BOUNDS,
    mostClaimed: MOST_CLAIMED,
    sweepMs: SWEEP_MS,
    staleMs: STALE_MS,
    laneOf: ({ endpointId }) => endpointId,
    claim,
    attempt: (delivery) => attemptDelivery(delivery, means),
    isDelivered: ({ verdict }) => verdict.state === 'delivered',
    settle,
    abort: () => means.outgoing.close(),
    release: (deliveries) => releaseDeliveries(ctx.db, deliveries),
  })
  const wake = (): void => posting.wake(0)
  const subscriber = listenTo(redisUrl, ctx.log, [WEBHOOKS_CHANNEL], { heard: wake, isListening: wake })
  return {
    stop: async () => {
      subscriber.disconnect()
      await posting.stop()
      await ending.stop()
    },
  }
}

/** Ends what waits for endpoints that are switched off, a slice at a time; claims do not wait for it. */
async function endAll(ctx: Context, again: Alarm): Promise<void> {
  try {
    const { ended, mayHaveMore } = await endAbandoned(ctx.db)
    if (ended > 0) ctx.log.info({ count: ended }, 'webhooks ended: their endpoint is switched off')
    if (mayHaveMore) again.set(0)
  } catch (error) {
    ctx.log.warn({ err: error }, 'webhooks of endpoints that are switched off could not be ended; it is tried again')
    again.set(AWAY_MS)
  }
}

/** Repeats while PostgreSQL is away, as long as the leases last. */
async function repeatSettling(ctx: Context, tried: readonly Tried[]): Promise<null[]> {
  const until = performance.now() + STALE_MS
  for (;;) {
    try {
      await settleTries(ctx.db, tried)
      return tried.map(() => null)
    } catch (error) {
      const mayRepeat = isDatabaseAway(error) || isWorthRepeating(error)
      if (!mayRepeat || performance.now() > until) throw error
      await sleep(AWAY_MS)
    }
  }
}

/** Addresses of webhooks often hold a secret: only their host is logged. */
function report(ctx: Context, { delivery, verdict, record }: Tried): void {
  const host = URL.parse(record.url)?.host
  const line = {
    event: delivery.eventId,
    endpoint: delivery.endpointId,
    host,
    status: record.status,
    ms: record.durationMs,
  }
  if (verdict.state === 'delivered') return ctx.log.debug(line, 'webhook delivered')
  const trouble = { ...line, error: verdict.error, tries: delivery.tries + 1, nextInMs: verdict.nextInMs }
  ctx.log.info(trouble, verdict.state === 'failed' ? 'webhook failed' : 'webhook deferred')
}

function paceOf({ verdict, record }: Tried): Pace {
  if (verdict.state === 'delivered') return paceWithin(record.durationMs)
  return record.status !== null && record.status < 429 ? 'slow' : 'bad'
}
