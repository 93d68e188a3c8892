/**
 * A worker that refills the schedule in a process of its own, for a test that kills it: it saves some slices, reports
 * over IPC that it reads the next one, and stays there, with its token renewed.
 */
import { loadConfig } from '#config/load.ts'
import type { Context } from '#src/context.ts'
import { openLog } from '#src/platform/log.ts'
import { openDb } from '#src/stores/db.ts'
import { openRedis, waitUntilReady } from '#src/stores/redis.ts'
import { createReconcileRound } from './reconcile.ts'

const config = loadConfig()
const log = openLog(config, 'test')
const db = openDb(config.databaseUrl ?? '', log, 1)
const redis = openRedis(config.redisUrl ?? '', log)
await waitUntilReady(redis, 10_000)

let slicesLeft = Number(process.argv[2])
const hanging: Context['db'] = {
  ...db,
  snapshot: async (work, settings) => {
    if (slicesLeft-- > 0) return db.snapshot(work, settings)
    process.send?.('midway')
    return new Promise<never>(() => undefined)
  },
}
const ctx = { config, db: hanging, redis, log, clock: { now: () => Date.now() } } as unknown as Context
await createReconcileRound(ctx)()
