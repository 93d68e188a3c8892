/**
 * Statistics of a campaign. Every statement that changes a ledger inserts counter deltas (migration 018), and a reader
 * adds them up, so a number is exact at any moment and costs the same for ten recipients as for a million. Deltas are
 * merged in batches: many rows become one, and nobody waits for a counter row.
 */
import type { WorkFound } from '#src/concurrency/work-found.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'

/** The counters of a ledger. `ahead`: queued, without an outcome. `settled`: will not change on its own. */
export const CAMPAIGN_COUNTERS = [
  'recipients',
  'waiting',
  'ahead',
  'settled',
  'dispatched',
  'delivered',
  'opened',
  'clicked',
  'bounced_hard',
  'bounced_soft',
  'failed',
  'complained',
  'unsubscribed',
  'machine_opened',
  'machine_clicked',
  'suppressed',
  'skipped',
  'cancelled',
] as const
export type CampaignCounts = Readonly<Record<(typeof CAMPAIGN_COUNTERS)[number], number>>
/** The two variants of an A/B test. */
export type Variant = 'a' | 'b'

const SUMS = CAMPAIGN_COUNTERS.map((name) => `sum(${name})::bigint AS ${name}`).join(', ')
const READ_COUNTERS = prepared(
  'campaign-counters',
  `SELECT variant, ${SUMS} FROM campaign_changes WHERE campaign_id = $1 GROUP BY variant`,
)
const NO_COUNTS = Object.fromEntries(CAMPAIGN_COUNTERS.map((name) => [name, 0])) as unknown as CampaignCounts

export interface CampaignStatistics {
  readonly all: CampaignCounts
  readonly variants: Readonly<Record<Variant, CampaignCounts>>
}

export async function readStatistics(db: Queryable, campaignId: string): Promise<CampaignStatistics> {
  const { rows } = await db.query<CampaignCounts & { variant: Variant | null }>(READ_COUNTERS, [campaignId])
  const ofVariant = (variant: Variant): CampaignCounts => rows.find((row) => row.variant === variant) ?? NO_COUNTS
  const all = Object.fromEntries(
    CAMPAIGN_COUNTERS.map((name) => [name, rows.reduce((sum, row) => sum + row[name], 0)]),
  ) as unknown as CampaignCounts
  return { all, variants: { a: ofVariant('a'), b: ofVariant('b') } }
}

const READ_TOTALS = prepared(
  'campaign-totals',
  `SELECT campaign_id AS id, ${SUMS} FROM campaign_changes WHERE campaign_id = ANY ($1) GROUP BY campaign_id`,
)

/** The counters of several campaigns, each over both variants, in one query. */
export async function readTotals(
  db: Queryable,
  campaignIds: readonly string[],
): Promise<(campaignId: string) => CampaignCounts> {
  if (campaignIds.length === 0) return () => NO_COUNTS
  const { rows } = await db.query<CampaignCounts & { id: string }>(READ_TOTALS, [campaignIds])
  const totals = new Map(rows.map((row) => [row.id, row]))
  return (id) => totals.get(id) ?? NO_COUNTS
}

const SLICE = 5000
const MERGE_COUNTER_DELTAS = prepared(
  'campaign-counters-merge',
  sql`
    WITH oldest AS (
      SELECT count(*) AS deltas, count(DISTINCT (campaign_id, variant)) AS counters
      FROM (
        SELECT campaign_id, variant
        FROM campaign_changes
        ORDER BY id
        LIMIT ${SLICE}
      ) few
    ),
    deleted AS (
      DELETE FROM campaign_changes
      WHERE (SELECT deltas > counters OR deltas = ${SLICE} FROM oldest)
        AND id IN (
          SELECT id
          FROM campaign_changes
          ORDER BY id
          LIMIT ${SLICE}
          FOR UPDATE SKIP LOCKED
        )
      RETURNING campaign_id, variant, ${CAMPAIGN_COUNTERS.join(', ')}
    ),
    merged AS (
      INSERT INTO campaign_changes (campaign_id, variant, ${CAMPAIGN_COUNTERS.join(', ')})
      SELECT campaign_id, variant, ${CAMPAIGN_COUNTERS.map((name) => `sum(${name})`).join(', ')}
      FROM deleted
      GROUP BY campaign_id, variant
      RETURNING 1
    )
    SELECT (SELECT count(*) FROM deleted)::int AS deleted, (SELECT count(*) FROM merged)::int AS left
  `,
)

/**
 * Merges one batch of deltas, unless each counter has one row. Merged rows get new ids, so each run reaches other
 * campaigns.
 */
export async function mergeCounterDeltas(db: Queryable): Promise<WorkFound> {
  const {
    rows: [row],
  } = await db.query<{ deleted: number; left: number }>(MERGE_COUNTER_DELTAS)
  if (row === undefined || row.deleted === row.left) return 'none'
  return row.deleted === SLICE && row.left < SLICE / 2 ? 'more' : 'some'
}
