/**
 * The rounds of a queue whose jobs are posted to addresses of customers: claims what is due, as far as there is room for it, and begins it
 * lane by lane, so that an address that does not answer soon holds one slot. Any number of workers share a queue; what a claim, a try and
 * its result are is the queue's own business.
 *
 * Dies: the leases run out, and what was not settled is claimed again. PostgreSQL away: nothing is claimed, and it is asked again soon.
 * Stopping waits 3 s for what is under way; what is not done by then is broken off and given back, uncounted.
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
  /** Lanes that may have more. */
  readonly unfinished: ReadonlySet<string>
  /** Until something else is due, ms; null: the next sweep finds it. */
  readonly nextInMs: number | null
}

/** `J` is what is claimed, `T` what came of a try. */
export interface DeliveryQueue<J, T> {
  /** Of the jobs, in the plural, for the log. */
  readonly name: string
  readonly bounds: ConcurrencyLimits
  readonly maxClaimed: number
  /** Between looks that nobody asked for. */
  readonly sweepMs: number
  /** How long one may be held before it is begun (`startableMs`). */
  readonly staleMs: number
  readonly laneOf: (job: J) => string
  readonly claim: (room: QueueCapacity) => Promise<ClaimedJobs<J>>
  /** One try. Must not reject. */
  readonly attempt: (job: J) => Promise<T>
  readonly isDelivered: (tried: T) => boolean
  /** Writes down what came of it. Must not reject. */
  readonly settle: (tried: T) => Promise<ResponseSpeed>
  /** Makes the tries under way fail now. */
  readonly abort: () => void
  /** Gives back, uncounted. */
  readonly release: (jobs: readonly J[]) => Promise<void>
}

export interface RunningDeliveryQueue extends Loop {
  /** Looks for what is due in so many ms. */
  wake(inMs: number): void
}

/** A shower of wakes becomes 50 claims a second, each of a good size. */
const SPACING_MS = 20
const RETRY_MS = 500
const QUICK_MS = 1000
const GRACE_MS = 3000
const ABORT_MS = 500
const SETTLING_MS = 15_000

/** After this a held job is not begun: its lease must outlast the try and its settling. */
export function startableMs(leaseMs: number): number {
  return leaseMs - ATTEMPT_TIMEOUT_MS - SETTLING_MS
}

/** Of a try that was delivered. */
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
  const lanes = new EndpointQueues<WaitingJob<J>>(bounds, {
    run: runJob,
    onLow: (lane) => {
      if (isFull || unfinished.has(lane)) runner.schedule(0)
    },
  })
  let unfinished: ReadonlySet<string> = new Set()
  let isFull = false
  let isAborted = false

  async function round(): Promise<void> {
    runner.schedule(queue.sweepMs)
    const total = Math.min(queue.maxClaimed, 2 * bounds.slots - lanes.size)
    isFull = total <= 0
    if (isFull) return
    const staleAt = performance.now() + queue.staleMs
    try {
      // a lane holds up to twice its window, so that it does not run dry while the next rows are claimed
      const claimed = await queue.claim({
        total,
        defaultPerEndpoint: 2 * bounds.firstWindow,
        byEndpoint: lanes.capacities(),
      })
      unfinished = claimed.unfinished
      if (claimed.nextInMs !== null) runner.schedule(claimed.nextInMs + 1)
      for (const job of claimed.jobs) lanes.add(queue.laneOf(job), { job, staleAt })
    } catch (error) {
      log.warn({ err: error }, `${name} could not be claimed; it is tried again`)
      runner.schedule(RETRY_MS)
    }
  }

  async function runJob({ job, staleAt }: WaitingJob<J>): Promise<ResponseSpeed> {
    // its lease runs out soon; it is claimed again then
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
    const waiting = lanes.clear().map(({ job }) => job)
    await Promise.race([lanes.idle(), sleep(GRACE_MS, undefined, { ref: false })])
    isAborted = true
    queue.abort()
    await Promise.race([lanes.idle(), sleep(ABORT_MS)])
    await queue.release([...waiting, ...inProgress]).catch((error: unknown) => {
      log.warn({ err: error }, `${name} could not be given back; their lease runs out`)
    })
  }

  runner.schedule(0)
  return { wake: (inMs) => runner.schedule(inMs), stop }
}
