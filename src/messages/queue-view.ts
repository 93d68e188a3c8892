/**
 * The queue of the whole installation for its operator: lists open recipients, counts them by a criterion, and reads
 * slices of them for bulk actions. It reads PostgreSQL, the source of truth, and changes nothing; `src/operator/` makes
 * the changes. A slice has a maximum size, even if only a few of its recipients match the filter.
 */
import type { Queryable } from '#src/stores/db.ts'
import { hexOf, idOfHex } from '#src/platform/id.ts'
import { readOpenWeeks } from '#src/queue/open-weeks.ts'
import type { Tier } from '#src/queue/tiers.ts'
import { sql } from '#src/stores/sql.ts'
import type { State } from './state.ts'
import { fillHoldReasons, type HoldDeps } from './hold-reasons.ts'
import { afterCursor, cursorValues, DUE_MICROS, type Cursor } from './open-recipients.ts'

/** Selects open recipients. All given fields must match; an empty filter selects all. */
export interface QueueFilter {
  readonly domain?: string
  readonly site?: string
  readonly workspace?: string
  readonly campaign?: string
  readonly tier?: Tier
  readonly state?: State
  readonly message?: string
  /** Accepted before this time (ISO 8601). */
  readonly before?: string
}

export interface OpenRecipient extends Cursor {
  readonly workspaceId: string
  readonly campaignId: string | null
  readonly address: string
  readonly domain: string
  readonly tier: Tier
  readonly state: State
  readonly tries: number
  /** What holds it: its suspension, or the result of its last attempt. */
  readonly reason: string | null
  readonly dueAt: Date
}

/** SQL condition on a recipient `r`; its parameters, from $1 on, are those of `filterValues`. */
const MATCHES_FILTER = sql`
  ($1::text IS NULL OR r.domain = $1)
  AND ($2::text IS NULL OR r.tier = $2)
  AND ($3::text IS NULL OR r.state = $3)
  AND ($4::uuid IS NULL OR r.message_id = $4)
  AND ($5::uuid IS NULL OR r.workspace_id = $5)
  AND ($6::uuid IS NULL OR r.message_id < $6)
  AND ($7::text IS NULL OR EXISTS (SELECT FROM domain_sites d WHERE d.domain = r.domain AND d.site = $7))
  AND ($8::uuid IS NULL OR r.campaign_id = $8)
`

function filterValues(filter: QueueFilter): (string | null)[] {
  const { domain, tier, state, message, workspace, before, site, campaign } = filter
  return [
    domain,
    tier,
    state,
    message,
    workspace,
    before === undefined ? undefined : firstIdAt(before),
    site,
    campaign,
  ].map((value) => value ?? null)
}

/** The smallest id of this time. */
function firstIdAt(iso: string): string {
  return idOfHex(Date.parse(iso).toString(16).padStart(12, '0').padEnd(32, '0'))
}

const COLUMNS = sql`
  r.message_id AS "messageId", r.n, r.workspace_id AS "workspaceId", r.campaign_id AS "campaignId", r.address,
  r.domain, r.tier, r.state, r.due_at AS "dueAt", ${DUE_MICROS} AS "dueMicros", r.tries, r.reason
`

/** Soonest due first; `next` is null after the last. */
export async function listOpen(
  deps: HoldDeps,
  filter: QueueFilter,
  at: { readonly limit: number; readonly cursor: Cursor | null },
): Promise<{ readonly open: OpenRecipient[]; readonly next: Cursor | null }> {
  const weeks = await readOpenWeeks(deps.db)
  const { rows } = await deps.db.query<OpenRecipient>(
    sql`
      SELECT ${COLUMNS}
      FROM recipients r
      WHERE r.is_open AND ${weeks.contain('r.message_id')} AND ${MATCHES_FILTER} AND ${afterCursor(9)}
      ORDER BY r.due_at, r.message_id, r.n
      LIMIT $12
    `,
    [...filterValues(filter), ...cursorValues(at.cursor), at.limit + 1], // one more shows whether there is a next page
  )
  const page = rows.slice(0, at.limit)
  const next = rows.length > at.limit ? (page.at(-1) ?? null) : null
  return { open: await fillHoldReasons(deps, page), next }
}

/** A cursor as text for clients. */
export function cursorText({ dueMicros, messageId, n }: Cursor): string {
  return `${dueMicros}_${hexOf(messageId)}_${n}`
}

/** Null for text that is not a cursor. */
export function readCursor(text: string): Cursor | null {
  const [, due, hex, n] = /^(\d{1,17})_([0-9a-f]{32})_(\d{1,5})$/.exec(text) ?? []
  if (due === undefined || hex === undefined || n === undefined || Number(n) > 32_767) return null
  return { dueMicros: due, messageId: idOfHex(hex), n: Number(n) }
}

const AGE = sql`
  extract(epoch FROM now()) - ('x' || substr(replace(r.message_id::text, '-', ''), 1, 12))::bit(48)::bigint / 1000.0
`

