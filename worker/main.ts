/**
 * The worker process: its loops (`loops.ts`) and its three queues, webhooks, automations and the HTTP calls of
 * automations. Any number of workers may run. PostgreSQL or Redis unavailable: each loop fails and repeats.
 */
import { setFlagsFromString } from 'node:v8'
import type { Config } from '#config/load.ts'
import { beginShutdown } from '#src/concurrency/shutdown.ts'
import { openContext } from '#src/context.ts'
import { startProcessMetrics } from '#src/metrics/process-metrics.ts'
import { startAutomationCalls } from './automation-calls.ts'
import { startAutomations } from './automation-runs.ts'
import { startLoop } from './loop.ts'
import { LOOPS } from './loops.ts'
import { startWebhooks } from './webhooks.ts'

/**
 * Millions of rows pass through, and few of them are needed at a time: the heap is collected before it has grown by
 * more than half. Measured with imports: a quarter less memory (167 MB at most instead of 219), a quarter more CPU.
 */
const HEAP = '--heap-growing-percent=50'

/** Orchestrators wait 30 s before they kill a process; the stores are closed after this. */
const MAX_STOP_MS = 25_000
/** For the rounds under way. */
const LOOPS_MS = 20_000
const LAST_STEP_MS = 500

/** @throws when the URL of a store is missing, or the file of a setting is invalid. */
export function main(config: Config): Promise<{ stop(): Promise<void> }> {
  setFlagsFromString(HEAP)
  const { ctx, redisUrl, close } = openContext(config, 'worker', { keysFor: ['worker'] })
  // All rounds are created before the first loop starts: with an invalid file nothing starts.
  const bulkCtx = { ...ctx, db: ctx.db.bulk }
  const rows = LOOPS.map(({ name, everyMs, isBulk, createRound }) => ({
    name,
    everyMs: typeof everyMs === 'number' ? everyMs : everyMs(config),
    round: createRound(isBulk === true ? bulkCtx : ctx),
  }))
  const loops = [
    ...rows.map((row) => ({ name: row.name, ...startLoop(ctx.log, row) })),
    { name: 'webhooks', ...startWebhooks(ctx, redisUrl) },
    { name: 'automations', ...startAutomations(ctx, redisUrl) },
    { name: 'automation calls', ...startAutomationCalls(ctx) },
  ]
  const metrics = startProcessMetrics(ctx, 'worker')
  ctx.log.info('started')
  return Promise.resolve({
    stop: async () => {
      const shutdown = beginShutdown(ctx.log, MAX_STOP_MS)
      // a round that is cut off is rolled back: each slice of work is one transaction
      await Promise.all(loops.map((loop) => shutdown.step(loop.name, () => loop.stop(), LOOPS_MS)))
      await shutdown.step('metrics', () => metrics.stop(), LAST_STEP_MS)
      await shutdown.step('stores', close)
      ctx.log.info('stopped')
    },
  })
}
