/**
 * Hits on their way to PostgreSQL. Each is committed with those of the same few milliseconds, and may be answered then. Where PostgreSQL is
 * away, or silent for PATIENCE_MS, nobody who opens or clicks is kept waiting: hits may be answered at once, and are held in memory, so many
 * at most, until it is back; those beyond are lost. Dies meanwhile: what was held is lost, and nothing else. What broke off may be stored
 * twice, and is told once (hit-classifier.ts).
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createBatcher } from '#src/concurrency/batcher.ts'
import { isDatabaseAway } from '#src/stores/db.ts'
import type { Log } from '#src/platform/log.ts'

/** `held`: may be answered before it is stored; counted among the stored, too, once it is. */
export type HitFate = 'stored' | 'held' | 'lost'

export interface HitSpool<T> {
  /** Resolves when it may be answered; never rejects. */
  add(hit: T): Promise<void>
  readonly counts: Readonly<Record<HitFate, number>>
  /** Stores what it can; what is held while PostgreSQL is away is lost. */
  drain(): Promise<void>
}

export interface SpoolLimits {
  /** Longer than a commit takes under load, shorter than a person waits. */
  readonly answerAfterMs: number
  readonly retryMs: number
  /** Some hundred bytes each; one with the longest of links 5 KB. */
  readonly maxHeld: number
}

export const SPOOL_LIMITS: SpoolLimits = { answerAfterMs: 3000, retryMs: 1000, maxHeld: 20_000 }
const BATCH = { max: 1000, concurrency: 2, lingerMs: 3 }

type Store<T> = (hits: readonly T[]) => Promise<void>
type Counts = Record<HitFate, number>

/** `store` commits some, none among them too. @throws where it could not. */
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
      if (isAnswered) counts.held-- // it is counted anew
      return backlog.add(hit, batcher.waiting)
    }
    counts.lost++
    log.error({ err: error }, 'an open or a click could not be stored by a fault of ours')
  }

  async function storeSoon(hit: T): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    let isAnswered = false
    const timeout = new Promise<void>((resolve) => {
      timer = setTimeout(() => {
        isAnswered = true
        counts.held++
        backlog.begin(new Error('it took too long'))
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
  /** Hits are to be held. */
  readonly isAway: boolean
  /** Until what is held can be stored. */
  begin(error: unknown): void
  /** `waiting` take up room elsewhere. */
  add(hit: T, waiting: number): void
  /** The last try. */
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
      if (isEnded) return // the rest is for who ends it
      await storeHeld().catch((error: unknown) => log.debug({ err: error }, 'PostgreSQL is still away'))
    }
    log.info({ ...counts }, 'PostgreSQL is back, and has the opens and clicks that were held')
  }

  return {
    get isAway() {
      return isAway
    },
    begin: (error) => {
      if (isAway) return
      isAway = true
      log.warn({ err: error }, 'PostgreSQL is away: opens and clicks are answered, and held in memory')
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
        log.warn({ err: error, lost: held.length }, 'PostgreSQL is away: opens and clicks that were held are lost')
      })
    },
  }
}
