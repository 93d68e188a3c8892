/**
 * The check of both stores at the start of a process. A store that answers and cannot do what Mailstead needs ends the
 * start, with an error that says what to change. A store that does not answer does not: the process starts, and the
 * same check is made for each connection later. After it the clock of PostgreSQL is known, if PostgreSQL answers.
 */
import type { Db } from './db.ts'
import type { Redis } from './redis.ts'
import { redisProblemOf } from './redis-suitability.ts'
import { UnsuitableStoreError } from './store-errors.ts'

/** A store that is away delays a start by this. */
const WAIT_MS = 2000

interface Stores {
  readonly db: Pick<Db, 'measureClock'>
  readonly redis: Redis
}

/** @throws UnsuitableStoreError. */
export async function checkStoresAtStart({ db, redis }: Stores): Promise<void> {
  const late = Promise.withResolvers<null>()
  const timer = setTimeout(() => late.resolve(null), WAIT_MS)
  try {
    const errors = await Promise.all(
      [checkPostgres(db), checkRedis(redis)].map((one) => Promise.race([one, late.promise])),
    )
    for (const error of errors) if (error !== null) throw error
  } finally {
    clearTimeout(timer)
  }
}

/** Null if it is suitable, or away. */
async function checkPostgres(db: Stores['db']): Promise<UnsuitableStoreError | null> {
  try {
    await db.measureClock()
    return null
  } catch (error) {
    return error instanceof UnsuitableStoreError ? error : null
  }
}

async function checkRedis(redis: Redis): Promise<UnsuitableStoreError | null> {
  const { promise, resolve } = Promise.withResolvers<UnsuitableStoreError | null>()
  const isReady = (): void => resolve(null)
  const isRefused = (error: Error): void => {
    if (error instanceof UnsuitableStoreError) resolve(error)
  }
  redis.once('ready', isReady)
  redis.on('error', isRefused)
  const problem = redisProblemOf(redis)
  if (redis.status === 'ready') isReady()
  else if (problem !== null && problem.isPassing !== true)
    resolve(new UnsuitableStoreError(`Redis: ${problem.detail.text}: ${problem.todo.text}`))
  try {
    return await promise
  } finally {
    redis.off('ready', isReady)
    redis.off('error', isRefused)
  }
}
