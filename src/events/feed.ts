/**
 * Reads the events of a workspace in a stable order: by the transaction that wrote them, then by id. A transaction that
 * began early may commit late, so the feed returns only events older than every open transaction (the xmin of the
 * reading snapshot). Nothing can then appear before a cursor. The price: a long write transaction, whatever it writes,
 * delays the feed until it ends; mail and webhooks are not delayed. Transaction ids belong to a PostgreSQL cluster.
 * After a restore from a dump, a cursor or event may have an id ahead of this cluster's:
 * `src/stores/restored-events.ts` renumbers the events, and such a cursor is resolved by its event or starts from the
 * beginning. A read scans a limited number of events, whatever the filter: it may return no events and still an
 * advanced cursor. It reads the weeks since the event of the cursor, not those before. The poll of a reader without a
 * filter is a prepared statement, since planning it takes longer than running it.
 */
import { prepared, type Queryable, type Statement } from '#src/stores/db.ts'
import { idAt, timeOf } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { weekly, weeksSince, type Weeks } from '#src/stores/weeks.ts'
import { FEED_START, type FeedPosition } from './cursor.ts'
import {
  addMessages,
  EVENT_COLUMNS,
  type EventRow,
  MAX_EVENT_LAG_MS,
  reportedOf,
  type ReportedEvent,
} from './reported-event.ts'

export interface FeedQuery {
  readonly workspaceId: string
  readonly after: FeedPosition
  readonly limit: number
  readonly filter: FeedFilter
}

export interface FeedFilter {
  /** Null for all types. */
  readonly types: readonly string[] | null
  readonly messageId: string | null
  /** Case-insensitive. */
  readonly recipient: string | null
  readonly from: Date | null
  readonly to: Date | null
}

export interface FeedPage {
  readonly events: readonly ReportedEvent[]
  readonly next: FeedPosition & { readonly tx: string }
  /** More events follow `next`. */
  readonly hasMore: boolean
  /** Events after `next` cannot be returned yet, because an older transaction is open. */
  readonly isHeldBack: boolean
}

/** Events scanned by one read with a filter. */
const MAX_SCANNED = 5000
/** Ids use the clock of the process, which may differ from the time of the event. */
const MAX_CLOCK_SKEW_MS = 60_000

interface FeedRow extends EventRow {
  readonly tx: string | null
  readonly last_tx: string | null
  readonly last_id: string
  readonly scanned_count: number
  readonly is_held_back: boolean
}

/** Null if `after` names an event that does not exist. */
export async function readFeed(db: Queryable, query: FeedQuery): Promise<FeedPage | null> {
  const start = await findStart(db, query)
  if (start === null) return null
  const { after } = start
  const { statement, values, most: maxScanned } = statementOf(query, start)
  const { rows } = await db.query<FeedRow>(statement, values)
  const found = rows.filter(({ tx }) => tx !== null)
  const page = found.slice(0, query.limit)
  const [info, last] = [rows[0], page.at(-1)]
  const events = (await addMessages(db, page)).map(reportedOf)
  const isHeldBack = info?.is_held_back ?? false
  if (found.length > query.limit && last !== undefined)
    return { events, next: { tx: last.tx ?? FEED_START.tx, id: last.id }, hasMore: true, isHeldBack }
  const next = info?.last_tx == null ? after : { tx: info.last_tx, id: info.last_id }
  return { events, next, hasMore: (info?.scanned_count ?? 0) >= maxScanned, isHeldBack }
}

interface FeedStart {
  readonly after: FeedPage['next']
  /** Events after it have ids from this time on. */
  readonly sinceMs: number
}

const CLUSTER = prepared(
  'feed-cluster',
  sql`
    SELECT $1::xid8 < pg_snapshot_xmax(pg_current_snapshot()) AS "isKnown",
      extract(epoch FROM now())::float8 * 1000 AS "nowMs",
      (SELECT extract(epoch FROM created_at)::float8 * 1000 FROM workspaces WHERE id = $2) AS "createdMs"`,
)

interface ClusterState {
  readonly isKnown: boolean | null
  readonly nowMs: number
  readonly createdMs: number | null
}

/**
 * Resolves a cursor of another cluster, or one that names only an event, to a transaction of this cluster. Null if
 * there is no such event.
 */
async function findStart(db: Queryable, { workspaceId, after: { tx, id } }: FeedQuery): Promise<FeedStart | null> {
  const {
    rows: [cluster],
  } = await db.query<ClusterState>(CLUSTER, [tx, workspaceId])
  const { nowMs = 0, createdMs = null, isKnown = null } = cluster ?? {}
  const fromBeginning = { after: FEED_START, sinceMs: (createdMs ?? 0) - MAX_EVENT_LAG_MS }
  if (tx === FEED_START.tx) return { ...fromBeginning, after: { tx, id } }
  // the process that wrote the event may have had a clock that was ahead
  const sinceMs = Math.min(timeOf(id), nowMs) - MAX_EVENT_LAG_MS
  if (tx !== null && isKnown === true) return { after: { tx, id }, sinceMs }
  const {
    rows: [event],
  } = await db.query<{ tx: string }>('SELECT tx FROM events WHERE workspace_id = $1 AND id = $2', [workspaceId, id])
  if (event !== undefined) return { after: { tx: event.tx, id }, sinceMs }
  return tx === null ? null : fromBeginning
}

