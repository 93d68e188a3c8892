/**
 * The worker process: its loops (`loops.ts`) and its three queues, webhooks, automations and the HTTP calls of
 * automations. Any number of workers may run. PostgreSQL or Redis unavailable: each loop fails and repeats. Nothing
 * runs before the mode of the installation is known (src/installation-mode.ts).
 */
import { setFlagsFromString } from 'node:v8'
import type { Config } from '#config/load.ts'
import { createPausable, type Pausable } from '#src/concurrency/pausable.ts'
import { beginShutdown } from '#src/concurrency/shutdown.ts'
import { checkStores, openTracedContext, type Context } from '#src/context.ts'
import { watchMode } from '#src/installation-mode.ts'
import { startProcessMetrics } from '#src/metrics/process-metrics.ts'
import type { MetricRegistry } from '#src/metrics/registry.ts'
import { startClockWatch } from '#src/operator/clock-watch.ts'
import { startNodeMembership } from '#src/operator/node-membership.ts'
import { clockProblem } from '#src/stores/server-clock.ts'
import { startAutomationCalls } from './automation-calls.ts'
import { startAutomations } from './automation-runs.ts'
import { firstPauses, startLoop, type Loop } from './loop.ts'
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

interface QueueRow {
  readonly name: string
  readonly start: (ctx: Context, redisUrl: string, metrics: MetricRegistry) => Loop
}

/** What a drain of the node stops, and its end starts again. */
const QUEUES: readonly QueueRow[] = [
  { name: 'webhooks', start: startWebhooks },
  { name: 'automations', start: startAutomations },
  { name: 'automation calls', start: startAutomationCalls },
]

interface WorkerOptions {
  /** Called when the keys were read, before anything is done with them: the process may give up its rights. */
  readonly onOpened?: () => void
}

/** @throws when the URL of a store is missing, or the file of a setting is invalid. */
export async function main(
  config: Config,
  { onOpened = () => undefined }: WorkerOptions = {},
): Promise<{ stop(): Promise<void> }> {
  setFlagsFromString(HEAP)
  const context = await openTracedContext(config, 'worker', { keysFor: ['worker'] })
  onOpened()
  const mode = await checkStores(context)
  const { ctx, redisUrl, close } = context
  // All rounds are created before the first loop starts: with an invalid file nothing starts.
  const bulkCtx = { ...ctx, db: ctx.db.bulk }
  const isClockRight = (): boolean => clockProblem(ctx.db.clock, config.maxClockSkewSeconds) === null
  const rows = LOOPS.map(({ name, everyMs, idleMs, isBulk, isTimeless, createRound }) => ({
    name,
    everyMs: typeof everyMs === 'number' ? everyMs : everyMs(config),
    ...(idleMs === undefined ? {} : { idleMs }),
    round: createRound(isBulk === true ? bulkCtx : ctx),
    mayRun: () => mayWork() && (isTimeless === true || isClockRight()),
  }))
  let queues: readonly WorkerQueue[] = []
  const node = startNodeMembership(ctx, {
    roles: ['worker'],
    isDrained: () => queues.every(({ queue }) => queue.isStopped),
    onDraining: () => pauseQueues(),
  })
  const mayWork = (): boolean => mode.isAgreed && !node.isDraining
  const pauseQueues = (): void => {
    for (const { queue } of queues) queue.setPaused(!mayWork())
  }
  await node.reported
  const metrics = startProcessMetrics(ctx, 'worker')
  queues = QUEUES.map((row) => startQueue(row, !mayWork(), { ctx, redisUrl, metrics }))
  const endModeWatch = watchMode(mode, ctx.log, pauseQueues)
  const pauses = firstPauses(rows.map(({ everyMs }) => everyMs))
  const loops = rows.map((row, i) => ({ name: row.name, ...startLoop(ctx.log, { ...row, firstMs: pauses[i] ?? 0 }) }))
  const clockWatch = startClockWatch(ctx, 'worker')
  ctx.log.info('started')
  return {
    stop: async () => {
      endModeWatch()
      const shutdown = beginShutdown(ctx.log, MAX_STOP_MS)
      // a round that is cut off is rolled back: each slice of work is one transaction
      await Promise.all([
        ...loops.map((loop) => shutdown.step(loop.name, () => loop.stop(), LOOPS_MS)),
        ...queues.map(({ name, queue }) => shutdown.step(name, () => queue.stop(), LOOPS_MS)),
      ])
      clockWatch.stop()
      await shutdown.step('node', () => node.stop(), LAST_STEP_MS)
      await shutdown.step('metrics', () => metrics.stop(), LAST_STEP_MS)
      await shutdown.step('traces', async () => ctx.tracer?.stop(), LAST_STEP_MS)
      await shutdown.step('stores', close)
      ctx.log.info('stopped')
    },
  }
}

interface WorkerQueue {
  readonly name: string
  readonly queue: Pausable
}

interface QueueDeps {
  readonly ctx: Context
  readonly redisUrl: string
  readonly metrics: MetricRegistry
}

function startQueue({ name, start }: QueueRow, isPaused: boolean, { ctx, redisUrl, metrics }: QueueDeps): WorkerQueue {
  const onError = (error: unknown): void =>
    ctx.log.warn({ err: error, queue: name }, 'a queue did not start or stop; it is repeated')
  const begin = (): Loop => start(ctx, redisUrl, metrics)
  return { name, queue: createPausable(isPaused ? null : begin(), { start: async () => begin(), onError }) }
}
