/**
 * Batches hits on their way to PostgreSQL. Hits of the same few milliseconds share a commit, after which their requests
 * are answered. If PostgreSQL is unavailable or slower than `answerAfterMs`, requests are answered at once and the hits
 * are held in memory until it is back, up to `maxHeld`; further hits are lost. A crash loses only the held hits. A hit
 * whose commit result was lost may be stored twice, and is recorded once (hit-classifier.ts).
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createBatcher } from '#src/concurrency/batcher.ts'
import { isDatabaseAway } from '#src/stores/db.ts'
import type { Log } from '#src/platform/log.ts'

/** `held`: answered before it is stored; also counted as stored afterwards. */
export type HitFate = 'stored' | 'held' | 'lost'

export interface HitSpool<T> {
  /** Stores a hit. Resolves when the request may be answered; never rejects. */
  add(hit: T): Promise<void>
  readonly counts: Readonly<Record<HitFate, number>>
  /** Stores the remaining hits; hits held while PostgreSQL is unavailable are lost. */
  drain(): Promise<void>
}

export interface SpoolLimits {
  /** Longer than a commit under load, shorter than a person waits. */
  readonly answerAfterMs: number
  readonly retryMs: number
  /** A few hundred bytes each; at most 5 KB with the longest link. */
  readonly maxHeld: number
}

export const SPOOL_LIMITS: SpoolLimits = { answerAfterMs: 3000, retryMs: 1000, maxHeld: 20_000 }
const BATCH = { max: 1000, concurrency: 2, lingerMs: 3 }

type Store<T> = (hits: readonly T[]) => Promise<void>
type Counts = Record<HitFate, number>

/** `store` commits a batch, which may be empty, or rejects. */
export function createHitSpool<T>(store: Store<T>, log: Log, limits = SPOOL_LIMITS): HitSpool<T> {
  const counts: Counts = { stored: 0, held: 0, lost: 0 }
  const batcher = createBatcher<T, null>(async (batch) => {
    await store(batch)
    counts.stored += batch.length
    return batch.map(() => null)
  }, BATCH)
  const backlog = createBacklog({ store, log, limits, counts })

  function handleFailure(hit: T, error: unknown, isAnswered: boolean): void {
    if (isDatabaseAway(error)) {
      backlog.begin(error)
      if (isAnswered) counts.held-- // counted again below
      return backlog.add(hit, batcher.waiting)
    }
    counts.lost++
    log.error({ err: error }, 'failed to store an open or a click')
  }

  async function storeSoon(hit: T): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    let isAnswered = false
    const timeout = new Promise<void>((resolve) => {
      timer = setTimeout(() => {
        isAnswered = true
        counts.held++
        backlog.begin(new Error('no answer within the time limit'))
        resolve()
      }, limits.answerAfterMs)
    })
    await Promise.race([
      batcher.add(hit).then(
        () => undefined,
        (error: unknown) => handleFailure(hit, error, isAnswered),
      ),
      timeout,
    ])
    clearTimeout(timer)
  }

  return {
    counts,
    add: (hit) => (backlog.isAway ? Promise.resolve(backlog.add(hit, batcher.waiting)) : storeSoon(hit)),
    drain: async () => {
      await batcher.drain()
      await backlog.end()
    },
  }
}

interface BacklogDeps<T> {
  readonly store: Store<T>
  readonly log: Log
  readonly limits: SpoolLimits
  readonly counts: Counts
}

interface HitBacklog<T> {
  /** PostgreSQL is unavailable: hits are held. */
  readonly isAway: boolean
  /** Holds hits until they can be stored. */
  begin(error: unknown): void
  /** `waiting`: hits that wait in the batcher and count towards the limit. */
  add(hit: T, waiting: number): void
  /** Makes the last attempt to store the held hits. */
  end(): Promise<void>
}

function createBacklog<T>({ store, log, limits, counts }: BacklogDeps<T>): HitBacklog<T> {
  let held: T[] = []
  let isAway = false
  let isEnded = false
  let ending: Promise<void> = Promise.resolve()

  async function storeHeld(): Promise<void> {
    do {
      const batch = held.slice(0, BATCH.max)
      await store(batch)
      held = held.slice(batch.length)
      counts.stored += batch.length
    } while (held.length > 0)
    isAway = false
  }

  async function storeWhenBack(): Promise<void> {
    while (isAway) {
      await sleep(limits.retryMs)
      if (isEnded) return // `end` stores the rest
      await storeHeld().catch((error: unknown) => log.debug({ err: error }, 'PostgreSQL is still unavailable'))
    }
    log.info({ ...counts }, 'PostgreSQL is available again; stored the held opens and clicks')
  }

  return {
    get isAway() {
      return isAway
    },
    begin: (error) => {
      if (isAway) return
      isAway = true
      log.warn({ err: error }, 'PostgreSQL is unavailable: holding opens and clicks in memory')
      ending = storeWhenBack()
    },
    add: (hit, waiting) => {
      const hasRoom = held.length + waiting < limits.maxHeld
      counts[hasRoom ? 'held' : 'lost']++
      if (hasRoom) held.push(hit)
    },
    end: async () => {
      isEnded = true
      await ending
      if (held.length === 0) return
      await storeHeld().catch((error: unknown) => {
        counts.lost += held.length
        log.warn(
          { err: error, lost: held.length },
          'PostgreSQL is unavailable: lost the opens and clicks held in memory',
        )
      })
    },
  }
}
