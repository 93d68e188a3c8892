/**
 * Pages of an audience in an order that changes while it is read: scores are computed all the time. The first page
 * takes a snapshot of the order, that is, a list of contact ids in blocks of 1,000, and all other pages come from it.
 * So each contact that was a member then, and still is one, is on exactly one page, whatever changes in between; the
 * fields of a contact are those of now.
 *
 * Page numbers contain nothing that names a snapshot. Therefore each API key has listings: page 1 begins one, and each
 * further page continues the one that this page follows on. Two listings begun within a moment share a snapshot. A
 * cursor names its snapshot, and reads orders by names and addresses from one, too.
 *
 * A snapshot is stored in one transaction: if the process dies, there is none, and the next request takes another. It
 * is deleted when it was not read for an hour, or when the workspace takes too many. A page that finds no snapshot
 * takes a new one and starts there. A process takes two snapshots at a time, so that large audiences do not occupy all
 * connections; requests for the same one share it.
 */
import { createSemaphore } from '#src/concurrency/semaphore.ts'
import { newId } from '#src/platform/id.ts'
import { prepared, type Db, type Queryable } from '#src/stores/db.ts'
import { ExpiredSnapshotError } from '#src/stores/list-snapshots.ts'
import { sql } from '#src/stores/sql.ts'
import { MEMBER_COLUMNS, type AudienceMember, type MemberPage, type MemberQuery } from './audience-member.ts'
import { orderBy } from './member-sorts.ts'

export interface SnapshotReader {
  /** `total`: how many members the list has now. */
  readPage(workspaceId: string, query: MemberQuery, total: number): Promise<MemberPage>
  /** By cursor, which names the snapshot. @throws ExpiredSnapshotError */
  readAfter(workspaceId: string, query: MemberQuery, total: number): Promise<MemberPage>
}

/** New listings share a snapshot of this age, if the number of members is the same. */
const REUSE_MS = 10_000
/** Contact ids of all snapshots of a workspace: 320 MB. */
const MAX_STORED = 20_000_000
const CONCURRENT_SNAPSHOTS = 2
const BLOCK_SIZE = 1000

export function createSnapshotReader(db: Db, reuseMs = REUSE_MS): SnapshotReader {
  const semaphore = createSemaphore(CONCURRENT_SNAPSHOTS)
  const underWay = new Map<string, Promise<string>>()

  function take(workspaceId: string, query: MemberQuery): Promise<string> {
    const name = [query.audienceId, query.sort, query.isSubscribedOnly].join(' ')
    const started = underWay.get(name) ?? semaphore(() => takeSnapshot(db, workspaceId, query))
    underWay.set(name, started)
    return started.finally(() => underWay.delete(name))
  }

  return {
    async readPage(workspaceId, query, total) {
      const continued = query.page === 1 ? null : await continueListing(db, query)
      const page = continued === null ? null : await readFrom(db, continued, query, offsetOf(query))
      if (page !== null) return page
      if ((query.page - 1) * query.limit >= total) return { members: [], total }
      const snapshotId = (await findRecent(db, query, total, reuseMs)) ?? (await take(workspaceId, query))
      await beginListing(db, snapshotId, query)
      // null: the workspace was deleted
      return (await readFrom(db, snapshotId, query, offsetOf(query))) ?? { members: [], total: 0 }
    },
    async readAfter(workspaceId, query, total) {
      const [named] = query.at?.key ?? []
      const snapshotId = named ?? (await findRecent(db, query, total, reuseMs)) ?? (await take(workspaceId, query))
      const before = query.at?.before ?? 0
      const page = await readFrom(db, snapshotId, query, before)
      if (page === null) throw new ExpiredSnapshotError('the snapshot of a cursor was deleted')
      const next = { key: [snapshotId], before: before + query.limit, total: page.total }
      return { ...page, next: next.before < page.total ? next : null }
    },
  }
}

const offsetOf = ({ page, limit }: MemberQuery): number => (page - 1) * limit

