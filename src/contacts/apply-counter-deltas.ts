/**
 * Adds recorded membership changes (counter deltas, table membership_changes) to the counts of their audience and to
 * its pagination index (table audience_marks). A batch of deltas is deleted and added in one transaction under the lock
 * of the audience: two workers take turns, and a worker that dies changes nothing.
 *
 * A block of the index that grows too large is split. The index is dropped and rebuilt once the audience is quiet
 * (pagination-index.ts) if deltas have no position (sums of a large statement), or if so many are pending that counting
 * again is cheaper.
 */
import type { WorkFound } from '#src/concurrency/work-found.ts'
import type { Context } from '#src/context.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { MARKER_DISTANCE, rebuildPaginationIndex, MIN_INDEXED_MEMBERS } from './pagination-index.ts'
import {
  comparePosition,
  orderBy,
  SORT_DEFINITIONS,
  positionParameters,
  MEMBER_SORTS,
  type MemberPosition,
  type MemberSort,
} from './member-sorts.ts'

/** Deltas applied in one transaction. */
const BATCH_SIZE = 5000
/** With more pending deltas in one audience, counting again is cheaper. */
const MAX_BACKLOG = 50_000
/** Oldest deltas that are read to find the audiences that have some. */
const SCAN_LIMIT = 20_000

type Stores = Pick<Context, 'db' | 'log'>

const LIST_AUDIENCES = prepared(
  'counter-deltas-audiences',
  sql`
    SELECT DISTINCT audience_id AS id
    FROM (
      SELECT audience_id
      FROM membership_changes
      ORDER BY id
      LIMIT ${SCAN_LIMIT}
    ) oldest
    ORDER BY 1
  `,
)

/** Applies one batch of pending deltas per audience. */
export async function applyCounterDeltas(ctx: Stores): Promise<WorkFound> {
  const { rows } = await ctx.db.query<{ id: string }>(LIST_AUDIENCES)
  const busy = new Set<string>()
  let hasMore = false
  for (const { id } of rows) {
    const applied = await ctx.db.transaction((tx) => applyToAudience(tx, id))
    if (applied.isIndexInvalid) busy.add(id)
    hasMore ||= applied.hasMore
  }
  await rebuildMissingIndexes(ctx, busy)
  if (hasMore) return 'more'
  return rows.length > 0 ? 'some' : 'none'
}

const LIST_UNINDEXED = prepared(
  'counter-deltas-unindexed',
  `SELECT id FROM audiences WHERE deleted_at IS NULL AND NOT is_marked AND contact_count >= ${MIN_INDEXED_MEMBERS}`,
)

/** Indexes large audiences that have no index, except those that large statements are changing now. */
async function rebuildMissingIndexes(ctx: Stores, busy: ReadonlySet<string>): Promise<void> {
  const { rows } = await ctx.db.query<{ id: string }>(LIST_UNINDEXED)
  for (const { id } of rows) if (!busy.has(id)) await rebuildPaginationIndex(ctx, id)
}

interface ApplyResult {
  readonly isIndexInvalid: boolean
  readonly hasMore: boolean
}

const NOTHING_APPLIED: ApplyResult = { isIndexInvalid: false, hasMore: false }

// Transactions that add members hold FOR KEY SHARE, which does not conflict with this lock.
const LOCK_AUDIENCE = prepared(
  'counter-deltas-lock',
  'SELECT is_marked AS "isMarked" FROM audiences WHERE id = $1 FOR NO KEY UPDATE SKIP LOCKED',
)
const DELETE_ORPHANED_DELTAS = prepared(
  'counter-deltas-delete-orphaned',
  sql`
    DELETE FROM membership_changes
    WHERE audience_id = $1 AND NOT EXISTS (SELECT 1 FROM audiences WHERE id = $1)
  `,
)
const INVALIDATE_INDEX = prepared(
  'counter-deltas-invalidate-index',
  'UPDATE audiences SET is_marked = false WHERE id = $1 AND is_marked',
)

