/**
 * Rolls statistics up: when an hour is over, its minutes are added to a row of the hour and to those of the day, week
 * and month of UTC, and to the sums of all values of these periods. Those rows and the time until which minutes are
 * rolled up (`rolled_until`) change in one transaction, so each event is either only in minutes after that time, or in
 * all resolutions. What is counted later of an earlier time, such as the stored events of an upgrade, is added to all
 * of them at once (`withCoarser`). Rows are deleted by age: minutes after a day, hours after 31 days, others after the
 * time of the settings. Statistics of workspaces that no longer exist are deleted. The lock of `count-events.ts`
 * excludes other writers; a crash rolls one slice back.
 */
import type { Context } from '#src/context.ts'
import { prepared, type Queryable, type Statement } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { asOnlyWriter } from './count-events.ts'
import {
  COUNTER_NAMES,
  INSTALLATION,
  NO_VALUE,
  RESOLUTION_NAMES,
  RESOLUTIONS,
  SPARE_MS,
  totalOf,
} from './dimensions.ts'
import { periodOf } from './periods.ts'
import { DELETE_OLD_REPLIES, oldestReply } from './receiver-replies.ts'
import { ADD_ROWS } from './stored-rows.ts'

/** Rows in one transaction. */
const SLICE = 20_000

/** Minutes are rolled up at the earliest this long after their hour: events that come later cost more. */
const SETTLED_MS = 2 * 60_000

/** Until where minutes are rolled up, the first minute after that, and the minute of the row $1 after it. */
const FIND_MINUTES = prepared(
  'statistics-find-minutes',
  sql`
    SELECT c.rolled_until AS "rolledUntil", first.at AS first, next.at AS next
    FROM statistics_cursors c
    LEFT JOIN LATERAL (
      SELECT min(s.at) AS at
      FROM statistics s
      WHERE s.resolution = ${RESOLUTIONS.minute.code} AND s.at >= c.rolled_until
    ) first ON true
    LEFT JOIN LATERAL (
      SELECT s.at
      FROM statistics s
      WHERE s.resolution = ${RESOLUTIONS.minute.code} AND s.at >= c.rolled_until
      ORDER BY s.at
      OFFSET $1
      LIMIT 1
    ) next ON true
    WHERE c.name = 'new'
  `,
)

/** Sums of a bigint would be numeric. */
const SUMS = COUNTER_NAMES.map((name) => `sum(${name})::integer AS ${name}`).join(', ')
const COARSER = RESOLUTION_NAMES.filter((name) => name !== 'minute')

/**
 * Adds the minutes from $1 to before $2, which are in one hour, to the periods that contain them: $3 has their starts,
 * in the order of COARSER.
 */
const ADD_COARSER = prepared(
  '', // planned each time, for the rows of the time
  sql`
    WITH sums AS MATERIALIZED (
      SELECT workspace_id, dimension, value, ${SUMS}
      FROM statistics
      WHERE resolution = ${RESOLUTIONS.minute.code} AND at >= $1 AND at < $2
      GROUP BY 1, 2, 3
    ),
    input AS (
      SELECT s.workspace_id, s.dimension, p.at, p.resolution, s.value, ${COUNTER_NAMES.join(', ')}
      FROM (
        SELECT *
        FROM sums
        UNION ALL
        SELECT workspace_id, dimension || '/total', '${NO_VALUE}', ${SUMS}
        FROM sums
        WHERE dimension <> 'all'
        GROUP BY 1, 2
      ) s
      CROSS JOIN unnest(
        $3::timestamptz[],
        '{${COARSER.map((name) => RESOLUTIONS[name].code).join(', ')}}'::smallint[]
      ) AS p (at, resolution)
    ),
    ${ADD_ROWS}
    SELECT count(*) AS written
    FROM written
  `,
)

const ADVANCE = prepared(
  'statistics-rolled-until',
  `UPDATE statistics_cursors SET rolled_until = $1 WHERE name = 'new'`,
)

const DELETE_OLD = prepared(
  'statistics-delete-old',
  sql`
    DELETE FROM statistics
    WHERE ctid = ANY (ARRAY(SELECT ctid FROM statistics WHERE resolution = $3 AND at < $1 ORDER BY at LIMIT $2))
  `,
)

const DELETE_LINKS = prepared(
  'statistics-delete-links',
  'DELETE FROM link_clicks WHERE ctid = ANY (ARRAY(SELECT ctid FROM link_clicks WHERE day < $1 ORDER BY day LIMIT $2))',
)

type RollUpContext = Pick<Context, 'db' | 'clock' | 'config'>

/** Works through some slices. True if there is more. No minute is deleted before it is rolled up. */
export async function rollUp(ctx: RollUpContext, slice = SLICE): Promise<boolean> {
  const work = async (tx: Queryable): Promise<boolean> =>
    (await rollMinutesUp(tx, ctx.clock.now(), slice)) || deleteOld(tx, ctx, slice)
  return (await asOnlyWriter(ctx, work, { waits: true })) === true
}

