/**
 * Counts the recipients that a campaign has at this moment: the selection of the ledger (ledger.ts) as one condition,
 * with a query plan for many rows. Nothing is written. For large audiences every 16th contact is counted, selected by a
 * random byte of its id, and the result is marked as an estimate: counting a million takes seconds, and the person who
 * starts the campaign waits.
 */
import { listWindows } from '#src/messages/search-windows.ts'
import type { Queryable } from '#src/stores/db.ts'
import { compileSegment } from '#src/segments/compile-filter.ts'
import type { Filter } from '#src/segments/filter.ts'
import { sql } from '#src/stores/sql.ts'
import type { Campaign } from './store.ts'

export interface ReceiverCount {
  /** The receiving site if it is known, otherwise the domain. */
  readonly receiver: string
  readonly recipients: number
}

export interface RecipientCounts {
  /** The numbers are estimated from a sample. */
  readonly isEstimate: boolean
  readonly total: number
  readonly receivers: number
  /** The receivers with the most recipients. */
  readonly largest: readonly ReceiverCount[]
}

const MAX_LISTED_RECEIVERS = 20
const SAMPLE_SIZE = 500
/** Below this number of members, or below this number of sampled recipients, all are counted. */
const MIN_ESTIMATED_MEMBERS = 100_000
const MIN_SAMPLED = 1000
const SAMPLING_RATE = 16
/** The last byte of an id is random. */
const IS_SAMPLED = `AND get_byte(uuid_send(m.contact_id), 15) % ${SAMPLING_RATE} = 0`

interface RecipientQuery {
  /** SQL for the FROM clause, with its conditions. */
  readonly from: string
  readonly values: readonly unknown[]
}

interface CountOptions {
  readonly workspaceId: string
  readonly nowMs: number
  /** Select only the sample. */
  readonly isSample: boolean
}

/** Selects the contacts `c` that would get the campaign. */
async function recipientQuery(
  db: Queryable,
  { workspaceId, nowMs, isSample }: CountOptions,
  campaign: Campaign,
): Promise<RecipientQuery> {
  const filter = await findSegmentFilter(db, workspaceId, campaign.segmentId)
  const segment = filter === null ? { sql: 'true', values: [] } : compileSegment(filter, { nowMs, first: 4 })
  return {
    values: [workspaceId, campaign.audienceIds, campaign.followsId, ...segment.values],
    from: sql`
      contacts c
      WHERE c.workspace_id = $1
        AND c.opted_out_at IS NULL
        AND ${segment.sql}
        AND c.id IN (
          SELECT m.contact_id
          FROM memberships m
          JOIN audiences a ON a.id = m.audience_id AND a.workspace_id = $1 AND a.deleted_at IS NULL
          WHERE m.audience_id = ANY ($2::uuid[])
            AND m.is_subscribed
            ${isSample ? IS_SAMPLED : ''}
        )
        AND NOT EXISTS (SELECT FROM suppressions x WHERE x.workspace_id = $1 AND x.address = c.email)
        AND (
          $3::uuid IS NULL
          OR EXISTS (
            SELECT FROM campaign_recipients f
            WHERE f.campaign_id = $3
              AND f.contact_id = c.id
              AND f.workspace_id = $1
              AND f.state IN ('delivered', 'sent')
              AND f.opened_at IS NULL
              AND f.clicked_at IS NULL
          )
        )
    `,
  }
}

/** Null: no segment. A deleted segment matches nobody. */
export async function findSegmentFilter(
  db: Queryable,
  workspaceId: string,
  segmentId: string | null,
): Promise<Filter | null> {
  if (segmentId === null) return null
  const {
    rows: [row],
  } = await db.query<{ filter: Filter; audienceId: string | null }>(
    'SELECT filter, audience_id AS "audienceId" FROM segments WHERE workspace_id = $1 AND id = $2',
    [workspaceId, segmentId],
  )
  if (row === undefined) return { any: [] }
  return row.audienceId === null ? row.filter : { all: [row.filter, { status: 'member', audienceId: row.audienceId }] }
}

