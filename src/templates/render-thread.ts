/**
 * One worker thread and the watch over it. A batch either comes back, or the thread has died: of a job that took too much time or
 * memory (named, so that the others can be tried again elsewhere), or of something that is our own fault.
 * Time is the processor time of the thread, so that a busy machine does not make good templates fail; a thread that makes no headway
 * for many times that long is given up too.
 */
import { Worker } from 'node:worker_threads'
import { THREAD_ENV } from '#src/platform/thread-env.ts'
import { type Answers, type Phase, readStep } from './render-jobs.ts'

export type Ended<Result> =
  | { readonly kind: 'done'; readonly results: readonly Result[] }
  /** The thread is gone because of this job. */
  | { readonly kind: 'killed'; readonly job: number; readonly reason: string }
  | { readonly kind: 'crashed'; readonly error: Error }

export interface Thread<Batch, Result> {
  /** One batch at a time. After anything but `done` the thread is of no more use. */
  run(batch: Batch): Promise<Ended<Result>>
  stop(): Promise<void>
}

/** Milliseconds of processor time for one step of one job. */
export interface Limits extends Readonly<Record<Exclude<Phase, 'write'>, number>> {
  /** Where the thread writes. */
  readonly write?: number
}

export const MEMORY = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 }
const WATCH_EVERY_MS = 25
/** How much longer than its limit a step may take on the wall clock. */
const PATIENCE = 20
const START_MS = 30_000
const DOING: Readonly<Record<Phase, string>> = { compile: 'compiling', render: 'rendering', write: 'writing' }

/** `file`: the code of the thread, which answers a batch with results in the order of its jobs. */
export function startThread<Batch, Result>(file: URL, limits: Limits, memory = MEMORY): Thread<Batch, Result> {
  const progress = new Int32Array(new SharedArrayBuffer(4))
  const options = { workerData: progress, resourceLimits: memory, env: THREAD_ENV, execArgv: [] }
  const worker = new Worker(file, options)
  worker.unref()
  let settle: ((ended: Ended<Result>) => void) | null = null
  let death: Ended<never> | null = null

  const die = (ended: Ended<never>): void => {
    death ??= ended
    void worker.terminate()
    settle?.(death)
  }
  worker.on('message', ({ results }: Answers<Result>) => settle?.({ kind: 'done', results }))
  worker.on('error', (error) => die(blame(error, Atomics.load(progress, 0))))
  worker.on('exit', (code) => die({ kind: 'crashed', error: new Error(`the template worker ended with code ${code}`) }))

  return {
    async run(batch) {
      const { promise, resolve } = Promise.withResolvers<Ended<Result>>()
      settle = resolve
      if (death !== null) return death
      worker.ref()
      const watch = setInterval(createWatch(worker, progress, limits, die), WATCH_EVERY_MS)
      worker.postMessage(batch, [])
      const ended = await promise
      clearInterval(watch)
      worker.unref()
      settle = null
      return ended
    },
    async stop() {
      death ??= { kind: 'crashed', error: new Error('the renderer was stopped') }
      await worker.terminate()
    },
  }
}

/** Who is to blame for the end of a thread: the job at hand when the memory ran out, else we. */
function blame(error: unknown, step: number): Ended<never> {
  const at = readStep(step)
  const isMemory = error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
  if (isMemory && at !== null) return { kind: 'killed', job: at.job, reason: 'it needs too much memory' }
  return { kind: 'crashed', error: error instanceof Error ? error : new Error(String(error)) }
}

/** Called every few milliseconds while a batch is out. Most batches are back before the first time. */
function createWatch(
  worker: Worker,
  progress: Int32Array,
  limits: Limits,
  die: (ended: Ended<never>) => void,
): () => void {
  let step = 0
  let sinceMs = performance.now()
  let usedMs: number | null = null
  let isAsking = false
  const limitOf = (phase: Phase): number => limits[phase] ?? limits.render

  async function askProcessorTime(): Promise<void> {
    isAsking = true
    const { user, system } = await worker.cpuUsage()
    isAsking = false
    const nowMs = (user + system) / 1000
    const at = readStep(step)
    if (at === null || Atomics.load(progress, 0) !== step) return
    usedMs ??= nowMs
    if (nowMs - usedMs >= limitOf(at.phase)) giveUp()
  }

  function giveUp(): void {
    const at = readStep(step)
    if (at === null) die({ kind: 'crashed', error: new Error('the template worker did not start') })
    else die({ kind: 'killed', job: at.job, reason: `${DOING[at.phase]} it takes longer than ${limitOf(at.phase)} ms` })
  }

  return () => {
    const now = Atomics.load(progress, 0)
    if (now !== step) {
      step = now
      sinceMs = performance.now()
      usedMs = null
    }
    const at = readStep(step)
    if (performance.now() - sinceMs > (at === null ? START_MS : PATIENCE * limitOf(at.phase))) giveUp()
    else if (!isAsking && at !== null) askProcessorTime().catch(() => {}) // the thread ended in between
  }
}