/** The statement contains only the requested conditions, so that PostgreSQL plans for them. */
function statementOf(
  { workspaceId, limit, filter }: FeedQuery,
  { after, sinceMs }: FeedStart,
): { statement: string | Statement; values: unknown[]; most: number } {
  const values: unknown[] = [workspaceId, after.tx, after.id, idAt(Math.max(0, Math.floor(sinceMs)))]
  const parameter = (value: unknown): string => `$${values.push(value)}`
  const scanned: string[] = []
  const matching: string[] = []
  if (filter.messageId !== null) {
    scanned.push(`e.message_id = ${parameter(filter.messageId)}`)
    scanned.push(`e.id >= ${parameter(idAt(Math.max(0, timeOf(filter.messageId) - MAX_CLOCK_SKEW_MS)))}`)
  }
  if (filter.from !== null) {
    scanned.push(`e.id >= ${parameter(idAt(Math.max(0, filter.from.getTime() - MAX_CLOCK_SKEW_MS)))}`)
    matching.push(`created_at >= ${parameter(filter.from)}`)
  }
  if (filter.to !== null) {
    scanned.push(`e.id < ${parameter(idAt(Math.max(0, filter.to.getTime() + MAX_CLOCK_SKEW_MS)))}`)
    matching.push(`created_at < ${parameter(filter.to)}`)
  }
  if (filter.types !== null) matching.push(`type = ANY (${parameter(filter.types)})`)
  if (filter.recipient !== null) matching.push(`lower(recipient) = lower(${parameter(filter.recipient)})`)
  const maxScanned = matching.length === 0 ? limit + 1 : Math.max(MAX_SCANNED, limit + 1)
  const poll = scanned.length + matching.length === 0 ? POLLS.get(limit) : undefined
  const statement = poll?.within(weeksSince(sinceMs)) ?? feedText({ scanned, matching, maxScanned, limit })
  return { statement, values, most: maxScanned }
}

/** The default of the API, and what readers use most. Each limit has a plan of its own. */
const POLL_LIMITS = [50, 100]

const POLLS = new Map(
  POLL_LIMITS.map((limit) => [
    limit,
    weekly(`feed-poll-${limit}`, (weeks) =>
      feedText({ scanned: [], matching: [], maxScanned: limit + 1, limit, weeks }),
    ),
  ]),
)

interface FeedText {
  readonly scanned: readonly string[]
  readonly matching: readonly string[]
  readonly maxScanned: number
  readonly limit: number
  /** Those of `$4` and later, as constants in the text; without them the text has no bound but `$4`. */
  readonly weeks?: Weeks
}

function feedText({ scanned, matching, maxScanned, limit, weeks }: FeedText): string {
  const isSince = weeks === undefined ? 'e.id >= $4::uuid' : `e.id >= $4::uuid AND ${weeks.contain('e.id')}`
  return sql`
    WITH scanned AS MATERIALIZED (
      SELECT e.*
      FROM events e
      WHERE e.workspace_id = $1
        AND ${isSince}
        AND (e.tx, e.id) > ($2::xid8, $3::uuid)
        AND e.tx < pg_snapshot_xmin(pg_current_snapshot())
        ${scanned.map((condition) => `AND ${condition}`).join(' ')}
      ORDER BY e.tx, e.id
      LIMIT ${maxScanned}
    ),
    matching AS (
      SELECT *
      FROM scanned
      ${matching.length === 0 ? '' : `WHERE ${matching.join(' AND ')}`}
      ORDER BY tx, id
      LIMIT ${limit + 1}
    ),
    info AS (
      SELECT (SELECT count(*) FROM scanned) AS scanned_count, l.tx AS last_tx, l.id AS last_id,
        EXISTS (
          SELECT FROM events e
          WHERE e.workspace_id = $1
            AND ${isSince}
            AND e.tx >= pg_snapshot_xmin(pg_current_snapshot())
            AND e.tx < pg_snapshot_xmax(pg_current_snapshot())
        ) AS is_held_back
      FROM (SELECT 1) one
      LEFT JOIN (
        SELECT tx, id
        FROM scanned
        ORDER BY tx DESC, id DESC
        LIMIT 1
      ) l ON true
    )
    SELECT i.scanned_count, i.last_tx, i.last_id, i.is_held_back, e.tx, ${EVENT_COLUMNS}
    FROM info i
    LEFT JOIN matching e ON true
    ORDER BY e.tx, e.id
  `
}
