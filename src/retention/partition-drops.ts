/**
 * Drops the partitions whose rows nobody stores any longer: a week goes when the longest period of all workspaces is
 * over for its last row. A week with mail that is still to be sent stays until that mail is sent; row-deletion.ts
 * deletes what else is in it. The week of the newest stored message is never dropped: a clock that is wrong must not
 * empty the database at once. Its rows are deleted in slices.
 *
 * A partition is marked, detached concurrently and dropped: one statement for each step. Before each step the
 * catalogue, the periods and the open mail are read again, so that another round or another worker continues after a
 * crash. What is no longer expired, because a period became longer, is attached again and loses its mark. A detach
 * without the mark is one of the operator, and stays as it is.
 *
 * A detach waits for every transaction that uses the table, such as a backup of hours: it has a connection and a time
 * limit of its own. A step that fails is logged, and the next round repeats it. One worker at a time does this: its
 * session holds an advisory lock, and PostgreSQL ends a session only after its statement.
 */
import type { Context } from '#src/context.ts'
import { idAt } from '#src/platform/id.ts'
import { readSince } from '#src/queue/open-weeks.ts'
import type { Queryable } from '#src/stores/db.ts'
import { listWeeks, partitionName, type PartitionedTable, WEEK_MS, weekOfName } from '#src/stores/partitions.ts'
import { clockProblem } from '#src/stores/server-clock.ts'
import { sql } from '#src/stores/sql.ts'
import { defaultPeriods, type PeriodName, readLongestPeriods, type RetentionPeriods } from './periods.ts'

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
const MARK = 'mailstead: expired'
const DAY_MS = 24 * 3600 * 1000
/** How long a detach may wait; a later round finalizes one that waited longer. */
const DETACH_MS = 6 * 3600 * 1000
const LOCK = 0x44524f50

interface Partition {
  readonly name: string
  readonly table: PartitionedTable
  readonly week: number
  /** `pending`: a detach was begun; `detached`: it is a table of its own. */
  readonly state: 'attached' | 'pending' | 'detached'
  /** Mailstead decided to drop it. */
  readonly isMarked: boolean
}

