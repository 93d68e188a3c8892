/**
 * Drops the partitions whose rows nobody stores any longer: a week goes when the longest period of all workspaces is
 * over for its last row. A week with mail that is still to be sent stays until that mail is sent; row-deletion.ts
 * deletes what else is in it.
 *
 * A partition is marked, detached concurrently (nobody waits for it) and dropped. Each step is found again in the
 * catalogue, so another round or another worker continues after a crash. A lock that is not granted in time, because
 * an old transaction still reads the partition, ends the step; the next round repeats it.
 */
import type { Context } from '#src/context.ts'
import { idAt } from '#src/platform/id.ts'
import { readSince } from '#src/queue/open-weeks.ts'
import type { Queryable } from '#src/stores/db.ts'
import { partitionName, type PartitionedTable, WEEK_MS, weekOfName } from '#src/stores/partitions.ts'
import { sql } from '#src/stores/sql.ts'
import type { PeriodName, RetentionPeriods } from './periods.ts'

interface DroppedTable {
  readonly table: PartitionedTable
  readonly period: PeriodName
  /** Its rows belong to messages of the week; those of mail that is still to be sent are needed. */
  readonly isOfMessages: boolean
}

/** In this order: a reader finds no message rather than a part of it. */
export const DROPPED_TABLES: readonly DroppedTable[] = [
  { table: 'messages', period: 'messages', isOfMessages: true },
  { table: 'message_tags', period: 'messages', isOfMessages: true },
  { table: 'recipients', period: 'messages', isOfMessages: true },
  { table: 'attachments', period: 'bodies', isOfMessages: true },
  { table: 'attempts', period: 'events', isOfMessages: true },
  { table: 'events', period: 'events', isOfMessages: false },
]

/** The comment on a partition that is to be dropped. */
const MARK = 'mailstead: expired'
const DAY_MS = 24 * 3600 * 1000

interface Partition {
  readonly name: string
  readonly table: PartitionedTable
  readonly week: number
  /** `pending`: a detach was begun; `detached`: it is a table of its own, to be dropped. */
  readonly state: 'attached' | 'pending' | 'detached'
}

/** All partitions, and those that were detached and not dropped, the oldest first. */
async function listPartitions(db: Queryable): Promise<Partition[]> {
  const { rows } = await db.query<{ name: string; table: PartitionedTable; state: Partition['state'] }>(
    sql`
      SELECT c.relname AS name, p.relname AS table,
        CASE WHEN i.inhdetachpending THEN 'pending' ELSE 'attached' END AS state
      FROM pg_inherits i
      JOIN pg_class c ON c.oid = i.inhrelid
      JOIN pg_class p ON p.oid = i.inhparent
      WHERE i.inhparent = ANY (SELECT t::regclass FROM unnest($1::text[]) AS t)
      UNION ALL
      SELECT c.relname, regexp_replace(c.relname, '_[0-9]{8}$', ''), 'detached'
      FROM pg_class c
      WHERE c.relkind = 'r'
        AND NOT c.relispartition
        AND c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'messages'::regclass)
        AND obj_description(c.oid, 'pg_class') = $2
    `,
    [DROPPED_TABLES.map(({ table }) => table), MARK],
  )
  return rows
    .map((row) => ({ ...row, week: weekOfName(row.name) }))
    .filter(({ week }) => !Number.isNaN(week))
    .toSorted((a, b) => a.week - b.week)
}

/** The end of the last week that is over for everybody. */
export function expiredBefore(days: number, nowMs: number): number {
  return nowMs - days * DAY_MS
}

/** A partition that should be dropped, and whether mail that is still to be sent prevents it. */
export interface ExpiredPartition {
  readonly table: PartitionedTable
  readonly name: string
  readonly week: number
  readonly hasOpenMail: boolean
}

export async function listExpired(
  db: Queryable,
  longest: RetentionPeriods,
  nowMs: number,
): Promise<{ readonly expired: readonly ExpiredPartition[]; readonly begun: readonly Partition[] }> {
  const partitions = await listPartitions(db)
  const rowOf = (table: PartitionedTable): DroppedTable | undefined => DROPPED_TABLES.find((one) => one.table === table)
  const over = partitions.filter(({ table, week, state }) => {
    const row = rowOf(table)
    return state === 'attached' && row !== undefined && week + WEEK_MS <= expiredBefore(longest[row.period], nowMs)
  })
  const open = await findOpenWeeks(db, [...new Set(over.map(({ week }) => week))])
  const order = ({ table }: Partition): number => DROPPED_TABLES.findIndex((one) => one.table === table)
  return {
    expired: over
      .toSorted((a, b) => a.week - b.week || order(a) - order(b))
      .map(({ table, name, week }) => ({
        table,
        name,
        week,
        hasOpenMail: rowOf(table)?.isOfMessages === true && open.has(week),
      })),
    begun: partitions.filter(({ state }) => state !== 'attached'),
  }
}

/** Which of these weeks have mail that is still to be sent. None before the first open week, so those are not read. */
async function findOpenWeeks(db: Queryable, weeks: readonly number[]): Promise<ReadonlySet<number>> {
  const open = new Set<number>()
  const sinceMs = await readSince(db)
  for (const week of weeks.filter((one) => one + WEEK_MS > sinceMs)) {
    const { rows } = await db.query(
      sql`
        SELECT
        FROM recipients
        WHERE is_open AND message_id >= '${idAt(week)}' AND message_id < '${idAt(week + WEEK_MS)}'
        LIMIT 1
      `,
    )
    if (rows.length > 0) open.add(week)
  }
  return open
}

/** Drops what nobody stores any longer. Returns the names of the dropped partitions. */
export async function dropExpiredPartitions(
  ctx: Pick<Context, 'db' | 'log'>,
  longest: RetentionPeriods,
  nowMs: number,
): Promise<string[]> {
  const { expired, begun } = await listExpired(ctx.db, longest, nowMs)
  const dropped: string[] = []
  for (const { table, name, state } of begun) {
    if (state === 'pending') await ctx.db.query(`ALTER TABLE ${table} DETACH PARTITION ${name} FINALIZE`)
    await drop(ctx, name, dropped)
  }
  for (const { table, name, week, hasOpenMail } of expired) {
    if (hasOpenMail || name !== partitionName(table, week)) continue
    await ctx.db.query(`COMMENT ON TABLE ${name} IS '${MARK}'`)
    // not in a transaction; if it is interrupted, the partition is pending, and the next round continues
    await ctx.db.query(`ALTER TABLE ${table} DETACH PARTITION ${name} CONCURRENTLY`)
    await drop(ctx, name, dropped)
  }
  return dropped
}

async function drop({ db, log }: Pick<Context, 'db' | 'log'>, name: string, dropped: string[]): Promise<void> {
  await db.query(`DROP TABLE IF EXISTS ${name}`)
  log.info({ partition: name }, 'dropped an expired partition')
  dropped.push(name)
}
