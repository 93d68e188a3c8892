/**
 * Kills an outbound process with kill -9 and returns exactly the messages that may arrive twice: those that the
 * receiver had accepted and PostgreSQL had not yet recorded. The worker is paused meanwhile, so that no lease is
 * released before the count.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from '#src/stores/sql.ts'
import type { Receiver } from './receiver.ts'
import type { RoleName, System } from './system.ts'
import { until } from './until.ts'

/** Kills the process; returns the addresses that may arrive twice. Ignores connections of other outbound processes. */
export async function killInFlight(system: System, mx: Receiver, role: RoleName = 'mta'): Promise<Set<string>> {
  const { roles, db } = system
  roles.worker.pause()
  try {
    const before = await leasesOf(system)
    await roles[role].kill()
    // wait until the receiver has read what was sent, and PostgreSQL has executed what was requested
    if (before.length === 1) await until(() => mx.open === 0)
    else await sleep(200)
    await until(async () => (await db.query(BUSY)).rows.length === 0)
    const { rows } = await db.query<{ address: string }>(
      `SELECT address FROM recipients WHERE state = 'sending' AND is_open`,
    )
    const received = new Set(mx.messages.flatMap(({ to }) => to))
    return new Set(rows.map(({ address }) => address).filter((address) => received.has(address)))
  } finally {
    roles.worker.resume()
  }
}

const BUSY = sql`
  SELECT 1
  FROM pg_stat_activity
  WHERE datname = current_database()
    AND state = 'active'
    AND query LIKE '%UPDATE recipients%'
    AND pid <> pg_backend_pid()
`

async function leasesOf({ db }: System): Promise<number[]> {
  return (await db.query<{ id: number }>('SELECT id FROM leases')).rows.map(({ id }) => id)
}
