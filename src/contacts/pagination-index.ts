/**
 * Rebuilds the counts and the pagination index of an audience: one marker for each 1,000 members and sort (table
 * audience_marks). One REPEATABLE READ transaction reads all members and deletes the counter deltas that this snapshot
 * includes. It does not wait for transactions that add members: their deltas stay. If deltas are applied at the same
 * time, PostgreSQL reports a serialization failure and the rebuild starts again.
 */
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { FIRST_POSITION, orderBy, SORT_DEFINITIONS, MEMBER_SORTS, type MemberSort } from './member-sorts.ts'

/** Members from one marker to the next. A block of twice as many is split. */
export const MARKER_DISTANCE = 1000
/** Smaller audiences need no index: either end is near. Same number as in migrations/004-contacts.ts. */
export const MIN_INDEXED_MEMBERS = 5000

const MAX_ATTEMPTS = 5
const SERIALIZATION_FAILURE = '40001'

/**
 * Makes the counts and index of an audience exact, for example after an import. An unknown audience is no error. False
 * if concurrent changes prevented it: the worker rebuilds the index later.
 */
export async function rebuildPaginationIndex(ctx: Pick<Context, 'db'>, audienceId: string): Promise<boolean> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++)
    if (await ctx.db.transaction((tx) => rebuild(tx, audienceId)).then(() => true, isSerializationFailure)) return true
  return false
}

/** False for a serialization failure, so that the caller retries. @throws every other error. */
function isSerializationFailure(error: unknown): false {
  if (error instanceof Error && 'code' in error && error.code === SERIALIZATION_FAILURE) return false
  throw error
}

const COUNT_MEMBERS = sql`
  UPDATE audiences
  SET contact_count = c.total, subscribed_count = c.subscribed, is_marked = c.total >= ${MIN_INDEXED_MEMBERS}
  FROM (
    SELECT count(*) AS total, count(*) FILTER (WHERE is_subscribed) AS subscribed
    FROM memberships
    WHERE audience_id = $1
  ) c
  WHERE id = $1
  RETURNING is_marked AS "isMarked"
`

async function rebuild(tx: Queryable, audienceId: string): Promise<void> {
  await tx.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ')
  await tx.query(`SET LOCAL work_mem = '64MB'`)
  await tx.query('SET LOCAL enable_seqscan = on')
  await tx.query('SELECT 1 FROM audiences WHERE id = $1 FOR NO KEY UPDATE', [audienceId])
  await tx.query('DELETE FROM membership_changes WHERE audience_id = $1', [audienceId])
  await tx.query('DELETE FROM audience_marks WHERE audience_id = $1', [audienceId])
  const { rows } = await tx.query<{ isMarked: boolean }>(COUNT_MEMBERS, [audienceId])
  if (rows[0]?.isMarked === true) for (const sort of MEMBER_SORTS) await tx.query(insertMarkersSql(sort), [audienceId])
}

/** The first marker is before all members, so every position has a block. */
function insertMarkersSql(sort: MemberSort): string {
  return sql`
    INSERT INTO audience_marks (audience_id, sort, key, contact_id, total, subscribed)
    SELECT $1, '${sort}', CASE WHEN block = 0 THEN '' ELSE key END,
      CASE WHEN block = 0 THEN '${FIRST_POSITION.contactId}' ELSE contact_id END, total, subscribed
    FROM (
      SELECT block, (array_agg(key) FILTER (WHERE is_first))[1] AS key,
        (array_agg(contact_id) FILTER (WHERE is_first))[1] AS contact_id, count(*) AS total,
        count(*) FILTER (WHERE is_subscribed) AS subscribed
      FROM (
        SELECT n / ${MARKER_DISTANCE} AS block, n % ${MARKER_DISTANCE} = 0 AS is_first, key, contact_id, is_subscribed
        FROM (
          SELECT row_number() OVER (ORDER BY ${orderBy(sort, 'ASC')}) - 1 AS n, ${SORT_DEFINITIONS[sort].key} AS key,
            m.contact_id, m.is_subscribed
          FROM memberships m
          WHERE m.audience_id = $1
        ) numbered
      ) placed
      GROUP BY block
    ) blocks
  `
}