const LISTING = sql`
  key_id = $1 AND audience_id = $2 AND sort = $3 AND is_subscribed_only = $4 AND is_ascending = $5 AND page_size = $6
`

/** Longer pauses are of people, who may have gone. */
const IS_UNDER_WAY = `read_at > now() - interval '1 minute'`

const listingParameters = (query: MemberQuery): unknown[] => [
  query.keyId,
  query.audienceId,
  query.sort,
  query.isSubscribedOnly,
  query.direction === 'asc',
  query.limit,
]

// The listing under way whose next page this is; one that has just read it, for a repeated request; or the latest.
const CONTINUE = prepared(
  'member-listing-continue',
  sql`
    UPDATE member_listings
    SET next_page = $7::int + 1, read_at = now()
    WHERE id = (
      SELECT id
      FROM member_listings
      WHERE ${LISTING}
      ORDER BY next_page = $7 AND ${IS_UNDER_WAY} DESC, next_page = $7::int + 1 AND ${IS_UNDER_WAY} DESC,
        started_at DESC, id DESC
      LIMIT 1
    )
    RETURNING snapshot_id AS "snapshotId"
  `,
)

/** The snapshot of the listing that this page belongs to; null if there is none. */
async function continueListing(db: Queryable, query: MemberQuery): Promise<string | null> {
  const { rows } = await db.query<{ snapshotId: string }>(CONTINUE, [...listingParameters(query), query.page])
  return rows[0]?.snapshotId ?? null
}

// A client that reads only the first page, again and again, has one row for each snapshot.
const BEGIN = prepared(
  'member-listing-begin',
  sql`
    WITH waiting AS (
      UPDATE member_listings
      SET started_at = now(), read_at = now()
      WHERE ${LISTING} AND snapshot_id = $8 AND next_page = $7::int + 1
      RETURNING 1
    )
    INSERT INTO member_listings (
      key_id, audience_id, sort, is_subscribed_only, is_ascending, page_size, next_page, snapshot_id
    )
    SELECT $1, $2, $3, $4, $5, $6, $7::int + 1, id
    FROM member_snapshots
    WHERE id = $8 AND NOT EXISTS (SELECT FROM waiting)
  `,
)

async function beginListing(db: Queryable, snapshotId: string, query: MemberQuery): Promise<void> {
  await db.query(BEGIN, [...listingParameters(query), query.page, snapshotId])
}

// In a large audience the number of members changes all the time: its snapshots are shared although it does, for longer
// the larger it is.
const RECENT = prepared(
  'member-snapshot-recent',
  sql`
    SELECT id
    FROM member_snapshots
    WHERE audience_id = $1
      AND sort = $2
      AND is_subscribed_only = $3
      AND created_at > now() - $5::float * interval '1 ms' * CASE
        WHEN total = $4 THEN 1
        ELSE least(1, (total - 10000) / 100000.0)
      END
    ORDER BY created_at DESC
    LIMIT 1
  `,
)

async function findRecent(
  db: Queryable,
  { audienceId, sort, isSubscribedOnly }: MemberQuery,
  total: number,
  reuseMs: number,
): Promise<string | null> {
  const { rows } = await db.query<{ id: string }>(RECENT, [audienceId, sort, isSubscribedOnly, total, reuseMs])
  return rows[0]?.id ?? null
}

const takeSql = ({ sort, isSubscribedOnly }: MemberQuery): string => sql`
  WITH blocks AS (
    INSERT INTO member_snapshot_blocks (snapshot_id, block, contact_ids)
    SELECT $1, n / ${BLOCK_SIZE}, array_agg(contact_id ORDER BY n)
    FROM (
      SELECT m.contact_id, row_number() OVER (ORDER BY ${orderBy(sort, 'ASC')}) - 1 AS n
      FROM memberships m
      WHERE m.audience_id = $3${isSubscribedOnly ? ' AND m.is_subscribed = true' : ''}
    ) ordered
    GROUP BY 2
    RETURNING cardinality(contact_ids) AS members
  )
  INSERT INTO member_snapshots (id, workspace_id, audience_id, sort, is_subscribed_only, total)
  SELECT $1, $2, $3, $4, $5, coalesce(sum(members), 0)
  FROM blocks
`

