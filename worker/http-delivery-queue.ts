/**
 * Runs a queue of HTTP deliveries to URLs of customers: claims due jobs as far as there is capacity, and starts them
 * with limited concurrency per endpoint. Results are stored in batches. Any number of workers share a queue. The queue
 * defines what a claim, an attempt and a result are.
 *
 * Each endpoint has a queue: its jobs start in order, up to a window of concurrent requests that adapts to its response
 * times (concurrency-window.ts), so a dead or overloaded endpoint uses one slot and a fast one many. A queue never uses
 * more slots than remain free: one busy endpoint gets at most half of all, two a third each, and a new one always finds
 * a free slot.
 *
 * A crash: the leases expire, and unfinished jobs are claimed again. PostgreSQL unavailable: nothing is claimed until
 * it is back. Stopping waits 3 s for running attempts; then it aborts them and releases their jobs, uncounted.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createBatcher, type BatcherOptions } from '#src/concurrency/batcher.ts'
import { createDebouncedRunner, type DebouncedRunner } from '#src/concurrency/debounced-runner.ts'
import { createFailureBackoff } from '#src/concurrency/failure-backoff.ts'
import type { Log } from '#src/platform/log.ts'
import { ATTEMPT_TIMEOUT_MS, type AttemptOutcome, type LoadSignal } from '#src/webhooks/attempt.ts'
import type { QueueCapacity } from '#src/webhooks/claim.ts'
import { firstWindow, nextWindow, type ConcurrencyWindow, type WindowBounds } from './concurrency-window.ts'
import type { Loop } from './loop.ts'

export interface ConcurrencyLimits extends WindowBounds {
  readonly slots: number
}

export interface ClaimedJobs<J> {
  readonly jobs: readonly J[]
  /** Endpoints that may have more due jobs. */
  readonly unfinished: ReadonlySet<string>
  /** Milliseconds until the next job is due; null: the next sweep finds it. */
  readonly nextInMs: number | null
}

/** `J` is a claimed job, `T` the result of an attempt. */
export interface DeliveryQueue<J, T> {
  /** The plural name of the jobs, for the log. */
  readonly name: string
  readonly bounds: ConcurrencyLimits
  readonly maxClaimed: number
  /** The interval of rounds without a wake-up. */
  readonly sweepMs: number
  /** How long a claimed job may wait before it starts (`startableMs`). */
  readonly staleMs: number
  /** For the log. */
  readonly idOf: (job: J) => string
  readonly laneOf: (job: J) => string
  readonly claim: (room: QueueCapacity) => Promise<ClaimedJobs<J>>
  /** Makes one attempt. Must not reject. */
  readonly attempt: (job: J) => Promise<T>
  readonly outcomeOf: (tried: T) => AttemptOutcome
  readonly logResult?: (tried: T) => void
  /** Stores a batch of results. */
  readonly store: (tried: readonly T[]) => Promise<void>
  readonly storing: Pick<BatcherOptions<T>, 'max' | 'concurrency'>
  /** Aborts the running attempts. */
  readonly abort: () => void
  /** Releases claimed jobs; the attempt does not count. */
  readonly release: (jobs: readonly J[]) => Promise<void>
}

export interface RunningDeliveryQueue extends Loop {
  /** Requests a round in `inMs`. */
  readonly wake: DebouncedRunner['schedule']
}

/** A burst of wake-ups causes at most 50 claims a second. */
const SPACING_MS = 20
const RETRIES = { firstMs: 500, longestMs: 5000 }
const GRACE_MS = 3000
const ABORT_MS = 500
const SETTLING_MS = 15_000

/** A job does not start after this time: its lease must outlast the attempt and the storing of its result. */
export function startableMs(leaseMs: number): number {
  return leaseMs - ATTEMPT_TIMEOUT_MS - SETTLING_MS
}

interface WaitingJob<J> {
  readonly job: J
  readonly staleAt: number
}

