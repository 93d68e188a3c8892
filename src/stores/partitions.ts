/**
 * Creates weekly partitions of the tables that grow, by the time in their UUIDv7 keys. Every migration and, every few
 * minutes, the worker create them three weeks ahead, so that an insert always finds its partition.
 */
import { idAt } from '#src/platform/id.ts'
import type { Queryable } from './db.ts'
import { sql } from './sql.ts'

export const WEEK_MS = 7 * 24 * 3600 * 1000
const WEEKS_AHEAD = 3
// Mondays: the epoch was a Thursday.
const MONDAY_MS = 4 * 24 * 3600 * 1000

/** Tables and the storage settings of their partitions. */
const PARTITIONED = {
  // a body of a few KB stays in its row, uncompressed: cheaper to write and to read
  message_bodies: 'toast_tuple_target = 8160, autovacuum_vacuum_insert_scale_factor = 0.2',
  // earlier versions store bodies there
  messages: 'toast_tuple_target = 8160, autovacuum_vacuum_insert_scale_factor = 0.2',
  attachments: '',
  recipients: 'fillfactor = 70, autovacuum_vacuum_scale_factor = 0.1',
  attempts: '',
  message_tags: '',
  events: '',
} as const
export type PartitionedTable = keyof typeof PARTITIONED

/** The Monday, UTC, at which the week of a time begins: the lower bound of its partition. */
export function weekOf(ms: number): number {
  return Math.floor((ms - MONDAY_MS) / WEEK_MS) * WEEK_MS + MONDAY_MS
}

/** The name of the partition of a week. */
export function partitionName(table: PartitionedTable, ms: number): string {
  return `${table}_${new Date(ms).toISOString().slice(0, 10).replaceAll('-', '')}`
}

/** Creates the partitions from last week (clocks differ) to three weeks ahead. Existing partitions are not changed. */
export async function ensurePartitions(run: (statement: string) => Promise<unknown>, nowMs: number): Promise<void> {
  const first = weekOf(nowMs) - WEEK_MS
  for (const [table, storage] of Object.entries(PARTITIONED) as [PartitionedTable, string][]) {
    for (let week = first; week <= first + (WEEKS_AHEAD + 1) * WEEK_MS; week += WEEK_MS) {
      const name = partitionName(table, week)
      const bounds = `FROM ('${idAt(week)}') TO ('${idAt(week + WEEK_MS)}')`
      await run(createPartition(table, { name, bounds, storage }))
    }
  }
}

interface Partition {
  readonly name: string
  readonly bounds: string
  readonly storage: string
}

/**
 * A table that is attached afterwards. `CREATE TABLE … PARTITION OF` locks the whole table against readers: behind a
 * backup, which reads for hours, it would stop all mail. Of two processes that create a partition, one succeeds.
 */
const createPartition = (table: string, { name, bounds, storage }: Partition): string => sql`
  DO $body$
  BEGIN
    IF to_regclass('${name}') IS NULL THEN
      CREATE TABLE ${name} (LIKE ${table} INCLUDING ALL) ${storage === '' ? '' : `WITH (${storage})`};
      ALTER TABLE ${table} ATTACH PARTITION ${name} FOR VALUES ${bounds};
    END IF;
  EXCEPTION WHEN duplicate_table OR unique_violation THEN NULL;
  END $body$
`

/** The weeks of a table's partitions, the oldest first: each as the time of its Monday. */
export async function listWeeks(db: Queryable, table: PartitionedTable): Promise<number[]> {
  const { rows } = await db.query<{ name: string }>(
    sql`
      SELECT c.relname AS name
      FROM pg_inherits i
      JOIN pg_class c ON c.oid = i.inhrelid
      WHERE i.inhparent = $1::regclass AND NOT i.inhdetachpending
      ORDER BY 1
    `,
    [table],
  )
  return rows.map(({ name }) => weekOfName(name)).filter((week) => !Number.isNaN(week))
}

/** The week in the name of a partition; NaN for a name that `partitionName` did not make. */
export function weekOfName(name: string): number {
  const [, year, month, day] = /_(\d{4})(\d\d)(\d\d)$/.exec(name) ?? []
  return Date.parse(`${year}-${month}-${day}T00:00:00Z`)
}
