/**
 * The queue of reports that other servers send about us or our domains, until the inbound role processes them: one
 * table for each kind. An accepted report is stored, so a crash loses none. Anybody can send reports, so there are
 * limits on the rate of each network and on the length of the queue. A claim ends after five minutes, if its process
 * died.
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import type { Context } from '#src/context.ts'
import type { Purpose } from '#src/crypto/purposes.ts'
import type { Queryable } from '#src/stores/db.ts'
import { newId } from '#src/platform/id.ts'
import type { AttemptLimit, AttemptLimiter } from '#src/rate-limits/attempt-limits.ts'
import { networkOf } from '#src/net/address-policy.ts'
import { sql } from '#src/stores/sql.ts'

export interface ReportArrival {
  /** Address of the client that delivered it. */
  readonly peer: string
  readonly raw: Buffer
}

export type ClaimedArrival<T extends ReportArrival> = T & {
  readonly id: string
  /** Includes this attempt. */
  readonly tries: number
}

export interface ArrivalQueue<T extends ReportArrival> {
  /** Seconds to wait if the network of this address has sent too many; null: it may send. */
  limit(ctx: Pick<Context, 'encryption'>, attempts: AttemptLimiter, address: string): Promise<number | null>
  /** False while the queue is full. */
  enqueue(ctx: Pick<Context, 'db' | 'clock'>, arrival: T): Promise<boolean>
  claim(db: Queryable, now: Date, most: number): Promise<ClaimedArrival<T>[]>
  delete(tx: Queryable, ids: readonly string[]): Promise<void>
}

export interface ArrivalTable<T extends ReportArrival> {
  readonly table: string
  /** Properties of an arrival by column. */
  readonly columns: Readonly<Record<string, keyof T & string>>
  /** Counters of networks have a digest of the network as key. */
  readonly purpose: Purpose
  readonly counter: string
  readonly perNetwork: AttemptLimit
  readonly maxWaiting: number
}

const CLAIM = `interval '5 minutes'`

export function createArrivalQueue<T extends ReportArrival>(options: ArrivalTable<T>): ArrivalQueue<T> {
  const { table, purpose, counter, perNetwork, maxWaiting } = options
  const columns = Object.keys(options.columns)
  const insert = sql`
    INSERT INTO ${table} (id, due_at, ${columns.join(', ')})
    SELECT ${['id', 'due_at', ...columns].map((_, i) => `$${i + 1}`).join(', ')}
    WHERE (SELECT count(*) FROM ${table}) < ${maxWaiting}
  `
  const update = sql`
    UPDATE ${table}
    SET due_at = $1::timestamptz + ${CLAIM}, tries = tries + 1
    WHERE id IN (
      SELECT id
      FROM ${table}
      WHERE due_at <= $1
      ORDER BY due_at
      LIMIT $2
      FOR UPDATE SKIP LOCKED
    )
    RETURNING id, tries, ${columns.map((column) => `${column} AS "${options.columns[column]}"`).join(', ')}
  `
  return {
    limit: ({ encryption }, attempts, address) => {
      const name = encryption.mac(purpose, networkOf(address)).toString('base64url').slice(0, 22)
      return attempts.consume(`${counter}:${name}`, perNetwork)
    },
    enqueue: async ({ db, clock }, arrival) => {
      const now = clock.now()
      const values = Object.values(options.columns).map((property) => arrival[property])
      const { rowCount } = await db.query(insert, [newId(now), new Date(now), ...values])
      return rowCount === 1
    },
    claim: async (db, now, most) => (await db.query<ClaimedArrival<T>>(update, [now, most])).rows,
    delete: async (tx, ids) => {
      await tx.query(`DELETE FROM ${table} WHERE id = ANY ($1::uuid[])`, columnsOf(ids, [(id) => id]))
    },
  }
}
