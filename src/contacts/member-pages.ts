/**
 * Reads one page of an audience's members at the same cost, whichever page it is.
 *
 * The total needs no scan (stored counts plus pending counter deltas). A page is a range of offsets from the start. It
 * is reached by the shortest scan: from the start, from the end, or from the last marker before it (table
 * audience_marks, corrected by the pending deltas), and then at most about one block along the index of the sort.
 * Without exact markers the scan is longer and the result the same.
 *
 * Members may be added between the statements of one call: pages of an audience that changes can shift by those; pages
 * of a quiet audience never overlap or omit anyone. In the order of scores, which change without any request, the pages
 * of a listing come from a snapshot (member-snapshots.ts).
 */
import { prepared, type Db, type Queryable, type Statement } from '#src/stores/db.ts'
import { readPage } from '#src/stores/page.ts'
import { sql } from '#src/stores/sql.ts'
import { MEMBER_COLUMNS, type AudienceMember, type MemberPage, type MemberQuery } from './audience-member.ts'
import { createSnapshotReader, type SnapshotReader } from './member-snapshots.ts'
import {
  comparePosition,
  FIRST_POSITION,
  orderBy,
  SORT_DEFINITIONS,
  positionParameters,
  MEMBER_SORTS,
  type MemberPosition,
  type MemberSort,
} from './member-sorts.ts'

/** Scanning this far from either end costs no more than using a marker. */
const MAX_SCAN_FROM_END = 2000

/** Offsets from the start; the first member is 0. */
interface MemberRange {
  readonly from: number
  readonly count: number
  readonly total: number
}

/** Null if the workspace has no such audience. */
export type MemberLister = (workspaceId: string, query: MemberQuery) => Promise<MemberPage | null>

/** `reuseMs`: for how long new listings share a snapshot of a changing order. */
export function createMemberLister(db: Db, reuseMs?: number): MemberLister {
  const snapshots = createSnapshotReader(db, reuseMs)
  return async (workspaceId, query) => {
    const total = await countMembers(db, workspaceId, query)
    if (total === null) return null
    if (query.at !== undefined) return readByCursor(db, snapshots, { workspaceId, total }, query)
    const isOnePage = query.page === 1 && total <= query.limit
    return SORT_DEFINITIONS[query.sort].isComputed && !isOnePage
      ? snapshots.readPage(workspaceId, query, total)
      : readCurrent(db, query, total)
  }
}

interface MemberList {
  readonly workspaceId: string
  readonly total: number
}

/** By creation, along the index; in any other order, whose keys change, from a snapshot. */
async function readByCursor(
  db: Queryable,
  snapshots: SnapshotReader,
  { workspaceId, total }: MemberList,
  query: MemberQuery,
): Promise<MemberPage> {
  const { at = null, limit } = query
  if (query.sort !== 'createdAt' && (at !== null || total > limit))
    return snapshots.readAfter(workspaceId, query, total)
  if (query.sort !== 'createdAt') return { ...(await readCurrent(db, query, total)), next: null }
  const { items, ...rest } = await readPage<AudienceMember>(
    db,
    {
      columns: MEMBER_COLUMNS,
      from: 'memberships m',
      joins: 'JOIN contacts c ON c.id = m.contact_id',
      where: query.isSubscribedOnly ? 'm.audience_id = $1 AND m.is_subscribed = true' : 'm.audience_id = $1',
      order: { by: [{ sql: 'm.contact_id', type: 'uuid' }], direction: query.direction === 'asc' ? 'ASC' : 'DESC' },
      values: [query.audienceId],
      total,
    },
    { page: 1, limit, at },
  )
  return { members: items, ...rest }
}

