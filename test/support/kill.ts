/**
 * kill -9 of an outbound process, with an exact count of what may come twice for it: what the receiver had taken and PostgreSQL had not yet
 * heard of. The worker is held still meanwhile, so that nothing is given back before it was counted.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from '#src/stores/sql.ts'
import type { Receiver } from './receiver.ts'
import type { RoleName, System } from './system.ts'
import { until } from './until.ts'

/** Kills it; answers the addresses in the window. Connections of other outbound processes, when there are any, are not waited for. */
export async function killInFlight(system: System, mx: Receiver, role: RoleName = 'mta'): Promise<Set<string>> {
  const { roles, db } = system
  roles.worker.pause()
  try {
    const before = await leasesOf(system)
    await roles[role].kill()
    // what it had written is read by the receiver, what it had asked for is carried out by PostgreSQL
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
