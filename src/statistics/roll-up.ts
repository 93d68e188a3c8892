/**
 * Makes old statistics coarser: minutes become hours, hours become days of UTC, and days are deleted after the time of
 * the settings. Rows are deleted and their sums added in one statement, so an event is always in exactly one row and
 * readers just add up. Late events, such as an open of last week, are stored as a minute and become coarser with the
 * next round. Statistics of workspaces that no longer exist are deleted. The lock of `count-events.ts` excludes other
 * writers; a crash rolls one slice back.
 */
import type { Context } from '#src/context.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { asOnlyWriter } from './count-events.ts'
import { COUNTER_NAMES, INSTALLATION, RESOLUTIONS, type ResolutionName } from './dimensions.ts'
import { ADD_ROWS } from './stored-rows.ts'

/** Rows in one transaction. */
const SLICE = 5000

/** Deletes the oldest rows of resolution $1 before $2 and adds them to those of $3, whose periods last $4. */
const MERGE = prepared(
  'statistics-merge',
  sql`
    WITH old AS (
      SELECT ctid
      FROM statistics
      WHERE resolution = $1 AND at < $2
      ORDER BY at
      LIMIT $5
    ),
    deleted AS (
      DELETE FROM statistics s
      USING old
      WHERE s.ctid = old.ctid
      RETURNING s.*
    ),
    input AS (
      SELECT workspace_id, dimension, date_bin($4::interval, at, 'epoch') AS at, $3::smallint AS resolution, value,
        ${COUNTER_NAMES.map((name) => `sum(${name}) AS ${name}`).join(', ')}
      FROM deleted
      GROUP BY 1, 2, 3, 5
    ),
    ${ADD_ROWS}
    SELECT (SELECT count(*) FROM deleted)::int AS deleted, (SELECT count(*) FROM written) AS written
  `,
)

const DELETE_DAYS = prepared(
  'statistics-delete-days',
  sql`
    DELETE FROM statistics
    WHERE ctid = ANY (
      ARRAY(SELECT ctid FROM statistics WHERE resolution = ${RESOLUTIONS.day.code} AND at < $1 ORDER BY at LIMIT $2)
    )
  `,
)

const DELETE_LINKS = prepared(
  'statistics-delete-links',
  'DELETE FROM link_clicks WHERE ctid = ANY (ARRAY(SELECT ctid FROM link_clicks WHERE day < $1 ORDER BY day LIMIT $2))',
)

const MERGES: readonly { readonly from: ResolutionName; readonly to: ResolutionName }[] = [
  { from: 'minute', to: 'hour' },
  { from: 'hour', to: 'day' },
]

type RollUpContext = Pick<Context, 'db' | 'clock' | 'config'>

/** Works through some slices. True if there is more. */
export async function rollUp(ctx: RollUpContext, slice = SLICE): Promise<boolean> {
  const nowMs = ctx.clock.now()
  const work = async (tx: Queryable): Promise<boolean> => {
    let hasMore = false
    for (const { from, to } of MERGES) {
      const [{ code, keptMs }, target] = [RESOLUTIONS[from], RESOLUTIONS[to]]
      // whole periods only: the rest of one would become a second row of it
      const before = new Date(Math.floor((nowMs - keptMs) / target.ms) * target.ms)
      const { rows } = await tx.query<{ deleted: number }>(MERGE, [
        code,
        before,
        target.code,
        `${target.ms / 1000} seconds`,
        slice,
      ])
      hasMore = (rows[0]?.deleted ?? 0) === slice || hasMore
    }
    const oldest = new Date(nowMs - ctx.config.statisticsRetentionDays * RESOLUTIONS.day.ms)
    for (const statement of [DELETE_DAYS, DELETE_LINKS])
      hasMore = ((await tx.query(statement, [oldest, slice])).rowCount ?? 0) === slice || hasMore
    return hasMore
  }
  return (await asOnlyWriter(ctx, work, { waits: true })) === true
}

/** The sums of the installation stay. */
const DELETE_WORKSPACE = [
  'DELETE FROM statistics WHERE workspace_id = $1',
  'DELETE FROM link_clicks WHERE workspace_id = $1',
  sql`
    DELETE FROM statistics
    WHERE workspace_id = '${INSTALLATION}' AND dimension = 'workspace' AND value = $1::uuid::text`,
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