export function startDeliveryQueue<J, T>(log: Log, queue: DeliveryQueue<J, T>): RunningDeliveryQueue {
  const { name, bounds } = queue
  const inProgress = new Set<J>()
  const storeResult = createResultStore(log, queue)
  const runner = createDebouncedRunner(round, SPACING_MS)
  const backoff = createFailureBackoff(log, { message: `failed to claim ${name}; it is retried`, ...RETRIES })
  const endpoints = new EndpointQueues<WaitingJob<J>>(bounds, {
    run: runJob,
    onLow: (endpoint) => {
      if (isFull || unfinished.has(endpoint)) runner.schedule(0)
    },
  })
  let unfinished: ReadonlySet<string> = new Set()
  let isFull = false
  let [isStopping, isAborted] = [false, false]

  async function round(): Promise<void> {
    runner.schedule(queue.sweepMs)
    const total = Math.min(queue.maxClaimed, 2 * bounds.slots - endpoints.size)
    isFull = total <= 0
    if (isFull) return
    const staleAt = performance.now() + queue.staleMs
    try {
      // an endpoint holds up to twice its window, so that it does not run dry while the next rows are claimed
      const claimed = await queue.claim({
        total,
        defaultPerEndpoint: 2 * bounds.firstWindow,
        byEndpoint: endpoints.capacities(),
      })
      backoff.succeeded()
      if (isStopping) return await releaseJobs(log, queue, claimed.jobs)
      unfinished = claimed.unfinished
      if (claimed.nextInMs !== null) runner.schedule(claimed.nextInMs + 1)
      for (const job of claimed.jobs) endpoints.add(queue.laneOf(job), { job, staleAt })
    } catch (error) {
      runner.schedule(backoff.failed(error))
    }
  }

  async function runJob({ job, staleAt }: WaitingJob<J>): Promise<LoadSignal> {
    // its lease expires soon; then it is claimed again
    if (performance.now() > staleAt) return { kind: 'neutral' }
    inProgress.add(job)
    const tried = await queue.attempt(job)
    const { isDelivered, load, nextInMs } = queue.outcomeOf(tried)
    if (isAborted && !isDelivered) return { kind: 'neutral' }
    queue.logResult?.(tried)
    await storeResult(job, tried)
    if (nextInMs !== null) runner.schedule(nextInMs + 1)
    inProgress.delete(job)
    return load
  }

  async function stop(): Promise<void> {
    isStopping = true
    const waiting = endpoints.clear().map(({ job }) => job)
    // a claim may wait for PostgreSQL, and the running attempts must not wait for it
    await Promise.race([Promise.all([runner.stop(), endpoints.idle()]), sleep(GRACE_MS, undefined, { ref: false })])
    isAborted = true
    queue.abort()
    await Promise.race([endpoints.idle(), sleep(ABORT_MS)])
    await releaseJobs(log, queue, [...waiting, ...inProgress])
  }

  runner.schedule(0)
  return { wake: runner.schedule, stop }
}

async function releaseJobs<J, T>(log: Log, { name, release }: DeliveryQueue<J, T>, jobs: readonly J[]): Promise<void> {
  await release(jobs).catch((error: unknown) => {
    log.warn({ err: error }, `failed to release ${name}; they are claimed again when their lease expires`)
  })
}

/** Stores results in batches. A job whose result cannot be stored is claimed again when its lease expires. */
function createResultStore<J, T>(
  log: Log,
  { name, idOf, store, storing }: DeliveryQueue<J, T>,
): (job: J, tried: T) => Promise<void> {
  const batcher = createBatcher<T, null>(async (tried) => {
    await store(tried)
    return tried.map(() => null)
  }, storing)
  return async (job, tried) => {
    await batcher.add(tried).catch((error: unknown) => {
      log.error({ err: error, job: idOf(job) }, `failed to store a result of ${name}; the job is repeated`)
    })
  }
}

