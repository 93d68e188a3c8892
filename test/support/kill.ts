/**
 * Kills an outbound process with kill -9 and returns exactly the messages that may arrive twice: those that the
 * receiver had accepted, PostgreSQL had not yet recorded, and whose 250 the process may not have read. It had read the
 * 250 of every message but the last of each connection, because it began the next one. The worker is paused meanwhile,
 * so that no lease is released before the count.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from '#src/stores/sql.ts'
import type { ReceivedMessage } from './receiver-connection.ts'
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
    const unread = addressesWithUnreadReply(mx.messages)
    return new Set(rows.map(({ address }) => address).filter((address) => unread.has(address)))
  } finally {
    roles.worker.resume()
  }
}

/** The recipients of the last message of each connection: the sender may not have read the replies to these. */
export function addressesWithUnreadReply(messages: readonly ReceivedMessage[]): Set<string> {
  const lastOfConnection = new Map(messages.map(({ connection, to }) => [connection, to]))
  return new Set([...lastOfConnection.values()].flat())
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