/** A page of the present order. */
async function readCurrent(db: Queryable, query: MemberQuery, total: number): Promise<MemberPage> {
  const before = (query.page - 1) * query.limit
  const count = Math.min(query.limit, total - before)
  if (count <= 0) return { members: [], total }
  const isAscending = query.direction === 'asc'
  const members = await readRange(db, query, { from: isAscending ? before : total - before - count, count, total })
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
  { audienceId, isSubscribedOnly }: MemberQuery,
): Promise<number | null> {
  const { rows } = await db.query<{ count: number }>(COUNT, [workspaceId, audienceId, isSubscribedOnly])
  return rows[0]?.count ?? null
}

/** Returns members in ascending order. */
async function readRange(
  db: Queryable,
  query: MemberQuery,
  { from, count, total }: MemberRange,
): Promise<readonly AudienceMember[]> {
  const after = total - from - count
  if (Math.min(from, after) > MAX_SCAN_FROM_END) {
    const marker = await findMarker(db, query, from)
    if (marker !== null) return scan(db, query, { start: marker, skip: from - marker.before, count })
  }
  return from <= after
    ? scan(db, query, { start: FIRST_POSITION, skip: from, count })
    : (await scan(db, query, { start: null, skip: after, count })).toReversed()
}

interface Marker extends MemberPosition {
  /** Members before the marker. */
  readonly before: number
}

const forEachSort = (make: (sort: MemberSort) => Statement): Readonly<Record<MemberSort, Statement>> =>
  Object.fromEntries(MEMBER_SORTS.map((sort) => [sort, make(sort)])) as Record<MemberSort, Statement>

/** The last marker with at most `$2` members before it. None while the markers are not exact. */
const FIND_MARKER = forEachSort((sort) =>
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
          SELECT ${SORT_DEFINITIONS[sort].key}, m.contact_id, false, CASE WHEN $3 THEN m.subscribed ELSE m.total END
          FROM membership_changes m
          WHERE m.audience_id = $1
         ) positions
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

async function findMarker(
  db: Queryable,
  { audienceId, sort, isSubscribedOnly }: MemberQuery,
  from: number,
): Promise<Marker | null> {
  const { rows } = await db.query<Marker>(FIND_MARKER[sort], [audienceId, from, isSubscribedOnly])
  return rows[0] ?? null
}

interface MemberScan {
  /** Null: from the end, backwards. */
  readonly start: MemberPosition | null
  readonly skip: number
  readonly count: number
}

/**
 * Reads the index of each status and merges the results. `$2` and `$3` are the position, `$4` the number to skip, `$5`
 * the number to return.
 */
function scanSql(sort: MemberSort, direction: 'ASC' | 'DESC', statuses: readonly boolean[]): string {
  const column = SORT_DEFINITIONS[sort].column ?? 'contact_id'
  const bound =
    direction === 'ASC'
      ? comparePosition(sort, '>=', 2)
      : `($2::${SORT_DEFINITIONS[sort].type} IS NULL AND $3::uuid IS NULL)`
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

const scanStatements = (
  direction: 'ASC' | 'DESC',
  name: string,
  statuses: readonly boolean[],
): Readonly<Record<MemberSort, Statement>> =>
  forEachSort((sort) => prepared(`members-${name}-${sort}`, scanSql(sort, direction, statuses)))
const SCANS = {
  all: {
    ASC: scanStatements('ASC', 'forward', [true, false]),
    DESC: scanStatements('DESC', 'backward', [true, false]),
  },
  subscribed: {
    ASC: scanStatements('ASC', 'subscribed-forward', [true]),
    DESC: scanStatements('DESC', 'subscribed-backward', [true]),
  },
}

/** Returns members in the order of the scan. */
async function scan(
  db: Queryable,
  { audienceId, sort, isSubscribedOnly }: MemberQuery,
  { start, skip, count }: MemberScan,
): Promise<readonly AudienceMember[]> {
  const kind = SCANS[isSubscribedOnly ? 'subscribed' : 'all']
  const statement = kind[start === null ? 'DESC' : 'ASC'][sort]
  const position = start === null ? [null, null] : positionParameters(sort, start)
  return (await db.query<AudienceMember>(statement, [audienceId, ...position, skip, count])).rows
}
