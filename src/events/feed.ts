/**
 * The events of a workspace in an order that nothing is ever slipped into: by the transaction that wrote them, then by id.
 *
 * A transaction that began early may commit late, so only what is older than every transaction still under way is given (the xmin of the
 * snapshot that reads): behind a cursor nothing can appear any more. The price: a transaction that writes for long holds the feed back, of
 * whatever it writes, until it ends; mail and webhooks do not wait for it.
 *
 * Transactions are numbered by a PostgreSQL cluster. A cursor or an event of another cluster (after a restore from a dump) has a number
 * that lies ahead of this one: `src/stores/restored-events.ts` renumbers the events, and such a cursor finds its place by its event, or begins
 * anew.
 *
 * A reading looks at a bounded number of events, whatever it filters: it may answer none and yet a cursor that is further on.
 */
import type { Queryable } from '#src/stores/db.ts'
import { idAt } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { FEED_START, type FeedPosition } from './cursor.ts'
import { REPORTED, reportedOf, type ReportedEvent, type ReportedRow } from './reported-event.ts'

export interface FeedQuery {
  readonly workspaceId: string
  readonly after: FeedPosition
  readonly limit: number
  readonly filter: FeedFilter
}

export interface FeedFilter {
  /** Null for all. */
  readonly types: readonly string[] | null
  readonly messageId: string | null
  /** Case does not matter. */
  readonly recipient: string | null
  readonly from: Date | null
  readonly to: Date | null
}

export interface FeedPage {
  readonly events: readonly ReportedEvent[]
  readonly next: FeedPosition & { readonly tx: string }
  /** There is more behind `next` already. */
  readonly hasMore: boolean
  /** Something is stored behind `next` that may not be given yet, for an older transaction is under way. */
  readonly isHeldBack: boolean
}

/** Events that one reading with a filter looks at. */
const MAX_SCANNED = 5000
/** Ids are made from the clock of the process, a moment before or after the time that an event is given. */
const MAX_CLOCK_SKEW_MS = 60_000

interface FeedRow extends ReportedRow {
  readonly tx: string | null
  readonly last_tx: string | null
  readonly last_id: string
  readonly looked_at: number
  readonly is_held_back: boolean
}

/** Null when `after` names an event that is not there. */
export async function readFeed(db: Queryable, query: FeedQuery): Promise<FeedPage | null> {
  const after = await resolvePosition(db, query)
  if (after === null) return null
  const { text, values, most: maxScanned } = statementOf(query, after)
  const { rows } = await db.query<FeedRow>(text, values)
  const found = rows.filter(({ tx }) => tx !== null)
  const page = found.slice(0, query.limit)
  const [info, last] = [rows[0], page.at(-1)]
  const events = page.map(reportedOf)
  const isHeldBack = info?.is_held_back ?? false
  if (found.length > query.limit && last !== undefined)
    return { events, next: { tx: last.tx ?? FEED_START.tx, id: last.id }, hasMore: true, isHeldBack }
  const next = info?.last_tx == null ? after : { tx: info.last_tx, id: info.last_id }
  return { events, next, hasMore: (info?.looked_at ?? 0) >= maxScanned, isHeldBack }
}

/** The number of a transaction of this cluster, for a cursor of another and for one that only names an event. */
async function resolvePosition(db: Queryable, { workspaceId, after }: FeedQuery): Promise<FeedPage['next'] | null> {
  const { tx, id } = after
  if (tx === FEED_START.tx) return { tx, id }
  const {
    rows: [row],
  } = await db.query<{ is_known: boolean }>('SELECT $1::xid8 < pg_snapshot_xmax(pg_current_snapshot()) AS is_known', [
    tx,
  ])
  if (tx !== null && row?.is_known === true) return { tx, id }
  const {
    rows: [event],
  } = await db.query<{ tx: string }>('SELECT tx FROM events WHERE workspace_id = $1 AND id = $2', [workspaceId, id])
  if (event !== undefined) return { tx: event.tx, id }
  return tx === null ? null : FEED_START
}

/** Only conditions that are asked for stand in the statement, so that each is planned for what it is. */
function statementOf(
  { workspaceId, limit, filter }: FeedQuery,
  after: FeedPosition,
): { text: string; values: unknown[]; most: number } {
  const values: unknown[] = [workspaceId, after.tx, after.id]
  const parameter = (value: unknown): string => `$${values.push(value)}`
  const scanned: string[] = []
  const matching: string[] = []
  if (filter.messageId !== null) scanned.push(`e.message_id = ${parameter(filter.messageId)}`)
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
  return { text: feedText({ scanned, matching, maxScanned, limit }), values, most: maxScanned }
}

interface FeedText {
  readonly scanned: readonly string[]
  readonly matching: readonly string[]
  readonly maxScanned: number
  readonly limit: number
}

function feedText({ scanned, matching, maxScanned, limit }: FeedText): string {
  return sql`
    WITH looked AS MATERIALIZED (
      SELECT e.*
      FROM events e
      WHERE e.workspace_id = $1
        AND (e.tx, e.id) > ($2::xid8, $3::uuid)
        AND e.tx < pg_snapshot_xmin(pg_current_snapshot())
        ${scanned.map((condition) => `AND ${condition}`).join(' ')}
      ORDER BY e.tx, e.id
      LIMIT ${maxScanned}
    ),
    wanted AS (
      SELECT *
      FROM looked
      ${matching.length === 0 ? '' : `WHERE ${matching.join(' AND ')}`}
      ORDER BY tx, id
      LIMIT ${limit + 1}
    ),
    info AS (
      SELECT (SELECT count(*) FROM looked) AS looked_at, l.tx AS last_tx, l.id AS last_id,
        EXISTS (
          SELECT FROM events e
          WHERE e.workspace_id = $1
            AND e.tx >= pg_snapshot_xmin(pg_current_snapshot())
            AND e.tx < pg_snapshot_xmax(pg_current_snapshot())
        ) AS is_held_back
      FROM (SELECT 1) one
      LEFT JOIN (
        SELECT tx, id
        FROM looked
        ORDER BY tx DESC, id DESC
        LIMIT 1
      ) l ON true
    )
    SELECT i.looked_at, i.last_tx, i.last_id, i.is_held_back, e.tx, ${REPORTED}
    FROM info i
    LEFT JOIN wanted e ON true
    LEFT JOIN messages m ON m.id = e.message_id
    ORDER BY e.tx, e.id
  `
}
