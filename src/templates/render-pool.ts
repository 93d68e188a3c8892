/**
 * The queue in front of the worker threads. What waits travels to a free thread together; a second thread starts only when the first
 * is busy. When a thread dies, the job to blame is answered, and the others that were with it go to a new one, each alone: so a good
 * job is lost at most once through another's fault. Rejects only what failed twice without anybody's fault but ours.
 */
import type { Batch } from './render-jobs.ts'
import { type Ended, type Limits, startThread, type Thread } from './render-thread.ts'
import { isSame, type Rendered, type Source } from './source.ts'

const WORKER = new URL('./render-worker.ts', import.meta.url)
const MAX_BATCH = 32
const MAX_CRASHES = 2

export type Answer = Rendered & { readonly wasKilled?: true }

interface Task {
  readonly source: Source
  readonly params: string
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: Error) => void
  isLoner: boolean
  crashes: number
}

interface Slot {
  thread: Thread<Batch, Rendered> | null
  isBusy: boolean
}

export class RenderPool {
  private readonly slots: readonly Slot[]
  private readonly limits: Limits
  private queue: Task[] = []
  private isStopped = false

  constructor(threads: number, limits: Limits) {
    this.slots = Array.from({ length: threads }, () => ({ thread: null, isBusy: false }))
    this.limits = limits
  }

  /** `params` is a JSON object. */
  add(source: Source, params: string): Promise<Answer> {
    if (this.isStopped) return Promise.reject(new Error('the renderer was stopped'))
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    this.queue.push({ source, params, resolve, reject, isLoner: false, crashes: 0 })
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

  private take(): Task[] {
    const loner = this.queue.findIndex((task) => task.isLoner)
    const count = loner === 0 ? 1 : Math.min(MAX_BATCH, loner < 0 ? this.queue.length : loner)
    const batch = this.queue.slice(0, count)
    this.queue = this.queue.slice(count)
    return batch
  }

  private async serve(slot: Slot, tasks: readonly Task[]): Promise<void> {
    slot.isBusy = true
    slot.thread ??= startThread(WORKER, this.limits)
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
function settle(tasks: readonly Task[], ended: Ended<Rendered>): Task[] {
  if (ended.kind === 'done') {
    for (const [i, result] of ended.results.entries()) tasks[i]?.resolve(result)
    return []
  }
  for (const task of tasks) task.isLoner = true
  if (ended.kind === 'crashed') return tasks.filter((task) => mayTryAgain(task, ended.error))
  tasks[ended.job]?.resolve({ ok: false, reason: ended.reason, wasKilled: true })
  return tasks.filter((_, i) => i !== ended.job)
}

function mayTryAgain(task: Task, error: Error): boolean {
  task.crashes++
  if (task.crashes < MAX_CRASHES) return true
  task.reject(error)
  return false
}

function pack(tasks: readonly Task[]): Batch {
  const sources: Source[] = []
  const places = new Map<string, number>()
  const jobs = tasks.map(({ source, params }) => {
    const known = places.get(source.key)
    const twin = known === undefined ? undefined : sources[known]
    const place = known !== undefined && twin !== undefined && isSame(twin, source) ? known : sources.push(source) - 1
    places.set(source.key, place)
    return { source: place, params }
  })
  return { sources, jobs }
}
