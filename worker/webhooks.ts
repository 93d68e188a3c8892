/**
 * Sends webhooks, on the queue of http-delivery-queue.ts. Redis wakes it when deliveries are stored, a timer wakes it
 * for the next due delivery, and it runs every 15 s in any case, so that Redis may be unavailable.
 *
 * At least once: if the process dies between the response of the endpoint and the commit, the event is sent again with
 * the same webhook-id when its lease (60 s) expires. PostgreSQL unavailable: results stay in memory and are stored when
 * it is back within the lease.
 */
import { createDebouncedRunner, type DebouncedRunner } from '#src/concurrency/debounced-runner.ts'
import { createBatcher } from '#src/concurrency/batcher.ts'
import type { Context } from '#src/context.ts'
import { createHttpClient } from '#src/net/http-client.ts'
import { WEBHOOKS_CHANNEL } from '#src/queue/keys.ts'
import { subscribeToChannels } from '#src/stores/redis.ts'
import { attemptDelivery, type WebhookAttempt } from '#src/webhooks/attempt.ts'
import { claimDeliveries, LEASE_SECONDS, type QueueCapacity, type WebhookDelivery } from '#src/webhooks/claim.ts'
import { createSecretDecryptor } from '#src/webhooks/secret.ts'
import { endAbandoned, recordWithRetry, releaseDeliveries } from '#src/webhooks/result-writer.ts'
import type { Loop } from './loop.ts'
import {
  paceWithin,
  startableMs,
  startDeliveryQueue,
  type ClaimedJobs,
  type ResponseSpeed,
} from './http-delivery-queue.ts'

const BOUNDS = { slots: 512, firstWindow: 16, maxWindow: 64 }
const MAX_CLAIMED = 500
const SETTLE = { max: 250, concurrency: 2 }
const SWEEP_MS = 15_000
const AWAY_MS = 500
const END_SPACING_MS = 20
const STALE_MS = startableMs(LEASE_SECONDS * 1000)

export function startWebhooks(ctx: Context, redisUrl: string): Loop {
  const deps = { outgoing: createHttpClient(ctx.config), clock: ctx.clock, retryScale: ctx.config.retryScale }
  const decrypt = createSecretDecryptor(ctx.encryption)
  const resultBatcher = createBatcher<WebhookAttempt, null>((tried) => recordWithRetry(ctx.db, tried, STALE_MS), SETTLE)
  const ending: DebouncedRunner = createDebouncedRunner(() => endAll(ctx, ending), END_SPACING_MS)

  async function claim(room: QueueCapacity): Promise<ClaimedJobs<WebhookDelivery>> {
    const { deliveries, unfinished, nextInMs, hasAbandoned } = await claimDeliveries(ctx.db, room, decrypt)
    if (hasAbandoned) ending.schedule(0)
    return { jobs: deliveries.filter(({ target }) => target !== null), unfinished, nextInMs }
  }

  async function settle(tried: WebhookAttempt): Promise<ResponseSpeed> {
    logResult(ctx, tried)
    await resultBatcher.add(tried).catch((error: unknown) => {
      ctx.log.error(
        { err: error, event: tried.delivery.eventId },
        'failed to store the result of a webhook; it is sent again',
      )
    })
    if (tried.verdict.nextInMs !== null) queue.wake(tried.verdict.nextInMs + 1)
    if (tried.verdict.isGone) queue.wake(0)
    return paceOf(tried)
  }

  const queue = startDeliveryQueue<WebhookDelivery, WebhookAttempt>(ctx.log, {
    name: 'webhooks',
    bounds: BOUNDS,
    maxClaimed: MAX_CLAIMED,
    sweepMs: SWEEP_MS,
    staleMs: STALE_MS,
    laneOf: ({ endpointId }) => endpointId,
    claim,
    attempt: (delivery) => attemptDelivery(delivery, deps),
    isDelivered: ({ verdict }) => verdict.state === 'delivered',
    settle,
    abort: () => deps.outgoing.close(),
    release: (deliveries) => releaseDeliveries(ctx.db, deliveries),
  })
  const wake = (): void => queue.wake(0)
  const subscriber = subscribeToChannels(redisUrl, ctx.log, { [WEBHOOKS_CHANNEL]: wake }, wake)
  return {
    stop: async () => {
      subscriber.disconnect()
      await queue.stop()
      await ending.stop()
    },
  }
}

/** Ends the deliveries of disabled endpoints in slices; claims do not wait for it. */
async function endAll(ctx: Context, again: DebouncedRunner): Promise<void> {
  try {
    const { ended, mayHaveMore } = await endAbandoned(ctx.db)
    if (ended > 0) ctx.log.info({ count: ended }, 'webhooks cancelled: their endpoint is disabled')
    if (mayHaveMore) again.schedule(0)
  } catch (error) {
    ctx.log.warn({ err: error }, 'failed to cancel webhooks of disabled endpoints; it is retried')
    again.schedule(AWAY_MS)
  }
}

/** Webhook URLs often contain a secret: only the host is logged. */
function logResult(ctx: Context, { delivery, verdict, record }: WebhookAttempt): void {
  const host = URL.parse(record.url)?.host
  const line = {
    event: delivery.eventId,
    endpoint: delivery.endpointId,
    host,
    status: record.status,
    ms: record.durationMs,
  }
  if (verdict.state === 'delivered') return ctx.log.debug(line, 'webhook delivered')
  const failure = { ...line, error: verdict.error, tries: delivery.attempts + 1, nextInMs: verdict.nextInMs }
  ctx.log.info(failure, verdict.state === 'failed' ? 'webhook failed' : 'webhook deferred')
}

function paceOf({ verdict, record }: WebhookAttempt): ResponseSpeed {
  if (verdict.state === 'delivered') return paceWithin(record.durationMs)
  return record.status !== null && record.status < 429 ? 'slow' : 'bad'
}
