/**
 * The queue in front of the render threads. Waiting jobs go to a free thread as one batch; a second thread starts only
 * when the first is busy. When a thread dies, the job that caused it fails, and every other job of the batch runs again
 * alone in a new thread, so a good job is interrupted at most once by another job. A promise rejects only after two
 * crashes that no job caused.
 */
import type { RenderBatch, RenderFailure, RenderJob } from './render-protocol.ts'
import { type BatchOutcome, type CpuLimits, startThread, type WorkerThread } from './render-thread.ts'
import { isSameSource, type TemplateSource } from './template-source.ts'

const MAX_BATCH = 32
const MAX_CRASHES = 2

/** The job's thread was terminated because of this job. */
export interface KilledJob extends RenderFailure {
  readonly wasKilled: true
}

interface Task<Job, Result> {
  readonly source: TemplateSource
  readonly job: Job
  readonly resolve: (answer: Result | KilledJob) => void
  readonly reject: (error: Error) => void
  runsAlone: boolean
  crashes: number
}

interface Slot<Job extends RenderJob, Result> {
  thread: WorkerThread<RenderBatch<Job>, Result> | null
  isBusy: boolean
}

export interface PoolOptions {
  /** The worker script: answers a `RenderBatch` with one result for each job. */
  readonly worker: URL
  readonly threads: number
  readonly limits: CpuLimits
}

export class RenderPool<Job extends RenderJob, Result> {
  private readonly slots: readonly Slot<Job, Result>[]
  private readonly options: PoolOptions
  private queue: Task<Job, Result>[] = []
  private isStopped = false

  constructor(options: PoolOptions) {
    this.slots = Array.from({ length: options.threads }, () => ({ thread: null, isBusy: false }))
    this.options = options
  }

  add(source: TemplateSource, job: Job): Promise<Result | KilledJob> {
    if (this.isStopped) return Promise.reject(new Error('the renderer was stopped'))
    const { promise, resolve, reject } = Promise.withResolvers<Result | KilledJob>()
    this.queue.push({ source, job, resolve, reject, runsAlone: false, crashes: 0 })
    // jobs added in the same turn of the event loop travel in one batch
    if (this.queue.length === 1) setImmediate(() => this.dispatch())
    return promise
  }

  async stop(): Promise<void> {
    this.isStopped = true
    this.rejectAll()
    for (const slot of this.slots) await slot.thread?.stop()
  }

  private dispatch(): void {
    for (const slot of this.slots) {
      if (this.queue.length === 0) return
      if (!slot.isBusy) void this.runBatch(slot, this.nextBatch())
    }
  }

  private nextBatch(): Task<Job, Result>[] {
    const firstAlone = this.queue.findIndex((task) => task.runsAlone)
    const count = firstAlone === 0 ? 1 : Math.min(MAX_BATCH, firstAlone < 0 ? this.queue.length : firstAlone)
    const batch = this.queue.slice(0, count)
    this.queue = this.queue.slice(count)
    return batch
  }

  private async runBatch(slot: Slot<Job, Result>, tasks: readonly Task<Job, Result>[]): Promise<void> {
    slot.isBusy = true
    slot.thread ??= startThread(this.options.worker, this.options.limits)
    const outcome = await slot.thread.run(buildBatch(tasks))
    if (outcome.kind !== 'done') slot.thread = null
    this.queue = [...resolveTasks(tasks, outcome), ...this.queue]
    slot.isBusy = false
    if (this.isStopped) this.rejectAll()
    else this.dispatch()
  }

  private rejectAll(): void {
    for (const task of this.queue) task.reject(new Error('the renderer was stopped'))
    this.queue = []
  }
}

/** Resolves the finished tasks and returns those that must run again. */
function resolveTasks<Job, Result>(
  tasks: readonly Task<Job, Result>[],
  outcome: BatchOutcome<Result>,
): Task<Job, Result>[] {
  if (outcome.kind === 'done') {
    for (const [i, result] of outcome.results.entries()) tasks[i]?.resolve(result)
    return []
  }
  for (const task of tasks) task.runsAlone = true
  if (outcome.kind === 'crashed') return tasks.filter((task) => mayRetry(task, outcome.error))
  tasks[outcome.job]?.resolve({ ok: false, reason: outcome.reason, wasKilled: true })
  return tasks.filter((_, i) => i !== outcome.job)
}

function mayRetry<Job, Result>(task: Task<Job, Result>, error: Error): boolean {
  task.crashes++
  if (task.crashes < MAX_CRASHES) return true
  task.reject(error)
  return false
}

function buildBatch<Job extends RenderJob>(tasks: readonly Task<Job, never>[]): RenderBatch<Job> {
  const sources: TemplateSource[] = []
  const indexes = new Map<string, number>()
  const jobs = tasks.map(({ source, job }) => {
    const knownIndex = indexes.get(source.key)
    const knownSource = knownIndex === undefined ? undefined : sources[knownIndex]
    const index =
      knownIndex !== undefined && knownSource !== undefined && isSameSource(knownSource, source)
        ? knownIndex
        : sources.push(source) - 1
    indexes.set(source.key, index)
    return { source: index, job }
  })
  return { sources, jobs }
}
