/**
 * Creates weekly partitions of the tables that grow, by the time in their UUIDv7 keys. Every migration and, every few
 * minutes, the worker create them three weeks ahead, so that an insert always finds its partition. Weeks that are old
 * become months (src/retention/partition-rewrites.ts).
 */
import type { Queryable } from './db.ts'
import {
  boundsOf,
  monthName,
  openName,
  PARTITIONED,
  type PartitionedTable,
  partitionName,
  readPartitionName,
  type TimeSpan,
  WEEK_MS,
  weekOf,
} from './partition-names.ts'
import { sql } from './sql.ts'

const WEEKS_AHEAD = 3

/** Creates the partitions from last week (clocks differ) to three weeks ahead. Existing partitions are not changed. */
export async function ensurePartitions(run: (statement: string) => Promise<unknown>, nowMs: number): Promise<void> {
  const first = weekOf(nowMs) - WEEK_MS
  for (const [table, storage] of Object.entries(PARTITIONED) as [PartitionedTable, string][]) {
    for (let week = first; week <= first + (WEEKS_AHEAD + 1) * WEEK_MS; week += WEEK_MS) {
      const name = partitionName(table, week)
      const bounds = boundsOf({ from: week, to: week + WEEK_MS })
      const others = [monthName(table, week), openName(name), openName(monthName(table, week))]
      await run(createPartition(table, { name, bounds, storage, others }))
    }
  }
}

interface Partition {
  readonly name: string
  readonly bounds: string
  readonly storage: string
  /** Partitions that may have the week as well. */
  readonly others: readonly string[]
}

/**
 * A table that is attached afterwards. `CREATE TABLE … PARTITION OF` locks the whole table against readers: behind a
 * backup, which reads for hours, it would stop all mail. Of two processes that create a partition, one succeeds.
 */
const createPartition = (table: string, { name, bounds, storage, others }: Partition): string => sql`
  DO $body$
  DECLARE
    setting record;
  BEGIN
    IF to_regclass('${name}') IS NULL AND NOT EXISTS (
      SELECT
      FROM pg_class c
      WHERE c.oid IN (${others.map((other) => `to_regclass('${other}')`).join(', ')}) AND c.relispartition
    ) THEN
      CREATE TABLE ${name} (LIKE ${table} INCLUDING ALL) ${storage === '' ? '' : `WITH (${storage})`};
      ${copyStatistics(table, name)};
      ALTER TABLE ${table} ATTACH PARTITION ${name} FOR VALUES ${bounds};
    END IF;
  EXCEPTION WHEN duplicate_table OR unique_violation THEN NULL;
  END $body$
`

/**
 * SQL of PL/pgSQL: sets the statistics targets of the columns of a partition, which LIKE does not copy. Needs a
 * variable `setting` of type record.
 */
export function copyStatistics(table: string, partition: string): string {
  return sql`
    FOR setting IN
      SELECT attname AS name, attstattarget AS target
      FROM pg_attribute
      WHERE attrelid = '${table}'::regclass AND attstattarget >= 0 AND attnum > 0 AND NOT attisdropped
    LOOP
      EXECUTE format('ALTER TABLE ${partition} ALTER %I SET STATISTICS %s', setting.name, setting.target);
    END LOOP`
}

/** A partition that is attached. */
export interface StoredPartition extends TimeSpan {
  readonly name: string
}

/** The partitions of a table, the oldest first. */
export async function listPartitions(db: Queryable, table: PartitionedTable): Promise<StoredPartition[]> {
  const { rows } = await db.query<{ name: string }>(
    sql`
      SELECT c.relname AS name
      FROM pg_inherits i
      JOIN pg_class c ON c.oid = i.inhrelid
      WHERE i.inhparent = $1::regclass AND NOT i.inhdetachpending
    `,
    [table],
  )
  return rows
    .flatMap(({ name }) => {
      const found = readPartitionName(name)
      return found === null ? [] : [{ name, from: found.from, to: found.to }]
    })
    .toSorted((a, b) => a.from - b.from)
}

/** The weeks that a table has partitions for, the oldest first: each as the time of its Monday. */
export async function listWeeks(db: Queryable, table: PartitionedTable): Promise<number[]> {
  return (await listPartitions(db, table)).flatMap(({ from, to }) =>
    Array.from({ length: (to - from) / WEEK_MS }, (_, i) => from + i * WEEK_MS),
  )
}