async function applyToAudience(tx: Queryable, audienceId: string): Promise<ApplyResult> {
  const {
    rows: [audience],
  } = await tx.query<{ isMarked: boolean }>(LOCK_AUDIENCE, [audienceId])
  if (audience === undefined) {
    // the audience was purged, or another worker holds its lock; only deltas of a purged one are deleted
    await tx.query(DELETE_ORPHANED_DELTAS, [audienceId])
    return NOTHING_APPLIED
  }
  const isIndexed = audience.isMarked && !(await hasBacklog(tx, audienceId))
  const applied = await applyBatch(tx, audienceId, isIndexed)
  const isInvalid = applied.hasSums || !isIndexed
  if (isInvalid) await tx.query(INVALIDATE_INDEX, [audienceId])
  else for (const block of applied.oversized ?? []) await splitBlock(tx, audienceId, block)
  return { isIndexInvalid: applied.hasSums, hasMore: applied.deltas === BATCH_SIZE }
}

const COUNT_BACKLOG = prepared(
  'counter-deltas-count',
  sql`
    SELECT count(*) AS deltas
    FROM (
      SELECT 1
      FROM membership_changes
      WHERE audience_id = $1
      LIMIT ${MAX_BACKLOG + 1}
    ) few
  `,
)

async function hasBacklog(tx: Queryable, audienceId: string): Promise<boolean> {
  const { rows } = await tx.query<{ deltas: number }>(COUNT_BACKLOG, [audienceId])
  return (rows[0]?.deltas ?? 0) > MAX_BACKLOG
}

interface Block extends MemberPosition {
  readonly sort: MemberSort
  readonly total: number
}

interface AppliedBatch {
  readonly deltas: number
  readonly hasSums: boolean
  readonly oversized: readonly Block[] | null
}

const SORT_KEYS = MEMBER_SORTS.map((sort) => `('${sort}', ${SORT_DEFINITIONS[sort].key})`).join(', ')
const APPLY_BATCH = prepared(
  'counter-deltas-apply',
  sql`
    WITH m AS (
      DELETE FROM membership_changes
      WHERE id = ANY (
        ARRAY(
          SELECT id
          FROM membership_changes
          WHERE audience_id = $1
          LIMIT ${BATCH_SIZE}
        )
      )
      RETURNING *
    ),
    counted AS (
      UPDATE audiences
      SET contact_count = contact_count + s.total, subscribed_count = subscribed_count + s.subscribed
      FROM (SELECT sum(total) AS total, sum(subscribed) AS subscribed FROM m HAVING count(*) > 0) s
      WHERE id = $1
    ),
    placed AS (
      SELECT p.sort, b.key, b.contact_id, sum(m.total) AS total, sum(m.subscribed) AS subscribed
      FROM m
      CROSS JOIN LATERAL (VALUES ${SORT_KEYS}) p (sort, key)
      CROSS JOIN LATERAL (
        SELECT a.key, a.contact_id
        FROM audience_marks a
        WHERE a.audience_id = $1 AND a.sort = p.sort AND (a.key, a.contact_id) <= (p.key COLLATE "C", m.contact_id)
        ORDER BY a.key DESC, a.contact_id DESC
        LIMIT 1
      ) b
      WHERE $2 AND m.contact_id IS NOT NULL
      GROUP BY 1, 2, 3
      HAVING sum(m.total) <> 0 OR sum(m.subscribed) <> 0
    ),
    marked AS (
      UPDATE audience_marks a
      SET total = a.total + p.total, subscribed = a.subscribed + p.subscribed
      FROM placed p
      WHERE a.audience_id = $1 AND a.sort = p.sort AND a.key = p.key AND a.contact_id = p.contact_id
      RETURNING a.sort, a.key, a.contact_id AS "contactId", a.total
    )
    SELECT (SELECT count(*) FROM m) AS deltas, EXISTS (SELECT 1 FROM m WHERE contact_id IS NULL) AS "hasSums",
      (
        SELECT json_agg(o)
        FROM (SELECT * FROM marked WHERE total > ${2 * MARKER_DISTANCE}) o
      ) AS oversized
  `,
)

