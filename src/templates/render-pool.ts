/**
 * The queue in front of the worker threads. What waits travels to a free thread together; a second thread starts only when the first
 * is busy. When a thread dies, the job to blame is answered, and the others that were with it go to a new one, each alone: so a good
 * job is lost at most once through another's fault. Rejects only what failed twice without anybody's fault but ours.
 */
import type { Batch, Failure, RenderJob } from './render-jobs.ts'
import { type Ended, type Limits, startThread, type Thread } from './render-thread.ts'
import { isSame, type Source } from './source.ts'

const MAX_BATCH = 32
const MAX_CRASHES = 2

/** The thread was killed for it. */
export interface Killed extends Failure {
  readonly wasKilled: true
}

interface Task<Job, Result> {
  readonly source: Source
  readonly job: Job
  readonly resolve: (answer: Result | Killed) => void
  readonly reject: (error: Error) => void
  isLoner: boolean
  crashes: number
}

interface Slot<Job extends RenderJob, Result> {
  thread: Thread<Batch<Job>, Result> | null
  isBusy: boolean
}

export interface PoolOptions {
  /** The code of the threads: answers a `Batch` with a result for each of its jobs. */
  readonly worker: URL
  readonly threads: number
  readonly limits: Limits
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

  add(source: Source, job: Job): Promise<Result | Killed> {
    if (this.isStopped) return Promise.reject(new Error('the renderer was stopped'))
    const { promise, resolve, reject } = Promise.withResolvers<Result | Killed>()
    this.queue.push({ source, job, resolve, reject, isLoner: false, crashes: 0 })
    // all that is asked for in this turn of the event loop travels together
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
      if (!slot.isBusy) void this.serve(slot, this.take())
    }
  }

  private take(): Task<Job, Result>[] {
    const loner = this.queue.findIndex((task) => task.isLoner)
    const count = loner === 0 ? 1 : Math.min(MAX_BATCH, loner < 0 ? this.queue.length : loner)
    const batch = this.queue.slice(0, count)
    this.queue = this.queue.slice(count)
    return batch
  }

  private async serve(slot: Slot<Job, Result>, tasks: readonly Task<Job, Result>[]): Promise<void> {
    slot.isBusy = true
    slot.thread ??= startThread(this.options.worker, this.options.limits)
    const ended = await slot.thread.run(pack(tasks))
    if (ended.kind !== 'done') slot.thread = null
    this.queue = [...settle(tasks, ended), ...this.queue]
    slot.isBusy = false
    if (this.isStopped) this.rejectAll()
    else this.dispatch()
  }

  private rejectAll(): void {
    for (const task of this.queue) task.reject(new Error('the renderer was stopped'))
    this.queue = []
  }
}

/** Answers what can be answered, and returns what must be tried again. */
function settle<Job, Result>(tasks: readonly Task<Job, Result>[], ended: Ended<Result>): Task<Job, Result>[] {
  if (ended.kind === 'done') {
    for (const [i, result] of ended.results.entries()) tasks[i]?.resolve(result)
    return []
  }
  for (const task of tasks) task.isLoner = true
  if (ended.kind === 'crashed') return tasks.filter((task) => mayTryAgain(task, ended.error))
  tasks[ended.job]?.resolve({ ok: false, reason: ended.reason, wasKilled: true })
  return tasks.filter((_, i) => i !== ended.job)
}

function mayTryAgain<Job, Result>(task: Task<Job, Result>, error: Error): boolean {
  task.crashes++
  if (task.crashes < MAX_CRASHES) return true
  task.reject(error)
  return false
}

function pack<Job extends RenderJob>(tasks: readonly Task<Job, never>[]): Batch<Job> {
  const sources: Source[] = []
  const places = new Map<string, number>()
  const jobs = tasks.map(({ source, job }) => {
    const known = places.get(source.key)
    const twin = known === undefined ? undefined : sources[known]
    const place = known !== undefined && twin !== undefined && isSame(twin, source) ? known : sources.push(source) - 1
    places.set(source.key, place)
    return { source: place, job }
  })
  return { sources, jobs }
}
