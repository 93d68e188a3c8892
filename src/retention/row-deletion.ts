/**
 * Deletes the rows of workspaces whose period is over while their partition stays: another workspace stores its mail
 * longer, or mail of the week is still to be sent. It walks by workspace and time, in slices; each slice is one
 * transaction with its progress, so any worker continues after a crash, and two workers process different workspaces.
 *
 * Mail that is still to be sent is not deleted, nor is any part of it. The next walk, a day later, begins at the oldest
 * of it. Workspaces with the longest period wait for whole partitions, which cost nothing to drop (partition-drops.ts),
 * and for a day more, in which those with open mail are made small (partition-rewrites.ts). Mail of a deleted workspace
 * is deleted after the shortest period.
 */
import { idAt, timeOf } from '#src/platform/id.ts'
import type { Db, Queryable } from '#src/stores/db.ts'
import { type TimeSpan, WEEK_MS, weekOf } from '#src/stores/partition-names.ts'
import { listPartitions } from '#src/stores/partitions.ts'
import { sql } from '#src/stores/sql.ts'
import { weeksOf } from '#src/stores/weeks.ts'
import { DATA_NAMES, type DataName, DELETED_DATA, SLICE, sliceSql } from './deleted-data.ts'
import {
  LEAST_DAYS,
  type PeriodName,
  periodParameters,
  periodsSql,
  readLongestPeriods,
  type RetentionPeriods,
} from './periods.ts'

const DAY_MS = 24 * 3600 * 1000

/** A workspace with rows to delete. */
export interface OverdueWorkspace {
  readonly workspaceId: string
  /** Older rows should not be stored. */
  readonly targetMs: number
  /** Older rows are deleted. */
  readonly doneMs: number
  readonly isGone: boolean
}

interface CandidateRow {
  readonly workspace_id: string
  readonly days: number
  readonly done_ms: number
  readonly is_gone: boolean
}

/** Those with rows to delete, the most overdue first. */
export async function listOverdue(
  db: Queryable,
  defaults: RetentionPeriods,
  data: DataName,
  nowMs: number,
): Promise<OverdueWorkspace[]> {
  const { period, oldest } = DELETED_DATA[data]
  const partitions = await listPartitions(db, oldest)
  const [first] = partitions
  if (first === undefined) return []
  const longest = await readLongestPeriods(db, defaults)
  const endMs = data === 'old_bodies' ? await readEndOfOldBodies(db) : Infinity
  const { rows } = await db.query<CandidateRow>(CANDIDATES(period), [
    ...periodParameters(defaults),
    data,
    LEAST_DAYS[period],
  ])
  return rows
    .map(({ workspace_id: workspaceId, days, done_ms: doneMs, is_gone: isGone }) => ({
      workspaceId,
      isGone,
      targetMs: Math.min(targetOf(partitions, { data, days, longest: longest[period] }, nowMs), endMs),
      doneMs: Math.max(doneMs, first.from),
    }))
    .filter(({ targetMs, doneMs }) => targetMs > doneMs)
    .toSorted((a, b) => a.doneMs - b.doneMs)
}

const CANDIDATES = (period: PeriodName): string => sql`
  WITH periods AS (
    SELECT workspace_id, ${period} AS days, false AS is_gone
    FROM (${periodsSql(1)}) p
    UNION ALL
    SELECT workspace_id, $5::integer, true
    FROM retention_progress
    WHERE data = $4 AND gone_at IS NOT NULL
  )
  SELECT p.workspace_id, p.days, p.is_gone, coalesce(extract(epoch FROM g.done_until)::float8 * 1000, 0) AS done_ms
  FROM periods p
  LEFT JOIN retention_progress g ON g.workspace_id = p.workspace_id AND g.data = $4
`

/** No message that was accepted later has its body in messages; clocks may differ. */
async function readEndOfOldBodies(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ ms: number | null }>(
    'SELECT extract(epoch FROM apart_since)::float8 * 1000 AS ms FROM body_storage',
  )
  const since = rows[0]?.ms ?? null
  return since === null ? Infinity : Math.ceil(since) + DAY_MS
}

interface WalkedPeriod {
  readonly data: DataName
  readonly days: number
  readonly longest: number
}

/** The walks of events wait for whole weeks: no index has them by time alone. */
function targetOf(partitions: readonly TimeSpan[], { data, days, longest }: WalkedPeriod, nowMs: number): number {
  const targetMs = nowMs - days * DAY_MS
  if (days !== longest || !DELETED_DATA[data].isDropped)
    return data === 'events' ? weekOf(targetMs) : Math.floor(targetMs / DAY_MS) * DAY_MS
  // a day later than it may be dropped, or made small
  const waitMs = targetMs - DAY_MS
  return partitions.find(({ from, to }) => from <= waitMs && waitMs < to)?.from ?? weekOf(waitMs)
}

