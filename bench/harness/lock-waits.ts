/**
 * How much PostgreSQL writes and waits for locks while messages are sent: transactions that write, and connections that
 * wait, sampled every 20 ms.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { monotonicMs } from './clock.ts'

export interface LockWaits {
  /** Transactions of the whole server that changed something. */
  readonly writes: number
  /** Milliseconds that connections waited for locks of rows and tables, and for the server's own. */
  readonly lockMs: number
  readonly internalMs: number
}

const EVERY_MS = 20
const SAMPLE = [
  "SELECT count(*) FILTER (WHERE wait_event_type = 'Lock')::int AS locks,",
  "count(*) FILTER (WHERE wait_event_type = 'LWLock')::int AS internal",
  'FROM pg_stat_activity WHERE datname = current_database()',
  "AND backend_type = 'client backend' AND state = 'active'",
].join(' ')
const NEXT_TRANSACTION = 'SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS next'

/** Starts to watch. The returned function ends it. */
export async function watchLockWaits(databaseUrl: string): Promise<() => Promise<LockWaits>> {
  const client = new pg.Client(databaseUrl)
  await client.connect()
  const before = await nextTransaction(client)
  let isOver = false
  const waits = { lockMs: 0, internalMs: 0 }
  const sampling = (async () => {
    let last = monotonicMs()
    // the last sample is taken at the end
    for (let isLast = false; !isLast; await sleep(isOver ? 0 : EVERY_MS)) {
      isLast = isOver
      const { rows } = await client.query<{ locks: number; internal: number }>(SAMPLE)
      const now = monotonicMs()
      waits.lockMs += (rows[0]?.locks ?? 0) * (now - last)
      waits.internalMs += (rows[0]?.internal ?? 0) * (now - last)
      last = now
    }
  })()
  // reported when the watching ends
  sampling.catch(() => {})
  return async () => {
    isOver = true
    try {
      await sampling
      return { writes: (await nextTransaction(client)) - before, ...waits }
    } finally {
      await client.end()
    }
  }
}

async function nextTransaction(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ next: string }>(NEXT_TRANSACTION)
  return Number(rows[0]?.next)
}
