/**
 * Sends webhooks: claims due deliveries from PostgreSQL, posts them, writes down what became of them. Woken by Redis when rows were stored,
 * by a timer set to the next due time, and every 15 s in any case, so that Redis may be away. Any number of workers share the table.
 *
 * At least once: a process that dies between the receiver's answer and the commit has sent an event that comes again, with the same
 * webhook-id, when its lease has run out (60 s). PostgreSQL away: results are kept and written when it returns within the lease; nothing
 * new is claimed. Stopping waits 3 s for what is under way; what is not done by then is given back, uncounted.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createBatcher } from '#src/batcher.ts'
import type { Context } from '#src/context.ts'
import { isDatabaseAway } from '#src/db.ts'
import { isWorthRepeating } from '#src/messages/move.ts'
import { createOutgoing } from '#src/outgoing.ts'
import { WEBHOOKS_CHANNEL } from '#src/queue/keys.ts'
import { openRedis, type Redis } from '#src/redis.ts'
import { attemptDelivery } from '#src/webhooks/attempt.ts'
import { claimDeliveries, LEASE_SECONDS, type Claim } from '#src/webhooks/claim.ts'
import { Lanes, type Pace } from '#src/webhooks/lanes.ts'
import { loadDeliveries, type Delivery } from '#src/webhooks/load.ts'
import { createOpener } from '#src/webhooks/secret.ts'
import { endAbandoned, releaseDeliveries, settleTries, type Tried } from '#src/webhooks/settle.ts'
import { TRY_TIMEOUT_MS } from '#src/webhooks/verdict.ts'
import { createAlarm } from './alarm.ts'
import type { Loop } from './loop.ts'

const BOUNDS = { slots: 512, firstWindow: 16, maxWindow: 64 }
// A lane holds up to twice its window, so that it does not run dry while the next rows are claimed.
const EACH = 2 * BOUNDS.firstWindow
const MAX_CLAIM = 500
const MAX_HELD = 2 * BOUNDS.slots
const SETTLE = { max: 250, lanes: 2 }
const SWEEP_MS = 15_000
// A shower of wakes becomes 50 claims a second, each of a good size.
const SPACING_MS = 20
const AWAY_MS = 500
const QUICK_MS = 1000
const GRACE_MS = 3000
/** After this a held delivery is not begun: its lease must outlast the try and its settling. */
const STALE_MS = LEASE_SECONDS * 1000 - TRY_TIMEOUT_MS - 15_000

interface Held {
  readonly delivery: Delivery
  readonly staleAt: number
}

export function startWebhooks(ctx: Context, redisUrl: string): Loop {
  const means = { outgoing: createOutgoing(ctx.config), clock: ctx.clock, retryScale: ctx.config.retryScale }
  const open = createOpener(ctx.vault)
  const underWay = new Set<Delivery>()
  const settler = createBatcher<Tried, null>((tried) => settle(ctx, tried), SETTLE)
  const alarm = createAlarm(round, SPACING_MS)
  const lanes = new Lanes<Held>(BOUNDS, { run: carryOut, onHungry: (lane) => { if (isHeldBack || unfinished.has(lane)) alarm.set(0) } })
  let unfinished: ReadonlySet<string> = new Set()
  let isHeldBack = false
  let isAborted = false

  async function round(): Promise<void> {
    alarm.set(SWEEP_MS)
    const total = Math.min(MAX_CLAIM, MAX_HELD - lanes.held)
    isHeldBack = total <= 0
    if (isHeldBack) return
    const staleAt = performance.now() + STALE_MS
    try {
      const claim = await claimDeliveries(ctx.db, { total, each: EACH, endpoints: lanes.rooms() })
      unfinished = claim.unfinished
      if (claim.nextInMs !== null) alarm.set(claim.nextInMs + 1)
      const ending = endAll(ctx, claim)
      const deliveries = claim.deliveries.length === 0 ? [] : await loadDeliveries(ctx.db, claim.deliveries, open)
      for (const delivery of deliveries) lanes.add(delivery.endpointId, { delivery, staleAt })
      await ending
    } catch (error) {
      ctx.log.warn({ err: error }, 'webhooks could not be claimed; it is tried again')
      alarm.set(AWAY_MS)
    }
  }

  async function carryOut({ delivery, staleAt }: Held): Promise<Pace> {
    // its lease runs out soon; it is claimed again then
    if (performance.now() > staleAt || delivery.target === null) return 'slow'
    underWay.add(delivery)
    const tried = await attemptDelivery(delivery, means)
    if (isAborted && tried.verdict.state !== 'delivered') return 'bad'
    report(ctx, tried)
    await settler.add(tried).catch((error: unknown) => {
      ctx.log.error({ err: error, event: delivery.eventId }, 'a webhook was tried and could not be settled; it comes again')
    })
    underWay.delete(delivery)
    if (tried.verdict.nextInMs !== null) alarm.set(tried.verdict.nextInMs + 1)
    if (tried.verdict.isGone) alarm.set(0)
    return paceOf(tried)
  }

  const subscriber = subscribe(ctx, redisUrl, () => alarm.set(0))
  alarm.set(0)
  return {
    stop: async () => {
      await alarm.stop()
      subscriber.disconnect()
      const waiting = lanes.clear().map(({ delivery }) => delivery)
      await Promise.race([lanes.idle(), sleep(GRACE_MS, undefined, { ref: false })])
      isAborted = true
      means.outgoing.close()
      await Promise.race([lanes.idle(), sleep(AWAY_MS)])
      await releaseDeliveries(ctx.db, [...waiting, ...underWay]).catch((error: unknown) => {
        ctx.log.warn({ err: error }, 'webhooks could not be given back; their lease runs out')
      })
    },
  }
}

function subscribe(ctx: Context, redisUrl: string, wake: () => void): Redis {
  const subscriber = openRedis(redisUrl, ctx.log, 'subscriber')
  subscriber.on('message', wake)
  subscriber.on('ready', () => {
    subscriber.subscribe(WEBHOOKS_CHANNEL).then(wake, (error: unknown) => {
      ctx.log.debug({ err: error }, 'webhooks could not subscribe; the next connection does')
    })
  })
  return subscriber
}

async function endAll(ctx: Context, claim: Claim): Promise<void> {
  for (let mayHaveMore = claim.hasAbandoned; mayHaveMore;) {
    const result = await endAbandoned(ctx.db)
    mayHaveMore = result.mayHaveMore
    if (result.ended > 0) ctx.log.info({ count: result.ended }, 'webhooks ended: their endpoint is switched off')
  }
}

/** Repeats while PostgreSQL is away, as long as the leases last. */
async function settle(ctx: Context, tried: readonly Tried[]): Promise<null[]> {
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
  const line = { event: delivery.eventId, endpoint: delivery.endpointId, host, status: record.status, ms: record.durationMs }
  if (verdict.state === 'delivered') return ctx.log.debug(line, 'webhook delivered')
  const trouble = { ...line, error: verdict.error, tries: delivery.tries + 1, nextInMs: verdict.nextInMs }
  ctx.log.info(trouble, verdict.state === 'failed' ? 'webhook failed' : 'webhook deferred')
}

function paceOf({ verdict, record }: Tried): Pace {
  if (verdict.state === 'delivered') return record.durationMs <= QUICK_MS ? 'quick' : 'slow'
  return record.status !== null && record.status < 429 ? 'slow' : 'bad'
}