/** All partitions, and those that Mailstead detached and did not drop, the oldest first. */
async function listPartitions(db: Queryable): Promise<Partition[]> {
  const { rows } = await db.query<Omit<Partition, 'week'>>(
    sql`
      SELECT c.relname AS name, p.relname AS table,
        CASE WHEN i.inhdetachpending THEN 'pending' ELSE 'attached' END AS state,
        obj_description(c.oid, 'pg_class') IS NOT DISTINCT FROM $2 AS "isMarked"
      FROM pg_inherits i
      JOIN pg_class c ON c.oid = i.inhrelid
      JOIN pg_class p ON p.oid = i.inhparent
      WHERE i.inhparent = ANY (SELECT t::regclass FROM unnest($1::text[]) AS t)
      UNION ALL
      SELECT c.relname, regexp_replace(c.relname, '_[0-9]{8}$', ''), 'detached', true
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
    .filter(({ table, name, week }) => ORDER.has(table) && !Number.isNaN(week) && name === partitionName(table, week))
    .toSorted((a, b) => a.week - b.week || (ORDER.get(a.table) ?? 0) - (ORDER.get(b.table) ?? 0))
}

const ORDER: ReadonlyMap<string, number> = new Map(DROPPED_TABLES.map(({ table }, i) => [table, i]))
const ROWS: ReadonlyMap<string, DroppedTable> = new Map(DROPPED_TABLES.map((row) => [row.table, row]))

/** The end of the last week that is over for everybody. */
export function expiredBefore(days: number, nowMs: number): number {
  return nowMs - days * DAY_MS
}

/** A partition, and whether it should be dropped. */
export interface CheckedPartition extends Partition {
  /** Its period is over for everybody, nothing of its week is still to be sent, and newer mail is stored. */
  readonly isExpired: boolean
}

/** The oldest first. */
export async function checkPartitions(
  db: Queryable,
  longest: RetentionPeriods,
  nowMs: number,
): Promise<CheckedPartition[]> {
  const partitions = await listPartitions(db)
  const isOver = ({ table, week }: Partition): boolean => {
    const period = ROWS.get(table)?.period
    return period !== undefined && week + WEEK_MS <= expiredBefore(longest[period], nowMs)
  }
  const over = partitions.filter((one) => isOver(one))
  if (over.length === 0) return partitions.map((one) => ({ ...one, isExpired: false }))
  const [open, newest] = [await findOpenWeeks(db, over, partitions), await findNewestWeek(db)]
  const needed = ({ table, week }: Partition): boolean => ROWS.get(table)?.isOfMessages === true && open.has(week)
  return partitions.map((one) => ({ ...one, isExpired: isOver(one) && one.week < newest && !needed(one) }))
}

/**
 * Which of these weeks have mail that is still to be sent. There is none before the first open week, so attached weeks
 * before it are not read. A recipients' partition that is not attached is read by its own name.
 */
async function findOpenWeeks(
  db: Queryable,
  over: readonly Partition[],
  all: readonly Partition[],
): Promise<ReadonlySet<number>> {
  const open = new Set<number>()
  const sinceMs = await readSince(db)
  const weeks = new Set(over.map(({ week }) => week))
  const begun = new Set(over.filter(({ state }) => state !== 'attached').map(({ week }) => week))
  for (const { name, week } of all.filter(({ table }) => table === 'recipients')) {
    if (!weeks.has(week) || (week + WEEK_MS <= sinceMs && !begun.has(week))) continue
    const { rows } = await db.query(`SELECT FROM ${name} WHERE is_open LIMIT 1`)
    if (rows.length > 0) open.add(week)
  }
  return open
}

/** The week of the newest stored message; infinite if none is stored. */
async function findNewestWeek(db: Queryable): Promise<number> {
  for (const week of (await listWeeks(db, 'messages')).toReversed()) {
    const { rows } = await db.query(
      `SELECT FROM messages WHERE id >= '${idAt(week)}' AND id < '${idAt(week + WEEK_MS)}' LIMIT 1`,
    )
    if (rows.length > 0) return week
  }
  return Infinity
}

/** Each step is one statement, and finds what the earlier ones did. */
type Step = 'mark' | 'unmark' | 'detach' | 'finalize' | 'attach' | 'drop'

const STATEMENTS: Readonly<Record<Step, (partition: Partition) => string>> = {
  mark: ({ name }) => `COMMENT ON TABLE ${name} IS '${MARK}'`,
  unmark: ({ name }) => `COMMENT ON TABLE ${name} IS NULL`,
  // not in a transaction; if it is interrupted, the partition is pending, and the next round continues
  detach: ({ table, name }) => `ALTER TABLE ${table} DETACH PARTITION ${name} CONCURRENTLY`,
  finalize: ({ table, name }) => `ALTER TABLE ${table} DETACH PARTITION ${name} FINALIZE`,
  attach: ({ table, name, week }) =>
    `ALTER TABLE ${table} ATTACH PARTITION ${name} FOR VALUES FROM ('${idAt(week)}') TO ('${idAt(week + WEEK_MS)}')`,
  drop: ({ name }) => `DROP TABLE IF EXISTS ${name}`,
}
/** These wait for transactions of others. */
const LONG_STEPS: ReadonlySet<Step> = new Set<Step>(['detach', 'finalize'])

/** Null: there is nothing to do for this partition. */
function stepOf({ state, isMarked, isExpired }: CheckedPartition): Step | null {
  if (state === 'attached') return isExpired ? (isMarked ? 'detach' : 'mark') : isMarked ? 'unmark' : null
  if (!isMarked) return null
  return state === 'pending' ? 'finalize' : isExpired ? 'drop' : 'attach'
}

interface Due {
  readonly partition: CheckedPartition
  readonly step: Step
}

type Deps = Pick<Context, 'db' | 'log' | 'clock' | 'config'>

/** PostgreSQL detaches one partition of a table at a time, so one that is pending delays the others of its table. */
async function listDue({ db, clock, config }: Deps): Promise<Due[]> {
  const longest = await readLongestPeriods(db, defaultPeriods(config))
  const partitions = await checkPartitions(db, longest, clock.now())
  const blocked = new Set(partitions.filter(({ state }) => state === 'pending').map(({ table }) => table))
  return partitions.flatMap((partition) => {
    const step = stepOf(partition)
    return step === null || (step === 'detach' && blocked.has(partition.table)) ? [] : [{ partition, step }]
  })
}

/** Drops what nobody stores any longer. Returns the names of the dropped partitions. */
export async function dropExpiredPartitions(ctx: Deps): Promise<string[]> {
  if ((await listDue(ctx)).length === 0) return []
  return ctx.db.session(DETACH_MS, async (own) => {
    const { rows } = await own.query<{ isHeld: boolean }>(`SELECT pg_try_advisory_lock(${LOCK}) AS "isHeld"`)
    return rows[0]?.isHeld === true ? runSteps(ctx, own) : []
  })
}

async function runSteps(ctx: Deps, own: Queryable): Promise<string[]> {
  const tried = new Set<string>()
  const dropped: string[] = []
  const keyOf = ({ partition, step }: Due): string => `${step} ${partition.name}`
  // a step may have waited for hours: meanwhile a clock was set, a period changed
  while (clockProblem(ctx.db.clock, ctx.config.maxClockSkewSeconds) === null) {
    const due = (await listDue(ctx)).find((one) => !tried.has(keyOf(one)))
    if (due === undefined) break
    tried.add(keyOf(due))
    if ((await runStep(ctx, own, due)) && due.step === 'drop') dropped.push(due.partition.name)
  }
  return dropped
}

/** False if it failed. */
async function runStep({ db, log }: Deps, own: Queryable, { partition, step }: Due): Promise<boolean> {
  const { name } = partition
  try {
    await (LONG_STEPS.has(step) ? own : db).query(STATEMENTS[step](partition))
  } catch (error) {
    log.warn({ err: error, partition: name, step }, 'a step of dropping a partition failed; the next round repeats it')
    return false
  }
  if (step === 'drop') log.info({ partition: name }, 'dropped an expired partition')
  return true
}