/** The criteria of `countOpen`, with the SQL expression of each. */
const GROUPINGS = {
  tier: 'r.tier',
  state: 'r.state',
  domain: 'r.domain',
  site: `coalesce((SELECT d.site FROM domain_sites d WHERE d.domain = r.domain), 'not looked up yet')`,
  workspace: 'r.workspace_id::text',
  campaign: `coalesce(r.campaign_id::text, 'none')`,
  age: sql`
    CASE
      WHEN ${AGE} < 60 THEN 'under 1 minute'
      WHEN ${AGE} < 600 THEN 'under 10 minutes'
      WHEN ${AGE} < 3600 THEN 'under 1 hour'
      WHEN ${AGE} < 21600 THEN 'under 6 hours'
      WHEN ${AGE} < 86400 THEN 'under 1 day'
      ELSE '1 day and more'
    END
  `,
} as const satisfies Record<string, string>

export type Grouping = keyof typeof GROUPINGS
export const GROUPING_NAMES = Object.keys(GROUPINGS) as [Grouping, ...Grouping[]]

export interface QueueCount {
  readonly name: string
  readonly count: number
  /** The oldest due time among them. */
  readonly oldestDueAt: Date
}

/** The largest group first. Reads all open recipients once. */
export async function countOpen(
  db: Queryable,
  filter: QueueFilter,
  by: Grouping,
  limit: number,
): Promise<QueueCount[]> {
  const weeks = await readOpenWeeks(db)
  return (
    await db.query<QueueCount>(
      sql`
        SELECT ${GROUPINGS[by]} AS name, count(*) AS count, min(r.due_at) AS "oldestDueAt"
        FROM recipients r
        WHERE r.is_open AND ${weeks.contain('r.message_id')} AND ${MATCHES_FILTER}
        GROUP BY 1
        ORDER BY 2 DESC, 1
        LIMIT $9
      `,
      [...filterValues(filter), limit],
    )
  ).rows
}

export interface TierCount {
  readonly tier: Tier
  readonly state: State
  readonly count: number
  readonly oldestDueAt: Date
}

export async function countTiers(db: Queryable): Promise<TierCount[]> {
  const weeks = await readOpenWeeks(db)
  return (
    await db.query<TierCount>(sql`
      SELECT tier, state, count(*) AS count, min(due_at) AS "oldestDueAt"
      FROM recipients
      WHERE is_open AND ${weeks.contain('message_id')}
      GROUP BY tier, state
      ORDER BY tier, state
    `)
  ).rows
}

export interface WorkspaceTierCount {
  readonly workspaceId: string
  readonly tier: Tier
  readonly count: number
  readonly oldestDueAt: Date
}

/** Of several workspaces, with one statement, which reads all open recipients once. */
export async function countOpenByTier(db: Queryable, workspaceIds: readonly string[]): Promise<WorkspaceTierCount[]> {
  const weeks = await readOpenWeeks(db)
  const { rows } = await db.query<WorkspaceTierCount>(
    sql`
      SELECT workspace_id AS "workspaceId", tier, count(*) AS count, min(due_at) AS "oldestDueAt"
      FROM recipients
      WHERE is_open AND ${weeks.contain('message_id')} AND workspace_id = ANY ($1)
      GROUP BY workspace_id, tier
    `,
    [workspaceIds],
  )
  return rows
}

/** The position of a walk through open recipients: the tier, and the last recipient that was read. Stored as JSON. */
export interface WalkPosition {
  readonly tier: Tier
  readonly after: { readonly dueAt: string; readonly messageId: string; readonly n: number } | null
}

export interface QueueSliceRow {
  /** As PostgreSQL prints it, with microseconds: a rounded time would return the same recipients again. */
  readonly dueAt: string
  readonly messageId: string
  readonly n: number
  readonly workspaceId: string
  readonly domain: string
  readonly tier: Tier
  readonly isMeant: boolean
}

export interface QueueSliceQuery {
  readonly filter: QueueFilter
  readonly position: WalkPosition
  /** The states that the action may change. */
  readonly states: readonly State[]
  /** Only recipients that have not changed since. */
  readonly unchangedSince: Date
  readonly limit: number
}

/** The next open recipients of a tier, matching or not. A single message is found by its key. */
export async function readSlice(
  db: Queryable,
  { filter, position, states, unchangedSince, limit }: QueueSliceQuery,
): Promise<QueueSliceRow[]> {
  const { tier, after } = position
  const weeks = await readOpenWeeks(db)
  const from = filter.message === undefined ? '' : 'AND message_id = $4'
  return (
    await db.query<QueueSliceRow>(
      sql`
        SELECT r.message_id AS "messageId", r.n, r.workspace_id AS "workspaceId", r.domain, r.tier,
          r.due_at::text AS "dueAt", (r.state = ANY ($9) AND r.updated_at < $10 AND ${MATCHES_FILTER}) AS "isMeant"
        FROM (
          SELECT *
          FROM recipients
          WHERE is_open
            AND ${weeks.contain('message_id')}
            AND tier = $11
            ${from}
            AND ($12::timestamptz IS NULL OR (due_at, message_id, n) > ($12, $13, $14))
          ORDER BY due_at, message_id, n
          LIMIT $15
        ) r
        ORDER BY r.due_at, r.message_id, r.n
      `,
      [
        ...filterValues(filter),
        states,
        unchangedSince,
        tier,
        after?.dueAt ?? null,
        after?.messageId ?? null,
        after?.n ?? null,
        limit,
      ],
    )
  ).rows
}
