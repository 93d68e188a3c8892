/**
 * Owns one worker thread and watches it. A batch either returns its results or the thread dies: because one job used
 * too much CPU time or memory (the outcome names the job, so the others can run elsewhere), or because of an internal
 * error.
 *
 * The limit is CPU time of the thread, so that a busy machine does not fail good templates. A thread that makes no
 * progress for 20 times its limit in wall-clock time is terminated as well.
 */
import { Worker } from 'node:worker_threads'
import { THREAD_ENV, THREAD_OPTIONS } from '#src/platform/thread-env.ts'
import { type BatchResults, type Phase, decodeProgress } from './render-protocol.ts'

export type BatchOutcome<Result> =
  | { readonly kind: 'done'; readonly results: readonly Result[] }
  /** The thread was terminated because of this job. */
  | { readonly kind: 'killed'; readonly job: number; readonly reason: string }
  | { readonly kind: 'crashed'; readonly error: Error }

export interface WorkerThread<Batch, Result> {
  /** Runs one batch at a time. After any outcome other than `done` the thread cannot be used again. */
  run(batch: Batch): Promise<BatchOutcome<Result>>
  /** CPU milliseconds that the thread has used; 0 if it has ended. */
  cpuMs(): Promise<number>
  stop(): Promise<void>
}

/** CPU milliseconds for one step of one job. */
export interface CpuLimits extends Readonly<Record<Exclude<Phase, 'write'>, number>> {
  /** Limit of the `write` phase, if the thread has one. */
  readonly write?: number
}

export const DEFAULT_MEMORY_LIMITS = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 }
const WATCH_EVERY_MS = 25
/** A step may take this many times its CPU limit in wall-clock time. */
const WALL_CLOCK_FACTOR = 20
const START_TIMEOUT_MS = 30_000
const PHASE_LABELS: Readonly<Record<Phase, string>> = { compile: 'compiling', render: 'rendering', write: 'writing' }

/** `file` is the worker script. It answers a batch with results in the order of its jobs. */
export function startThread<Batch, Result>(
  file: URL,
  limits: CpuLimits,
  memory = DEFAULT_MEMORY_LIMITS,
): WorkerThread<Batch, Result> {
  const progress = new Int32Array(new SharedArrayBuffer(4))
  const options = { workerData: progress, resourceLimits: memory, env: THREAD_ENV, execArgv: [...THREAD_OPTIONS] }
  const worker = new Worker(file, options)
  worker.unref()
  let settle: ((outcome: BatchOutcome<Result>) => void) | null = null
  let failure: BatchOutcome<never> | null = null

  const fail = (outcome: BatchOutcome<never>): void => {
    failure ??= outcome
    void worker.terminate()
    settle?.(failure)
  }
  worker.on('message', ({ results }: BatchResults<Result>) => settle?.({ kind: 'done', results }))
  worker.on('error', (error) => fail(classifyThreadError(error, Atomics.load(progress, 0))))
  worker.on('exit', (code) =>
    fail({ kind: 'crashed', error: new Error(`the template worker ended with code ${code}`) }),
  )

  return {
    async run(batch) {
      const { promise, resolve } = Promise.withResolvers<BatchOutcome<Result>>()
      settle = resolve
      if (failure !== null) return failure
      worker.ref()
      const watch = setInterval(createWatch(worker, progress, limits, fail), WATCH_EVERY_MS)
      worker.postMessage(batch, [])
      const outcome = await promise
      clearInterval(watch)
      worker.unref()
      settle = null
      return outcome
    },
    cpuMs: async () => {
      const used = await worker.cpuUsage().catch(() => null)
      return used === null ? 0 : (used.user + used.system) / 1000
    },
    async stop() {
      failure ??= { kind: 'crashed', error: new Error('the renderer was stopped') }
      await worker.terminate()
    },
  }
}

/** Classifies a thread error: the current job if memory ran out, otherwise an internal error. */
function classifyThreadError(error: unknown, step: number): BatchOutcome<never> {
  const at = decodeProgress(step)
  const isMemory = error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
  if (isMemory && at !== null) return { kind: 'killed', job: at.job, reason: 'it needs too much memory' }
  return { kind: 'crashed', error: error instanceof Error ? error : new Error(String(error)) }
}

/**
 * Returns the function that checks a running batch every few milliseconds. Most batches finish before the first check.
 */
function createWatch(
  worker: Worker,
  progress: Int32Array,
  limits: CpuLimits,
  fail: (ended: BatchOutcome<never>) => void,
): () => void {
  let step = 0
  let sinceMs = performance.now()
  let usedMs: number | null = null
  let isChecking = false
  const limitOf = (phase: Phase): number => limits[phase] ?? limits.render

  async function checkCpuTime(): Promise<void> {
    isChecking = true
    const { user, system } = await worker.cpuUsage()
    isChecking = false
    const nowMs = (user + system) / 1000
    const at = decodeProgress(step)
    if (at === null || Atomics.load(progress, 0) !== step) return
    usedMs ??= nowMs
    if (nowMs - usedMs >= limitOf(at.phase)) failStuckJob()
  }

  function failStuckJob(): void {
    const at = decodeProgress(step)
    if (at === null) fail({ kind: 'crashed', error: new Error('the template worker did not start') })
    else
      fail({
        kind: 'killed',
        job: at.job,
        reason: `${PHASE_LABELS[at.phase]} it takes longer than ${limitOf(at.phase)} ms`,
      })
  }

  return () => {
    const now = Atomics.load(progress, 0)
    if (now !== step) {
      step = now
      sinceMs = performance.now()
      usedMs = null
    }
    const at = decodeProgress(step)
    if (performance.now() - sinceMs > (at === null ? START_TIMEOUT_MS : WALL_CLOCK_FACTOR * limitOf(at.phase)))
      failStuckJob()
    else if (!isChecking && at !== null) checkCpuTime().catch(() => {}) // the thread has ended
  }
}
