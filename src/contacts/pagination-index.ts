/**
 * The marks of an audience made anew: one look at all its members in one REPEATABLE READ transaction that also takes away the notes which
 * that look includes. Who adds members meanwhile is not waited for: their notes stay. A fold that was quicker makes it begin again.
 */
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { FIRST_PLACE, orderBy, ORDERS, SORTS, type Sort } from './sorts.ts'

/** Members from one mark to the next; twice as many are split. */
export const MARK_DISTANCE = 1000
/** Smaller audiences need no marks: either end is near. As in migrations/004-contacts.ts. */
export const WORTH_MARKS = 5000

const MAX_TRIES = 5
const SERIALIZATION_FAILURE = '40001'

/**
 * Counts and marks of an audience, exact as of now; after an import, for example. An audience that is not there is no error.
 * False when others kept changing the counts: the worker does it then.
 */
export async function rebuildMarks(ctx: Pick<Context, 'db'>, audienceId: string): Promise<boolean> {
  for (let attempt = 0; attempt < MAX_TRIES; attempt++)
    if (await ctx.db.transaction((tx) => rebuild(tx, audienceId)).then(() => true, isOvertaken)) return true
  return false
}

/** False, that is "not yet", when a fold was quicker. @throws what else it is. */
function isOvertaken(error: unknown): false {
  if (error instanceof Error && 'code' in error && error.code === SERIALIZATION_FAILURE) return false
  throw error
}

const COUNT = sql`
  UPDATE audiences
  SET contact_count = c.total, subscribed_count = c.subscribed, is_marked = c.total >= ${WORTH_MARKS}
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
  const { rows } = await tx.query<{ isMarked: boolean }>(COUNT, [audienceId])
  if (rows[0]?.isMarked === true) for (const sort of SORTS) await tx.query(markText(sort), [audienceId])
}

/** The first mark is before everybody, so that each place has a block. */
function markText(sort: Sort): string {
  return sql`
    INSERT INTO audience_marks (audience_id, sort, key, contact_id, total, subscribed)
    SELECT $1, '${sort}', CASE WHEN block = 0 THEN '' ELSE key END,
      CASE WHEN block = 0 THEN '${FIRST_PLACE.contactId}' ELSE contact_id END, total, subscribed
    FROM (
      SELECT block, (array_agg(key) FILTER (WHERE is_first))[1] AS key,
        (array_agg(contact_id) FILTER (WHERE is_first))[1] AS contact_id, count(*) AS total,
        count(*) FILTER (WHERE is_subscribed) AS subscribed
      FROM (
        SELECT n / ${MARK_DISTANCE} AS block, n % ${MARK_DISTANCE} = 0 AS is_first, key, contact_id, is_subscribed
        FROM (
          SELECT row_number() OVER (ORDER BY ${orderBy(sort, 'ASC')}) - 1 AS n, ${ORDERS[sort].key} AS key,
            m.contact_id, m.is_subscribed
          FROM memberships m
          WHERE m.audience_id = $1
        ) numbered
      ) placed
      GROUP BY block
    ) blocks
  `
}
