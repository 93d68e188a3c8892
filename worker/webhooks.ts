/**
 * Sends webhooks: connects `src/webhooks` with the queue of http-delivery-queue.ts. Redis wakes it when deliveries are
 * stored, a timer wakes it for the next due delivery, and it runs every 15 s in any case, so that Redis may be
 * unavailable.
 *
 * At least once: if the process dies between the response of the endpoint and the commit, the event is sent again with
 * the same webhook-id when its lease (60 s) expires. PostgreSQL unavailable: results stay in memory and are stored when
 * it is back within the lease.
 */
import { createDebouncedRunner, type DebouncedRunner } from '#src/concurrency/debounced-runner.ts'
import type { Context } from '#src/context.ts'
import { createRegistry, type MetricRegistry } from '#src/metrics/registry.ts'
import { createHttpClient } from '#src/net/http-client.ts'
import { timeOf } from '#src/platform/id.ts'
import { WEBHOOKS_CHANNEL } from '#src/queue/keys.ts'
import { subscribeToChannels } from '#src/stores/redis.ts'
import { ATTEMPT_TIMEOUT_MS, attemptDelivery, outcomeOf, type WebhookAttempt } from '#src/webhooks/attempt.ts'
import { claimDeliveries, LEASE_SECONDS, type WebhookDelivery } from '#src/webhooks/claim.ts'
import { createSecretDecryptor } from '#src/webhooks/secret.ts'
import { endAbandoned, recordWithRetry, releaseDeliveries } from '#src/webhooks/result-writer.ts'
import type { Loop } from './loop.ts'
import { startableMs, startDeliveryQueue } from './http-delivery-queue.ts'
import { attemptWithSpan } from './webhook-span.ts'
import { traceIdOf } from '#src/traces/traceparent.ts'

const BOUNDS = { slots: 512, firstWindow: 1, maxWindow: 64, timeoutMs: ATTEMPT_TIMEOUT_MS }
const MAX_CLAIMED = 500
const STORING = { max: 250, concurrency: 2 }
const SWEEP_MS = 15_000
const AWAY_MS = 500
const END_SPACING_MS = 20
const STALE_MS = startableMs(LEASE_SECONDS * 1000)

export function startWebhooks(ctx: Context, redisUrl: string, metrics: MetricRegistry = createRegistry()): Loop {
  const outgoing = createHttpClient(ctx.config)
  const attemptDeps = { outgoing, clock: ctx.clock, retryScale: ctx.config.retryScale }
  const ending: DebouncedRunner = createDebouncedRunner(() => endAll(ctx, ending), END_SPACING_MS)
  const claimDeps = {
    db: ctx.db,
    decrypt: createSecretDecryptor(ctx.encryption),
    onAbandoned: () => ending.schedule(0),
  }
  const queue = startDeliveryQueue<WebhookDelivery, WebhookAttempt>(ctx.log, {
    name: 'webhooks',
    bounds: BOUNDS,
    maxClaimed: MAX_CLAIMED,
    sweepMs: SWEEP_MS,
    staleMs: STALE_MS,
    idOf: ({ eventId }) => eventId,
    laneOf: ({ endpointId }) => endpointId,
    claim: (room) => claimDeliveries(claimDeps, room),
    attempt: (delivery) =>
      attemptWithSpan(ctx.tracer, delivery, (traceparent) => attemptDelivery(delivery, attemptDeps, traceparent)),
    outcomeOf,
    logResult: (tried) => {
      countResult(ctx, metrics, tried)
      logResult(ctx, tried)
    },
    store: (tried) => recordWithRetry(ctx.db, tried, STALE_MS),
    storing: STORING,
    abort: () => outgoing.close(),
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

const RESULTS = { delivered: 'delivered', pending: 'deferred', failed: 'failed' } as const

function countResult({ clock }: Context, metrics: MetricRegistry, { delivery, verdict, record }: WebhookAttempt): void {
  const status = record.status === null ? 'none' : `${Math.floor(record.status / 100)}xx`
  metrics.add('mailstead_webhook_attempts_total', [RESULTS[verdict.state], status])
  metrics.observe('mailstead_webhook_attempt_duration_seconds', [], record.durationMs / 1000)
  if (verdict.state !== 'delivered') return
  metrics.observe('mailstead_webhook_lag_seconds', [], Math.max(0, clock.now() - timeOf(delivery.eventId)) / 1000)
}

/** Webhook URLs often contain a secret: only the host is logged. */
function logResult(ctx: Context, { delivery, message, verdict, record }: WebhookAttempt): void {
  const host = URL.parse(record.url)?.host
  const line = {
    ...(message === null ? {} : { requestId: message.requestId ?? undefined, id: message.id }),
    traceId: traceIdOf(message?.traceparent),
    event: delivery.eventId,
    endpoint: delivery.endpointId,
    host,
    status: record.status,
    ms: record.durationMs,
  }
  if (verdict.state === 'delivered') return ctx.log.info(line, 'webhook delivered')
  const failure = { ...line, error: verdict.error, tries: delivery.attempts + 1, nextInMs: verdict.nextInMs }
  ctx.log.info(failure, verdict.state === 'failed' ? 'webhook failed' : 'webhook deferred')
}