/** Adds a batch of deltas to the counts and, while the audience is indexed, to its index. */
async function applyBatch(tx: Queryable, audienceId: string, isIndexed: boolean): Promise<AppliedBatch> {
  const {
    rows: [applied],
  } = await tx.query<AppliedBatch>(APPLY_BATCH, [audienceId, isIndexed])
  if (applied === undefined) throw new Error('applying counter deltas returned no row')
  return applied
}

interface SplitStatements {
  readonly middle: ReturnType<typeof prepared>
  readonly divide: ReturnType<typeof prepared>
}

/**
 * `middle` finds the position to split at, if it is before the next marker. `divide` leaves the members before that
 * position with the old marker and gives the rest to a new one.
 */
const SPLIT_STATEMENTS = Object.fromEntries(
  MEMBER_SORTS.map((sort): [MemberSort, SplitStatements] => [
    sort,
    {
      middle: prepared(
        `counter-deltas-middle-${sort}`,
        sql`
          SELECT key, contact_id AS "contactId"
          FROM (
            SELECT ${SORT_DEFINITIONS[sort].key} AS key, m.contact_id
            FROM memberships m
            WHERE m.audience_id = $1 AND ${comparePosition(sort, '>=', 2)}
            ORDER BY ${orderBy(sort, 'ASC')}
            OFFSET ${MARKER_DISTANCE}
            LIMIT 1
          ) n
          WHERE NOT EXISTS (
            SELECT 1
            FROM audience_marks a
            WHERE a.audience_id = $1
              AND a.sort = '${sort}'
              AND (a.key, a.contact_id) > ($4 COLLATE "C", $3::uuid)
              AND (a.key, a.contact_id) <= (n.key COLLATE "C", n.contact_id)
          )
        `,
      ),
      divide: prepared(
        `counter-deltas-divide-${sort}`,
        sql`
          WITH here AS (
            SELECT count(*) AS total, count(*) FILTER (WHERE m.is_subscribed) AS subscribed
            FROM memberships m
            WHERE m.audience_id = $1 AND ${comparePosition(sort, '>=', 2)} AND ${comparePosition(sort, '<', 4)}
          ),
          noted AS (
            SELECT coalesce(sum(m.total), 0) AS total, coalesce(sum(m.subscribed), 0) AS subscribed
            FROM membership_changes m
            WHERE m.audience_id = $1 AND ${comparePosition(sort, '>=', 2)} AND ${comparePosition(sort, '<', 4)}
          ),
          before AS (
            SELECT total, subscribed
            FROM audience_marks
            WHERE audience_id = $1 AND sort = '${sort}' AND key = $6 AND contact_id = $3
          ),
          upper_half AS (
            INSERT INTO audience_marks (audience_id, sort, key, contact_id, total, subscribed)
            SELECT $1, '${sort}', $7, $5, b.total - h.total + n.total, b.subscribed - h.subscribed + n.subscribed
            FROM before b, here h, noted n
          )
          UPDATE audience_marks
          SET total = h.total - n.total, subscribed = h.subscribed - n.subscribed
          FROM here h, noted n
          WHERE audience_id = $1 AND sort = '${sort}' AND key = $6 AND contact_id = $3
        `,
      ),
    },
  ]),
) as Record<MemberSort, SplitStatements>

/** Splits off the first thousand members of a block until the rest is small enough. */
async function splitBlock(tx: Queryable, audienceId: string, block: Block): Promise<void> {
  let start: MemberPosition = block
  for (let left = block.total; left > 2 * MARKER_DISTANCE; left -= MARKER_DISTANCE) {
    const { middle, divide } = SPLIT_STATEMENTS[block.sort]
    const {
      rows: [position],
    } = await tx.query<MemberPosition>(middle, [audienceId, ...positionParameters(block.sort, start), start.key])
    if (position === undefined) return
    await tx.query(divide, [
      audienceId,
      ...positionParameters(block.sort, start),
      ...positionParameters(block.sort, position),
      start.key,
      position.key,
    ])
    start = position
  }
}
