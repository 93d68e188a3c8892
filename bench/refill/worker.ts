/**
 * A worker of the measurement, in a process of its own: it runs the loop that refills the schedule, as `mailstead
 * worker` does, and reports over IPC when it runs and each slice that it reads.
 */
import { loadConfig } from '#config/load.ts'
import type { Context } from '#src/context.ts'
import { openLog } from '#src/platform/log.ts'
import { openDb } from '#src/stores/db.ts'
import { openRedis, waitUntilReady } from '#src/stores/redis.ts'
import { startLoop } from '#worker/loop.ts'
import { createReconcileRound } from '#worker/reconcile.ts'

const config = loadConfig()
const log = openLog(config, 'bench')
const db = openDb(config.databaseUrl ?? '', log, 2)
const redis = openRedis(config.redisUrl ?? '', log)
await waitUntilReady(redis, 10_000)

const reporting: Context['db'] = {
  ...db,
  snapshot: (work, settings) => {
    process.send?.('slice')
    return db.snapshot(work, settings)
  },
}
const ctx = { config, db: reporting, redis, log, clock: { now: () => Date.now() } } as unknown as Context
startLoop(log, { name: 'reconcile', everyMs: 1000, round: createReconcileRound(ctx) })
process.send?.('running')