export async function countRecipients(
  db: Queryable,
  workspaceId: string,
  campaign: Campaign,
  nowMs: number,
): Promise<RecipientCounts> {
  const {
    rows: [size],
  } = await db.query<{ members: number }>(
    sql`
      SELECT coalesce(sum(subscribed_count), 0)::bigint AS members
      FROM audiences
      WHERE workspace_id = $1 AND id = ANY ($2::uuid[])
    `,
    [workspaceId, campaign.audienceIds],
  )
  const sample =
    (size?.members ?? 0) > MIN_ESTIMATED_MEMBERS
      ? await runCount(db, { workspaceId, nowMs, isSample: true }, campaign)
      : null
  if (sample === null || sample.total < MIN_SAMPLED)
    return runCount(db, { workspaceId, nowMs, isSample: false }, campaign)
  const largest = sample.largest.map(({ receiver, recipients }) => ({
    receiver,
    recipients: recipients * SAMPLING_RATE,
  }))
  return { ...sample, isEstimate: true, total: sample.total * SAMPLING_RATE, largest }
}

async function runCount(db: Queryable, options: CountOptions, campaign: Campaign): Promise<RecipientCounts> {
  const { from, values } = await recipientQuery(db, options, campaign)
  const { rows } = await db.query<ReceiverCount & { total: number; receivers: number }>(
    sql`
      WITH domains_of AS (
        SELECT substring(c.email FROM '[^@]*$') AS domain, count(*) AS n
        FROM ${from}
        GROUP BY 1
      )
      SELECT coalesce(d.site, g.domain) AS receiver, sum(g.n)::bigint AS recipients,
        (sum(sum(g.n)) OVER ())::bigint AS total, (count(*) OVER ())::int AS receivers
      FROM domains_of g
      LEFT JOIN domain_sites d ON d.domain = g.domain
      GROUP BY 1
      ORDER BY 2 DESC, 1
      LIMIT ${MAX_LISTED_RECEIVERS}
    `,
    values,
  )
  return {
    isEstimate: false,
    total: rows[0]?.total ?? 0,
    receivers: rows[0]?.receivers ?? 0,
    largest: rows.map(({ receiver, recipients }) => ({ receiver, recipients })),
  }
}

/** Older mail does not count: looking for it would read all weeks that are stored. */
const MAILED_WITHIN_MS = 365 * 24 * 3600 * 1000

/** How many contacts of an evenly distributed sample have been sent no message within a year. */
export async function sampleNeverMailed(
  db: Queryable,
  {
    workspaceId,
    nowMs,
    recipientCounts: { isEstimate, total },
  }: Omit<CountOptions, 'isSample'> & { readonly recipientCounts: RecipientCounts },
  campaign: Campaign,
): Promise<{ sampled: number; neverMailed: number }> {
  const { from, values } = await recipientQuery(db, { workspaceId, nowMs, isSample: isEstimate }, campaign)
  const everyNth = Math.max(1, Math.floor(total / (isEstimate ? SAMPLING_RATE : 1) / SAMPLE_SIZE))
  const { rows } = await db.query<{ email: string }>(
    sql`
      SELECT c.email
      FROM ${from}
        AND hashtext(c.id::text) % ${everyNth} = 0
      LIMIT ${SAMPLE_SIZE}
    `,
    values,
  )
  const neverMailed = await findNeverMailed(db, { workspaceId, nowMs }, new Set(rows.map(({ email }) => email)))
  return { sampled: rows.length, neverMailed: neverMailed.size }
}

/** Goes through windows of weeks, the newest first, until each address is found. */
async function findNeverMailed(
  db: Queryable,
  { workspaceId, nowMs }: Pick<CountOptions, 'workspaceId' | 'nowMs'>,
  addresses: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  const left = new Set(addresses)
  for (const window of await listWindows(db, { fromMs: nowMs - MAILED_WITHIN_MS, toMs: null, cursor: null }, nowMs)) {
    if (left.size === 0) break
    const { rows } = await db.query<{ email: string }>(
      sql`
        SELECT s.email
        FROM unnest($2::text[]) AS s (email)
        WHERE EXISTS (
          SELECT FROM recipients r
          WHERE r.workspace_id = $1
            AND lower(r.address) COLLATE "C" = s.email
            AND r.message_id >= $3
            AND r.message_id < $4
        )
      `,
      [workspaceId, [...left], window.from, window.to],
    )
    for (const { email } of rows) left.delete(email)
  }
  return left
}
