/**
 * The rounds of a queue whose jobs are posted to addresses of customers: claims what is due, as far as there is room for it, and begins it
 * lane by lane, so that an address that does not answer soon holds one slot. Any number of workers share a queue; what a claim, a try and
 * its result are is the queue's own business.
 *
 * Dies: the leases run out, and what was not settled is claimed again. PostgreSQL away: nothing is claimed, and it is asked again soon.
 * Stopping waits 3 s for what is under way; what is not done by then is broken off and given back, uncounted.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createAlarm } from '#src/concurrency/debounced-runner.ts'
import type { Log } from '#src/platform/log.ts'
import { Lanes, type Bounds, type Pace, type Room } from '#src/webhooks/endpoint-concurrency.ts'
import { TRY_TIMEOUT_MS } from '#src/webhooks/response-policy.ts'
import type { Loop } from './loop.ts'

export interface Taken<J> {
  readonly jobs: readonly J[]
  /** Lanes that may have more. */
  readonly unfinished: ReadonlySet<string>
  /** Until something else is due, ms; null: the next sweep finds it. */
  readonly nextInMs: number | null
}

/** `J` is what is claimed, `T` what came of a try. */
export interface PostQueue<J, T> {
  /** Of the jobs, in the plural, for the log. */
  readonly name: string
  readonly bounds: Bounds
  readonly mostClaimed: number
  /** Between looks that nobody asked for. */
  readonly sweepMs: number
  /** How long one may be held before it is begun (`startableMs`). */
  readonly staleMs: number
  readonly laneOf: (job: J) => string
  readonly claim: (room: Room) => Promise<Taken<J>>
  /** One try. Must not reject. */
  readonly attempt: (job: J) => Promise<T>
  readonly isDelivered: (tried: T) => boolean
  /** Writes down what came of it. Must not reject. */
  readonly settle: (tried: T) => Promise<Pace>
  /** Makes the tries under way fail now. */
  readonly abort: () => void
  /** Gives back, uncounted. */
  readonly release: (jobs: readonly J[]) => Promise<void>
}

export interface Posting extends Loop {
  /** Looks for what is due in so many ms. */
  wake(inMs: number): void
}

/** A shower of wakes becomes 50 claims a second, each of a good size. */
const SPACING_MS = 20
const AGAIN_MS = 500
const QUICK_MS = 1000
const GRACE_MS = 3000
const ABORT_MS = 500
const SETTLING_MS = 15_000

/** After this a held job is not begun: its lease must outlast the try and its settling. */
export function startableMs(leaseMs: number): number {
  return leaseMs - TRY_TIMEOUT_MS - SETTLING_MS
}

/** Of a try that was delivered. */
export function paceWithin(durationMs: number): Pace {
  return durationMs <= QUICK_MS ? 'quick' : 'slow'
}

interface Held<J> {
  readonly job: J
  readonly staleAt: number
}

export function startPosting<J, T>(log: Log, queue: PostQueue<J, T>): Posting {
  const { name, bounds } = queue
  const underWay = new Set<J>()
  const alarm = createAlarm(round, SPACING_MS)
  const lanes = new Lanes<Held<J>>(bounds, {
    run: carryOut,
    onHungry: (lane) => {
      if (isHeldBack || unfinished.has(lane)) alarm.set(0)
    },
  })
  let unfinished: ReadonlySet<string> = new Set()
  let isHeldBack = false
  let isAborted = false

  async function round(): Promise<void> {
    alarm.set(queue.sweepMs)
    const total = Math.min(queue.mostClaimed, 2 * bounds.slots - lanes.held)
    isHeldBack = total <= 0
    if (isHeldBack) return
    const staleAt = performance.now() + queue.staleMs
    try {
      // a lane holds up to twice its window, so that it does not run dry while the next rows are claimed
      const taken = await queue.claim({ total, each: 2 * bounds.firstWindow, lanes: lanes.rooms() })
      unfinished = taken.unfinished
      if (taken.nextInMs !== null) alarm.set(taken.nextInMs + 1)
      for (const job of taken.jobs) lanes.add(queue.laneOf(job), { job, staleAt })
    } catch (error) {
      log.warn({ err: error }, `${name} could not be claimed; it is tried again`)
      alarm.set(AGAIN_MS)
    }
  }

  async function carryOut({ job, staleAt }: Held<J>): Promise<Pace> {
    // its lease runs out soon; it is claimed again then
    if (performance.now() > staleAt) return 'slow'
    underWay.add(job)
    const tried = await queue.attempt(job)
    if (isAborted && !queue.isDelivered(tried)) return 'bad'
    const pace = await queue.settle(tried)
    underWay.delete(job)
    return pace
  }

  async function stop(): Promise<void> {
    await alarm.stop()
    const waiting = lanes.clear().map(({ job }) => job)
    await Promise.race([lanes.idle(), sleep(GRACE_MS, undefined, { ref: false })])
    isAborted = true
    queue.abort()
    await Promise.race([lanes.idle(), sleep(ABORT_MS)])
    await queue.release([...waiting, ...underWay]).catch((error: unknown) => {
      log.warn({ err: error }, `${name} could not be given back; their lease runs out`)
    })
  }

  alarm.set(0)
  return { wake: (inMs) => alarm.set(inMs), stop }
}