const BEGIN_WALK = sql`
  INSERT INTO retention_progress (workspace_id, data)
  VALUES ($1, $2)
  ON CONFLICT DO NOTHING
`
const LOCK_WALK = sql`
  SELECT extract(epoch FROM walk_from)::float8 * 1000 AS from_ms, position
  FROM retention_progress
  WHERE workspace_id = $1 AND data = $2
  FOR UPDATE SKIP LOCKED
`
const SAVE_POSITION = sql`
  UPDATE retention_progress
  SET position = $3, open_from = coalesce(open_from, to_timestamp($4::float8 / 1000))
  WHERE workspace_id = $1 AND data = $2
`
/** `open_from`: the oldest mail that this walk left. */
const END_WALK = sql`
  UPDATE retention_progress
  SET position = NULL, open_from = NULL, done_until = to_timestamp($3::float8 / 1000),
    walk_from = coalesce(open_from, to_timestamp($3::float8 / 1000))
  WHERE workspace_id = $1 AND data = $2
`

interface SliceRow {
  readonly seen: number
  readonly last: string | null
  readonly firstOpen: string | null
  readonly deleted: number
}

export interface DeletedSlice {
  readonly deleted: number
  /** The walk of this workspace has ended, or another worker does it. */
  readonly isEnd: boolean
}

/** Deletes one slice of one workspace, in one week. */
export function deleteSlice(
  db: Pick<Db, 'transaction'>,
  data: DataName,
  { workspaceId, targetMs, doneMs }: Pick<OverdueWorkspace, 'workspaceId' | 'targetMs' | 'doneMs'>,
): Promise<DeletedSlice> {
  return db.transaction(async (tx) => {
    const key = [workspaceId, data]
    await tx.query(BEGIN_WALK, key)
    const {
      rows: [walk],
    } = await tx.query<{ from_ms: number; position: string | null }>(LOCK_WALK, key)
    if (walk === undefined) return { deleted: 0, isEnd: true }
    const start = walk.position ?? idAt(Math.max(walk.from_ms, await oldestOf(tx, data, doneMs)))
    const weekEnd = weekOf(timeOf(start)) + WEEK_MS
    const end = Math.min(weekEnd, targetMs)
    const { rows } = await tx.query<SliceRow>(sliceSql(data, weeksOf([start])), [workspaceId, start, idAt(end)])
    const { seen = 0, last = null, firstOpen = null, deleted = 0 } = rows[0] ?? {}
    const openMs = firstOpen === null ? null : timeOf(firstOpen)
    const next = seen < SLICE ? idAt(end) : last === null ? start : idAfter(last)
    await tx.query(SAVE_POSITION, [...key, next, openMs])
    const isEnd = seen < SLICE && end >= targetMs
    if (isEnd) await tx.query(END_WALK, [...key, targetMs])
    return { deleted, isEnd }
  })
}

/** A walk begins at the oldest partition: in the weeks before there is nothing. */
async function oldestOf(tx: Queryable, data: DataName, otherwiseMs: number): Promise<number> {
  const [oldest] = await listPartitions(tx, DELETED_DATA[data].oldest)
  return oldest?.from ?? otherwiseMs
}

/** The next id. A message has a single id, so that adding one to its last digits never carries into the time. */
function idAfter(id: string): string {
  const tail = BigInt(`0x${id.slice(19).replaceAll('-', '')}`) + 1n
  const hex = tail.toString(16).padStart(16, '0')
  return `${id.slice(0, 19)}${hex.slice(0, 4)}-${hex.slice(4)}`
}

/** Forgets the deleted workspaces of which nothing is stored any longer. */
export async function forgetGoneWorkspaces(db: Queryable): Promise<void> {
  const oldest = await Promise.all(DATA_NAMES.map((data) => oldestOf(db, data, Infinity)))
  await db.query(
    sql`
      DELETE FROM retention_progress
      WHERE gone_at IS NOT NULL
        AND (
          (done_until > gone_at + interval '1 day' AND walk_from >= done_until)
          OR gone_at < to_timestamp($1::float8 / 1000)
        )
    `,
    [Math.min(...oldest)],
  )
}

/** Called when a workspace is deleted: its mail is deleted after the shortest period. */
export async function markGone(db: Queryable, workspaceId: string): Promise<void> {
  await db.query(
    sql`
      INSERT INTO retention_progress (workspace_id, data, gone_at)
      SELECT $1, data, now()
      FROM unnest($2::text[]) AS data
      ON CONFLICT (workspace_id, data)
      DO UPDATE SET gone_at = excluded.gone_at
    `,
    [workspaceId, DATA_NAMES],
  )
}
