/**
 * The partitions of all tables, and which of them nobody needs any longer. A partition has expired when the longest
 * period of all workspaces is over for its last row, unless mail of it is still to be sent. That of the newest stored
 * message never expires: a clock that is wrong must not empty the database at once.
 */
import { idAt } from '#src/platform/id.ts'
import { readSince } from '#src/queue/open-weeks.ts'
import type { Queryable } from '#src/stores/db.ts'
import { NAME_END, type PartitionedTable, readPartitionName, type TimeSpan } from '#src/stores/partition-names.ts'
import { listPartitions } from '#src/stores/partitions.ts'
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
  { table: 'message_bodies', period: 'bodies', isOfMessages: true },
  { table: 'attachments', period: 'bodies', isOfMessages: true },
  { table: 'attempts', period: 'events', isOfMessages: true },
  { table: 'events', period: 'events', isOfMessages: false },
]

/** The comment on a partition that is to be dropped. */
export const EXPIRED_MARK = 'mailstead: expired'
const DAY_MS = 24 * 3600 * 1000

export interface Partition extends TimeSpan {
  readonly name: string
  readonly table: PartitionedTable
  /** `pending`: a detach was begun; `detached`: it is a table of its own. */
  readonly state: 'attached' | 'pending' | 'detached'
  /** Mailstead decided to drop it. */
  readonly isMarked: boolean
}

/** All partitions, and those that Mailstead detached and did not drop, the oldest first. */
async function listAll(db: Queryable): Promise<Partition[]> {
  const { rows } = await db.query<Pick<Partition, 'name' | 'state' | 'isMarked'> & { of: string | null }>(
    sql`
      SELECT c.relname AS name, p.relname AS of,
        CASE WHEN i.inhdetachpending THEN 'pending' ELSE 'attached' END AS state,
        obj_description(c.oid, 'pg_class') IS NOT DISTINCT FROM $2 AS "isMarked"
      FROM pg_inherits i
      JOIN pg_class c ON c.oid = i.inhrelid
      JOIN pg_class p ON p.oid = i.inhparent
      WHERE i.inhparent = ANY (SELECT t::regclass FROM unnest($1::text[]) AS t)
      UNION ALL
      SELECT c.relname, NULL, 'detached', true
      FROM pg_class c
      WHERE c.relkind = 'r'
        AND NOT c.relispartition
        AND c.relname ~ '${NAME_END}'
        AND c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'messages'::regclass)
        AND obj_description(c.oid, 'pg_class') = $2
    `,
    [DROPPED_TABLES.map(({ table }) => table), EXPIRED_MARK],
  )
  return rows
    .flatMap(({ of, ...row }) => {
      const named = readPartitionName(row.name)
      return named === null || (of !== null && of !== named.table) ? [] : [{ ...row, ...named }]
    })
    .toSorted((a, b) => a.from - b.from || (ORDER.get(a.table) ?? 0) - (ORDER.get(b.table) ?? 0))
}

const ORDER: ReadonlyMap<string, number> = new Map(DROPPED_TABLES.map(({ table }, i) => [table, i]))
const ROWS: ReadonlyMap<string, DroppedTable> = new Map(DROPPED_TABLES.map((row) => [row.table, row]))

/** What is older has expired. */
export function expiredBefore(days: number, nowMs: number): number {
  return nowMs - days * DAY_MS
}

/** A partition, and whether it should be dropped. */
export interface CheckedPartition extends Partition {
  /** Its period is over for everybody, nothing of it is still to be sent, and newer mail is stored. */
  readonly isExpired: boolean
  /** It would have expired, but mail of it is still to be sent. */
  readonly isHeld: boolean
}

/** The oldest first. */
export async function checkPartitions(
  db: Queryable,
  longest: RetentionPeriods,
  nowMs: number,
): Promise<CheckedPartition[]> {
  const partitions = await listAll(db)
  const isOver = ({ table, to }: Partition): boolean => {
    const period = ROWS.get(table)?.period
    return period !== undefined && to <= expiredBefore(longest[period], nowMs)
  }
  const over = partitions.filter((one) => isOver(one))
  if (over.length === 0) return partitions.map((one) => ({ ...one, isExpired: false, isHeld: false }))
  const newestMs = await findNewest(db)
  const needed = await findNeeded(
    db,
    over.filter(({ table }) => ROWS.get(table)?.isOfMessages === true),
    partitions.filter(({ table }) => table === 'recipients'),
  )
  return partitions.map((one) => {
    const isOld = isOver(one) && one.from < newestMs
    const isHeld = isOld && needed.has(one.name)
    return { ...one, isExpired: isOld && !isHeld, isHeld }
  })
}

/** The names of those with mail that is still to be sent. */
async function findNeeded(
  db: Queryable,
  over: readonly Partition[],
  recipients: readonly Partition[],
): Promise<ReadonlySet<string>> {
  const sinceMs = await readSince(db)
  const known = new Map<string, boolean>()
  const names = new Set<string>()
  for (const one of over) {
    const key = `${one.from} ${one.to}`
    const hasOpen = known.get(key) ?? (await hasOpenMail(db, one, recipients, sinceMs))
    known.set(key, hasOpen)
    if (hasOpen) names.add(one.name)
  }
  return names
}

/**
 * Whether mail of these ids is still to be sent. There is none before `sinceMs`, so attached partitions before it are
 * not read. Each partition of recipients is read by its own name, also one that is not attached.
 */
export async function hasOpenMail(
  db: Queryable,
  { from, to }: TimeSpan,
  recipients: readonly Partition[],
  sinceMs: number,
): Promise<boolean> {
  for (const part of recipients) {
    if (part.from >= to || part.to <= from || (to <= sinceMs && part.state === 'attached')) continue
    const { rows } = await db.query(
      sql`
        SELECT
        FROM ${part.name}
        WHERE is_open AND message_id >= '${idAt(from)}' AND message_id < '${idAt(to)}'
        LIMIT 1
      `,
    )
    if (rows.length > 0) return true
  }
  return false
}

/** Where the partition of the newest stored message begins; infinite if none is stored. */
export async function findNewest(db: Queryable): Promise<number> {
  for (const { name, from } of (await listPartitions(db, 'messages')).toReversed()) {
    const { rows } = await db.query(`SELECT FROM ${name} LIMIT 1`)
    if (rows.length > 0) return from
  }
  return Infinity
}
