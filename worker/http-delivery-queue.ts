/**
 * Runs a queue of HTTP deliveries to URLs of customers: claims due jobs as far as there is capacity, and starts them
 * with limited concurrency per endpoint, so that an endpoint that does not respond does not block the others. Any
 * number of workers share a queue. The queue defines what a claim, an attempt and a result are.
 *
 * A crash: the leases expire, and unfinished jobs are claimed again. PostgreSQL unavailable: nothing is claimed until
 * it is back. Stopping waits 3 s for running attempts; then it aborts them and releases their jobs, uncounted.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createDebouncedRunner } from '#src/concurrency/debounced-runner.ts'
import type { Log } from '#src/platform/log.ts'
import {
  EndpointQueues,
  type ConcurrencyLimits,
  type ResponseSpeed,
  type QueueCapacity,
} from '#src/webhooks/endpoint-concurrency.ts'
import { ATTEMPT_TIMEOUT_MS } from '#src/webhooks/response-policy.ts'
import type { Loop } from './loop.ts'

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
  readonly laneOf: (job: J) => string
  readonly claim: (room: QueueCapacity) => Promise<ClaimedJobs<J>>
  /** Makes one attempt. Must not reject. */
  readonly attempt: (job: J) => Promise<T>
  readonly isDelivered: (tried: T) => boolean
  /** Stores the result. Must not reject. */
  readonly settle: (tried: T) => Promise<ResponseSpeed>
  /** Aborts the running attempts. */
  readonly abort: () => void
  /** Releases claimed jobs; the attempt does not count. */
  readonly release: (jobs: readonly J[]) => Promise<void>
}

export interface RunningDeliveryQueue extends Loop {
  /** Requests a round in `inMs`. */
  wake(inMs: number): void
}

/** A burst of wake-ups causes at most 50 claims a second. */
const SPACING_MS = 20
const RETRY_MS = 500
const QUICK_MS = 1000
const GRACE_MS = 3000
const ABORT_MS = 500
const SETTLING_MS = 15_000

/** A job does not start after this time: its lease must outlast the attempt and the storing of its result. */
export function startableMs(leaseMs: number): number {
  return leaseMs - ATTEMPT_TIMEOUT_MS - SETTLING_MS
}

/** Classifies the response time of a successful delivery. */
export function paceWithin(durationMs: number): ResponseSpeed {
  return durationMs <= QUICK_MS ? 'quick' : 'slow'
}

interface WaitingJob<J> {
  readonly job: J
  readonly staleAt: number
}

export function startDeliveryQueue<J, T>(log: Log, queue: DeliveryQueue<J, T>): RunningDeliveryQueue {
  const { name, bounds } = queue
  const inProgress = new Set<J>()
  const runner = createDebouncedRunner(round, SPACING_MS)
  const endpoints = new EndpointQueues<WaitingJob<J>>(bounds, {
    run: runJob,
    onLow: (endpoint) => {
      if (isFull || unfinished.has(endpoint)) runner.schedule(0)
    },
  })
  let unfinished: ReadonlySet<string> = new Set()
  let isFull = false
  let isAborted = false

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
      unfinished = claimed.unfinished
      if (claimed.nextInMs !== null) runner.schedule(claimed.nextInMs + 1)
      for (const job of claimed.jobs) endpoints.add(queue.laneOf(job), { job, staleAt })
    } catch (error) {
      log.warn({ err: error }, `failed to claim ${name}; it is retried`)
      runner.schedule(RETRY_MS)
    }
  }

  async function runJob({ job, staleAt }: WaitingJob<J>): Promise<ResponseSpeed> {
    // its lease expires soon; then it is claimed again
    if (performance.now() > staleAt) return 'slow'
    inProgress.add(job)
    const tried = await queue.attempt(job)
    if (isAborted && !queue.isDelivered(tried)) return 'bad'
    const pace = await queue.settle(tried)
    inProgress.delete(job)
    return pace
  }

  async function stop(): Promise<void> {
    await runner.stop()
    const waiting = endpoints.clear().map(({ job }) => job)
    await Promise.race([endpoints.idle(), sleep(GRACE_MS, undefined, { ref: false })])
    isAborted = true
    queue.abort()
    await Promise.race([endpoints.idle(), sleep(ABORT_MS)])
    await queue.release([...waiting, ...inProgress]).catch((error: unknown) => {
      log.warn({ err: error }, `failed to release ${name}; they are claimed again when their lease expires`)
    })
  }

  runner.schedule(0)
  return { wake: (inMs) => runner.schedule(inMs), stop }
}