interface EndpointQueue<J> {
  readonly waiting: J[]
  running: number
  window: ConcurrencyWindow
  usedAt: number
}

interface EndpointWork<J> {
  /** Must not reject. */
  readonly run: (job: J) => Promise<LoadSignal>
  /** Called when a queue has few waiting jobs left. */
  readonly onLow: (endpoint: string) => void
}

// an idle queue and its window are dropped after this time: its endpoint may be a smaller machine by then
const FORGET_AFTER_MS = 60_000

/** The queues of all endpoints. Nothing here waits or fails; an attempt has its own time limit. */
export class EndpointQueues<J> {
  readonly #bounds: ConcurrencyLimits
  readonly #work: EndpointWork<J>
  readonly #queues = new Map<string, EndpointQueue<J>>()
  /** Endpoints with waiting jobs; one that has started a job moves to the end. */
  readonly #ready = new Set<string>()
  #running = 0
  #waiting = 0
  #idle: (() => void)[] = []

  constructor(bounds: ConcurrencyLimits, work: EndpointWork<J>) {
    this.#bounds = bounds
    this.#work = work
  }

  /** Running and waiting jobs. */
  get size(): number {
    return this.#running + this.#waiting
  }

  /** Starts a job now, or later in its order. */
  add(name: string, job: J): void {
    this.#queueOf(name).waiting.push(job)
    this.#waiting++
    this.#ready.add(name)
    this.#startAll()
  }

  /** How many more jobs each known queue accepts: up to twice its window in all, so that it does not run empty. */
  capacities(): Map<string, number> {
    const now = performance.now()
    for (const [name, queue] of this.#queues)
      if (queue.running === 0 && queue.waiting.length === 0 && now - queue.usedAt > FORGET_AFTER_MS)
        this.#queues.delete(name)
    return new Map(
      [...this.#queues].map(([name, queue]) => [
        name,
        Math.max(0, 2 * placesOf(queue) - queue.running - queue.waiting.length),
      ]),
    )
  }

  /** Removes and returns all waiting jobs; running ones continue. */
  clear(): J[] {
    this.#ready.clear()
    this.#waiting = 0
    return [...this.#queues.values()].flatMap((queue) => queue.waiting.splice(0))
  }

  /** Resolves when no job is running. */
  idle(): Promise<void> {
    return this.#running === 0 ? Promise.resolve() : new Promise((resolve) => this.#idle.push(resolve))
  }

  #queueOf(name: string): EndpointQueue<J> {
    const queue = this.#queues.get(name) ?? { waiting: [], running: 0, window: firstWindow(this.#bounds), usedAt: 0 }
    queue.usedAt = performance.now()
    this.#queues.set(name, queue)
    return queue
  }

  #startAll(): void {
    for (const name of this.#ready) {
      const queue = this.#queueOf(name)
      if (queue.running >= Math.min(placesOf(queue), this.#bounds.slots - this.#running)) continue
      const job = queue.waiting.shift()
      this.#ready.delete(name)
      if (queue.waiting.length > 0) this.#ready.add(name) // this loop reaches it again, after the others
      if (job !== undefined) void this.#start(name, queue, job)
    }
  }

  async #start(name: string, queue: EndpointQueue<J>, job: J): Promise<void> {
    this.#waiting--
    this.#running++
    queue.running++
    const wasFull = queue.running >= placesOf(queue)
    const load = await this.#work.run(job)
    this.#running--
    queue.running--
    queue.window = nextWindow(queue.window, load, this.#bounds, wasFull)
    this.#startAll()
    if (queue.waiting.length < queue.window.size / 2) this.#work.onLow(name)
    if (this.#running > 0) return
    for (const resolve of this.#idle) resolve()
    this.#idle = []
  }
}

function placesOf({ window }: Pick<EndpointQueue<unknown>, 'window'>): number {
  return Math.floor(window.size)
}
