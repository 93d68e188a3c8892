/**
 * Does in both stores, on rows and keys of its own, what accepting and delivering need: a write in PostgreSQL that is
 * committed as a message is, and the scripts of the schedule and of the ready queues in Redis. A store that answers
 * queries may still refuse these: it is read-only, its disk is full, or a permission is missing.
 *
 * Any number of processes may probe at once. One that dies in between leaves keys that expire.
 */
import { randomUUID } from 'node:crypto'
import type { Context } from '#src/context.ts'
import { urgent, type Db } from '#src/stores/db.ts'
import type { Redis } from '#src/stores/redis.ts'
import { probeDueSchedule } from './due-schedule.ts'
import { readyKey, turnsKey } from './keys.ts'
import { defineReadyScripts } from './ready-scripts.ts'
import { TIER_NAMES } from './tiers.ts'

const WRITE = urgent('store-probe', 'UPDATE store_probe SET written_at = clock_timestamp() WHERE is_only')

const KEY_TTL_MS = 60_000

/** @throws if PostgreSQL does not commit a write. */
export async function probeDatabase(db: Pick<Db, 'query'>): Promise<void> {
  const { rowCount } = await db.query(WRITE)
  if (rowCount !== 1) throw new Error('the row of store_probe is missing: run `mailstead migrate`')
}

/** @throws if Redis does not run the scripts. */
export async function probeRedis({ redis }: Pick<Context, 'redis'>): Promise<void> {
  const probe = randomUUID()
  await Promise.all([probeDueSchedule(redis, probe), probeReadyQueue(redis, `probe:${probe}`)])
}

async function probeReadyQueue(redis: Redis, site: string): Promise<void> {
  const scripts = defineReadyScripts(redis)
  const keys = TIER_NAMES.flatMap((tier) => [readyKey(site, tier), turnsKey(site, tier)])
  const [ready = '', turns = ''] = keys
  await scripts.addReady(ready, turns, 'probe', 1, site)
  await redis.multi().pexpire(ready, KEY_TTL_MS).pexpire(turns, KEY_TTL_MS).exec()
  // a claim that finds fewer than it asks for removes the turns
  const [[claimed] = []] = await scripts.claimReady(...keys, '2', '0')
  if (claimed !== site) throw new Error('the ready queue in Redis lost an entry')
}
