/**
 * A page of an audience, at the same cost wherever it is. The total is counted without a scan (folded counts and notes); a page becomes a
 * range of places from the front, and is reached by the shortest way: from the front, from the end, or from the mark before it
 * (audience_marks, corrected by the notes that are not folded yet), and from there at most about a block along the index of the order.
 * Without exact marks the way is longer and the answer the same. Between its few statements others may add members: pages of an audience
 * that changes may shift by those, pages of a quiet one never overlap or leave anybody out.
 */
import { prepared, type Queryable, type Statement } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { CONTACT_FACTS, type ContactFacts } from './facts.ts'
import { compareWith, FIRST_PLACE, orderBy, ORDERS, placeValues, SORTS, type Place, type Sort } from './sorts.ts'

/** From an end this far costs no more than a mark. */
const NEAR = 2000

export interface MemberListing {
  readonly audienceId: string
  readonly page: number
  readonly limit: number
  readonly sort: Sort
  readonly direction: 'asc' | 'desc'
  readonly isSubscribedOnly: boolean
}

export interface Member extends ContactFacts {
  readonly score: number | null
  readonly isSubscribed: boolean
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** For a SELECT in which `c` is `contacts` and `m` its membership. */
export const MEMBER_COLUMNS = sql`
  ${CONTACT_FACTS}, c.score, m.is_subscribed AS "isSubscribed", c.created_at AS "createdAt", c.updated_at AS "updatedAt"
`

export interface MemberPage {
  readonly members: readonly Member[]
  readonly total: number
}

/** Places from the front, the first is 0. */
interface Range {
  readonly from: number
  readonly count: number
  readonly total: number
}

/** Null when the workspace has no such audience. */
export async function listMembers(
  db: Queryable,
  workspaceId: string,
  wanted: MemberListing,
): Promise<MemberPage | null> {
  const total = await countMembers(db, workspaceId, wanted)
  if (total === null) return null
  const before = (wanted.page - 1) * wanted.limit
  const count = Math.min(wanted.limit, total - before)
  if (count <= 0) return { members: [], total }
  const isAscending = wanted.direction === 'asc'
  const members = await readRange(db, wanted, { from: isAscending ? before : total - before - count, count, total })
  return { members: isAscending ? members : members.toReversed(), total }
}

const COUNT = prepared(
  'members-count',
  sql`
    SELECT CASE WHEN $3 THEN a.subscribed_count + n.subscribed ELSE a.contact_count + n.total END AS count
    FROM audiences a
    CROSS JOIN LATERAL (
      SELECT coalesce(sum(c.total), 0)::bigint AS total, coalesce(sum(c.subscribed), 0)::bigint AS subscribed
      FROM membership_changes c
      WHERE c.audience_id = a.id
    ) n
    WHERE a.workspace_id = $1 AND a.id = $2 AND a.deleted_at IS NULL
  `,
)

async function countMembers(
  db: Queryable,
  workspaceId: string,
  { audienceId, isSubscribedOnly }: MemberListing,
): Promise<number | null> {
  const { rows } = await db.query<{ count: number }>(COUNT, [workspaceId, audienceId, isSubscribedOnly])
  return rows[0]?.count ?? null
}

/** In ascending order. */
async function readRange(
  db: Queryable,
  wanted: MemberListing,
  { from, count, total }: Range,
): Promise<readonly Member[]> {
  const after = total - from - count
  if (Math.min(from, after) > NEAR) {
    const mark = await findMark(db, wanted, from)
    if (mark !== null) return walk(db, wanted, { start: mark, skip: from - mark.before, count })
  }
  return from <= after
    ? walk(db, wanted, { start: FIRST_PLACE, skip: from, count })
    : (await walk(db, wanted, { start: null, skip: after, count })).toReversed()
}

interface Mark extends Place {
  /** So many are before it. */
  readonly before: number
}

const forEachSort = (make: (sort: Sort) => Statement): Readonly<Record<Sort, Statement>> =>
  Object.fromEntries(SORTS.map((sort) => [sort, make(sort)])) as Record<Sort, Statement>

/** The last mark that has no more than `$2` before it. None while marks are not exact. */
const FIND_MARK = forEachSort((sort) =>
  prepared(
    `members-mark-${sort}`,
    sql`
      SELECT key, contact_id AS "contactId", before
      FROM (
        SELECT key, contact_id, is_mark,
          coalesce(
            sum(n) OVER (ORDER BY key, contact_id, is_mark DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0
          )::bigint AS before
        FROM (
          SELECT key, contact_id, true AS is_mark, CASE WHEN $3 THEN subscribed ELSE total END AS n
          FROM audience_marks
          WHERE audience_id = $1 AND sort = '${sort}'
          UNION ALL
          SELECT ${ORDERS[sort].key}, m.contact_id, false, CASE WHEN $3 THEN m.subscribed ELSE m.total END
          FROM membership_changes m
          WHERE m.audience_id = $1
        ) places
      ) counted
      WHERE is_mark
        AND before <= $2
        AND EXISTS (SELECT 1 FROM audiences WHERE id = $1 AND is_marked)
        AND NOT EXISTS (SELECT 1 FROM membership_changes WHERE audience_id = $1 AND contact_id IS NULL)
      ORDER BY key DESC, contact_id DESC
      LIMIT 1
    `,
  ),
)

async function findMark(
  db: Queryable,
  { audienceId, sort, isSubscribedOnly }: MemberListing,
  from: number,
): Promise<Mark | null> {
  const { rows } = await db.query<Mark>(FIND_MARK[sort], [audienceId, from, isSubscribedOnly])
  return rows[0] ?? null
}

interface Walk {
  /** Null: from the end, backwards. */
  readonly start: Place | null
  readonly skip: number
  readonly count: number
}

/** Along the index of each status, then merged. `$2` + `$3` are the place, `$4` what is skipped, `$5` the count. */
function walkText(sort: Sort, direction: 'ASC' | 'DESC', statuses: readonly boolean[]): string {
  const column = ORDERS[sort].column ?? 'contact_id'
  const bound =
    direction === 'ASC' ? compareWith(sort, '>=', 2) : `($2::${ORDERS[sort].type} IS NULL AND $3::uuid IS NULL)`
  const ranges = statuses.map(
    (status) => sql`
      (
        SELECT m.contact_id, m.${column} AS sort_key, m.is_subscribed
        FROM memberships m
        WHERE m.audience_id = $1 AND m.is_subscribed = ${String(status)} AND ${bound}
        ORDER BY ${orderBy(sort, direction)}
        LIMIT $4::int + $5::int
      )
    `,
  )
  return sql`
    SELECT ${MEMBER_COLUMNS}
    FROM (
      SELECT *
      FROM (${ranges.join(' UNION ALL ')}) m
      ORDER BY sort_key ${direction}, contact_id ${direction}
      OFFSET $4::int
      LIMIT $5::int
    ) m
    JOIN contacts c ON c.id = m.contact_id
    ORDER BY m.sort_key ${direction}, m.contact_id ${direction}
  `
}

const walks = (
  direction: 'ASC' | 'DESC',
  name: string,
  statuses: readonly boolean[],
): Readonly<Record<Sort, Statement>> =>
  forEachSort((sort) => prepared(`members-${name}-${sort}`, walkText(sort, direction, statuses)))
const WALKS = {
  all: { ASC: walks('ASC', 'forward', [true, false]), DESC: walks('DESC', 'backward', [true, false]) },
  subscribed: { ASC: walks('ASC', 'subscribed-forward', [true]), DESC: walks('DESC', 'subscribed-backward', [true]) },
}

/** In the order of the walk. */
async function walk(
  db: Queryable,
  { audienceId, sort, isSubscribedOnly }: MemberListing,
  { start, skip, count }: Walk,
): Promise<readonly Member[]> {
  const kind = WALKS[isSubscribedOnly ? 'subscribed' : 'all']
  const statement = kind[start === null ? 'DESC' : 'ASC'][sort]
  const place = start === null ? [null, null] : placeValues(sort, start)
  return (await db.query<Member>(statement, [audienceId, ...place, skip, count])).rows
}
