/**
 * Who a campaign would go to as things stand: the filter of the ledger (ledger.ts), as one condition for counting. Counted with a plan for
 * many rows; nothing is written. Of large audiences every 16th contact is counted, by what is random in its id, and it is said that the
 * numbers are estimates: a million would take seconds, and whoever starts a campaign waits for it.
 */
import type { Queryable } from '#src/stores/db.ts'
import { compileSegment } from '#src/segments/compile.ts'
import type { Filter } from '#src/segments/filter.ts'
import { sql } from '#src/stores/sql.ts'
import type { Campaign } from './store.ts'

export interface ReceiverCount {
  /** The site that takes its mail, where that is known; else the domain. */
  readonly receiver: string
  readonly recipients: number
}

export interface Counted {
  /** The numbers were found by a sample. */
  readonly isEstimate: boolean
  readonly total: number
  readonly receivers: number
  /** The largest. */
  readonly largest: readonly ReceiverCount[]
}

const LARGEST = 20
const SAMPLE = 500
/** With fewer members of its audiences, or fewer found by the sample, everybody is counted. */
const LARGE = 100_000
const ENOUGH = 1000
const PART = 16
/** The last byte of an id is random. */
const IN_PART = `AND get_byte(uuid_send(m.contact_id), 15) % ${PART} = 0`

interface Chosen {
  /** A table and its conditions, to stand after FROM. */
  readonly from: string
  readonly values: readonly unknown[]
}

interface Wanted {
  readonly workspaceId: string
  readonly nowMs: number
  /** Only a part of them. */
  readonly isPart: boolean
}

/** Contacts `c` that it would go to. */
async function chosen(db: Queryable, { workspaceId, nowMs, isPart }: Wanted, campaign: Campaign): Promise<Chosen> {
  const filter = await findFilter(db, workspaceId, campaign.segmentId)
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
            ${isPart ? IN_PART : ''}
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

/** Null: no segment. One that is gone is one that nobody is in. */
export async function findFilter(db: Queryable, workspaceId: string, segmentId: string | null): Promise<Filter | null> {
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
): Promise<Counted> {
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
  const part = (size?.members ?? 0) > LARGE ? await count(db, { workspaceId, nowMs, isPart: true }, campaign) : null
  if (part === null || part.total < ENOUGH) return count(db, { workspaceId, nowMs, isPart: false }, campaign)
  const largest = part.largest.map(({ receiver, recipients }) => ({ receiver, recipients: recipients * PART }))
  return { ...part, isEstimate: true, total: part.total * PART, largest }
}

async function count(db: Queryable, wanted: Wanted, campaign: Campaign): Promise<Counted> {
  const { from, values } = await chosen(db, wanted, campaign)
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
      LIMIT ${LARGEST}
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

/** Of so many, picked alike over all: how many were never sent anything. */
export async function sampleNew(
  db: Queryable,
  { workspaceId, nowMs, counted: { isEstimate, total } }: Omit<Wanted, 'isPart'> & { readonly counted: Counted },
  campaign: Campaign,
): Promise<{ sampled: number; neverMailed: number }> {
  const { from, values } = await chosen(db, { workspaceId, nowMs, isPart: isEstimate }, campaign)
  const each = Math.max(1, Math.floor(total / (isEstimate ? PART : 1) / SAMPLE))
  const {
    rows: [row],
  } = await db.query<{ sampled: number; neverMailed: number }>(
    sql`
      SELECT count(*)::int AS sampled,
        count(*) FILTER (
          WHERE NOT EXISTS (
            SELECT FROM recipients r
            WHERE r.workspace_id = $1 AND lower(r.address) COLLATE "C" = s.email
          )
        )::int AS "neverMailed"
      FROM (
        SELECT c.email
        FROM ${from}
          AND hashtext(c.id::text) % ${each} = 0
        LIMIT ${SAMPLE}
      ) s
    `,
    values,
  )
  return row ?? { sampled: 0, neverMailed: 0 }
}