const DELETE_EXCESS = sql`
  DELETE FROM member_snapshots
  WHERE id IN (
    SELECT id
    FROM member_snapshots
    WHERE id IN (
      SELECT id
      FROM (
        SELECT id, sum(total) OVER (ORDER BY read_at DESC, id DESC) AS stored
        FROM member_snapshots
        WHERE workspace_id = $1 AND id <> $2
      ) latest_first
      WHERE stored > ${MAX_STORED}
    )
    FOR UPDATE SKIP LOCKED
  )
`

async function takeSnapshot(db: Db, workspaceId: string, query: MemberQuery): Promise<string> {
  const id = newId()
  await db.transaction(async (tx) => {
    await tx.query(`SET LOCAL work_mem = '64MB'`)
    await tx.query('SET LOCAL enable_seqscan = on')
    await tx.query(takeSql(query), [id, workspaceId, query.audienceId, query.sort, query.isSubscribedOnly])
    await tx.query(DELETE_EXCESS, [workspaceId, id])
  }, 'bulk')
  return id
}

// The positions of a page in a descending order are counted from the end. One statement: a snapshot that is deleted
// meanwhile is read completely or not at all.
const READ = prepared(
  'member-snapshot-read',
  sql`
    WITH touched AS (
      UPDATE member_snapshots
      SET read_at = now()
      WHERE id = $1 AND read_at < now() - interval '1 minute'
    ),
    bounds AS (
      SELECT id, audience_id, is_subscribed_only, total,
        CASE WHEN $4 THEN $2::bigint ELSE total - $2::bigint - $3::bigint END AS first
      FROM member_snapshots
      WHERE id = $1
    )
    SELECT b.total AS "listTotal", p.*
    FROM bounds b
    LEFT JOIN LATERAL (
      SELECT x.block * ${BLOCK_SIZE} + i.n - 1 AS position, ${MEMBER_COLUMNS}
      FROM member_snapshot_blocks x
      CROSS JOIN LATERAL unnest(x.contact_ids) WITH ORDINALITY AS i (contact_id, n)
      JOIN memberships m
        ON m.audience_id = b.audience_id
        AND m.contact_id = i.contact_id
        AND (m.is_subscribed OR NOT b.is_subscribed_only)
      JOIN contacts c ON c.id = m.contact_id
      WHERE x.snapshot_id = b.id
        AND x.block BETWEEN b.first / ${BLOCK_SIZE} AND (b.first + $3::bigint - 1) / ${BLOCK_SIZE}
        AND x.block * ${BLOCK_SIZE} + i.n - 1 BETWEEN b.first AND b.first + $3::bigint - 1
    ) p ON true
    ORDER BY p.position
  `,
)

type ReadRow = { readonly listTotal: number; readonly position: number | null } & AudienceMember

/** Null if the snapshot no longer exists. Contacts that are no longer members, or not subscribed, are left out. */
async function readFrom(
  db: Queryable,
  snapshotId: string,
  { limit, direction }: MemberQuery,
  before: number,
): Promise<MemberPage | null> {
  const isAscending = direction === 'asc'
  const { rows } = await db.query<ReadRow>(READ, [snapshotId, before, limit, isAscending])
  const total = rows[0]?.listTotal
  if (total === undefined) return null
  const members = rows.filter(({ position }) => position !== null)
  return { members: isAscending ? members : members.toReversed(), total }
}

/** Deletes the snapshots that were not read for an hour. */
export const DELETE_UNREAD_SNAPSHOTS = `DELETE FROM member_snapshots WHERE read_at < now() - interval '1 hour'`