interface FoundMinutes {
  readonly rolledUntil: Date
  readonly first: Date | null
  readonly next: Date | null
}

/** At most an hour, and about `slice` rows but whole minutes. */
async function rollMinutesUp(tx: Queryable, nowMs: number, slice: number): Promise<boolean> {
  const { rows } = await tx.query<FoundMinutes>(FIND_MINUTES, [slice])
  const [found] = rows
  if (found === undefined) return false
  const { rolledUntil, first, next } = found
  const overMs = hourOf(nowMs - SETTLED_MS)
  const beginMs = Math.min(first?.getTime() ?? overMs, overMs)
  const hourEndMs = Math.min(hourOf(beginMs) + RESOLUTIONS.hour.ms, overMs)
  const untilMs = Math.min(hourEndMs, Math.max(next?.getTime() ?? Infinity, beginMs + RESOLUTIONS.minute.ms))
  if (untilMs <= rolledUntil.getTime()) return false
  const periods = COARSER.map((name) => new Date(periodOf(name, beginMs)))
  await tx.query(ADD_COARSER, [rolledUntil, new Date(untilMs), periods])
  await tx.query(ADVANCE, [new Date(untilMs)])
  return untilMs < overMs
}

function hourOf(ms: number): number {
  return Math.floor(ms / RESOLUTIONS.hour.ms) * RESOLUTIONS.hour.ms
}

async function deleteOld(tx: Queryable, { clock, config }: RollUpContext, slice: number): Promise<boolean> {
  const nowMs = clock.now()
  const before = (keptMs: number, unit: number): Date => new Date(Math.floor((nowMs - keptMs) / unit) * unit)
  const { minute, hour, day, week, month } = RESOLUTIONS
  const oldest = before(config.statisticsRetentionDays * day.ms, 1)
  const deletions: readonly [statement: Statement, values: readonly unknown[]][] = [
    [DELETE_OLD, [before(minute.keptMs + SPARE_MS, hour.ms), slice, minute.code]],
    [DELETE_OLD, [before(hour.keptMs + SPARE_MS, day.ms), slice, hour.code]],
    [DELETE_OLD, [oldest, slice, day.code]],
    [DELETE_OLD, [new Date(oldest.getTime() - week.ms), slice, week.code]],
    [DELETE_OLD, [new Date(oldest.getTime() - month.ms), slice, month.code]],
    [DELETE_LINKS, [oldest, slice]],
    [DELETE_OLD_REPLIES, [oldestReply(nowMs), slice]],
  ]
  let hasMore = false
  for (const [statement, values] of deletions)
    hasMore = ((await tx.query(statement, values)).rowCount ?? 0) === slice || hasMore
  return hasMore
}

/** What the installation has of one workspace goes from the sums of all workspaces. */
const DELETE_FROM_TOTALS = sql`
  WITH gone AS (
    DELETE FROM statistics
    WHERE workspace_id = '${INSTALLATION}' AND dimension = 'workspace' AND value = $1::uuid::text
    RETURNING *
  )
  UPDATE statistics s
  SET ${COUNTER_NAMES.map((name) => `${name} = nullif(s.${name} - coalesce(gone.${name}, 0), 0)`).join(',\n    ')}
  FROM gone
  WHERE s.workspace_id = '${INSTALLATION}'
    AND s.dimension = '${totalOf('workspace')}'
    AND s.at = gone.at
    AND s.resolution = gone.resolution`

/** The other sums of the installation stay. */
const DELETE_WORKSPACE = [
  'DELETE FROM statistics WHERE workspace_id = $1',
  'DELETE FROM link_clicks WHERE workspace_id = $1',
  'DELETE FROM receiver_replies WHERE workspace_id = $1',
  DELETE_FROM_TOTALS,
] as const

/** The workspaces with statistics that no longer exist: a scan of the first column of the primary key, by jumps. */
const ORPHANS = sql`
  WITH RECURSIVE owner AS (
    SELECT '${INSTALLATION}'::uuid AS workspace_id
    UNION ALL
    SELECT (
      SELECT s.workspace_id
      FROM statistics s
      WHERE s.workspace_id > owner.workspace_id
      ORDER BY s.workspace_id
      LIMIT 1
    )
    FROM owner
    WHERE owner.workspace_id IS NOT NULL
  )
  SELECT workspace_id AS id
  FROM owner
  WHERE workspace_id <> '${INSTALLATION}'
    AND NOT EXISTS (SELECT FROM workspaces w WHERE w.id = owner.workspace_id)
`

/** Deletes what was counted while a workspace was being deleted, and its name in the statistics of the installation. */
export async function deleteOrphans(ctx: Pick<Context, 'db'>): Promise<void> {
  const { rows } = await ctx.db.query<{ id: string }>(ORPHANS)
  for (const { id } of rows)
    await asOnlyWriter(
      ctx,
      async (tx) => {
        for (const statement of DELETE_WORKSPACE) await tx.query(statement, [id])
      },
      { waits: true },
    )
}
