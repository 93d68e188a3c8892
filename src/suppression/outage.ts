/**
 * Detects a receiver whose directory is broken and answers "no such user" for everybody. The share of hard bounces in
 * the last hours is compared with the receiver's share in the week before; during an outage, no address is suppressed
 * on this receiver's word (suppress-hard-bounces.ts). Results are counted by receiver and hour: hard bounces in the
 * transaction that records them; deliveries in memory, written every few seconds or with the next hard bounce. A
 * process that dies loses a few seconds of deliveries, which makes the check more cautious.
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'

const BASELINE_HOURS = 7 * 24

export interface BounceCounts {
  readonly hard: number
  readonly delivered: number
}

/** Minimum of hard bounces for a decision. */
const MIN_HARD = 20
/** Minimum of results for a baseline. */
const MIN_BASELINE = 200
/** The share of hard bounces assumed without a baseline, and the minimum of every baseline. */
const DEFAULT_SHARE = 0.05
const OUTAGE_FACTOR = 4

function shareOf({ hard, delivered }: BounceCounts): number {
  return hard + delivered === 0 ? 0 : hard / (hard + delivered)
}

/** Pure. `now`: this hour and the one before; `week`: the week before. */
export function isOutage(now: BounceCounts, week: BounceCounts): boolean {
  if (now.hard < MIN_HARD) return false
  const usual = week.hard + week.delivered >= MIN_BASELINE ? Math.max(shareOf(week), DEFAULT_SHARE) : DEFAULT_SHARE
  return shareOf(now) > Math.min(OUTAGE_FACTOR * usual, (1 + usual) / 2)
}

const COUNT = prepared(
  'receiver-hours-count',
  sql`
    INSERT INTO receiver_hours AS h (receiver, hour, delivered, hard)
    SELECT receiver, date_trunc('hour', $4::timestamptz), delivered, hard
    FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS i (receiver, delivered, hard)
    ORDER BY receiver COLLATE "C"
    ON CONFLICT (receiver, hour)
    DO UPDATE SET delivered = h.delivered + excluded.delivered, hard = h.hard + excluded.hard
  `,
)

/** Adds to the counts of the hour. Rows are locked in a fixed order, so two batches cannot deadlock. */
export async function countResults(
  tx: Queryable,
  results: ReadonlyMap<string, BounceCounts>,
  now: Date,
): Promise<void> {
  if (results.size === 0) return
  const rows = [...results].map(([receiver, hours]) => ({ receiver, ...hours }))
  await tx.query(COUNT, [...columnsOf(rows, [(r) => r.receiver, (r) => r.delivered, (r) => r.hard]), now])
}

const HOURS = prepared(
  'receiver-hours-read',
  sql`
    SELECT receiver, coalesce(sum(hard) FILTER (WHERE is_now), 0)::bigint AS hard_now,
      coalesce(sum(delivered) FILTER (WHERE is_now), 0)::bigint AS delivered_now,
      coalesce(sum(hard) FILTER (WHERE NOT is_now), 0)::bigint AS hard_week,
      coalesce(sum(delivered) FILTER (WHERE NOT is_now), 0)::bigint AS delivered_week
    FROM (
      SELECT receiver, hard, delivered, hour > $2::timestamptz - interval '2 hours' AS is_now
      FROM receiver_hours
      WHERE receiver = ANY ($1::text[]) AND hour > $2::timestamptz - interval '${BASELINE_HOURS} hours' AND hour <= $2
    ) h
    GROUP BY receiver
  `,
)

interface HoursRow {
  readonly receiver: string
  readonly hard_now: number
  readonly delivered_now: number
  readonly hard_week: number
  readonly delivered_week: number
}

/** The receivers with an outage at that time: this hour and the one before, compared with the week before. */
export async function findOutages(db: Queryable, receivers: readonly string[], at: Date): Promise<ReadonlySet<string>> {
  if (receivers.length === 0) return new Set()
  const { rows } = await db.query<HoursRow>(HOURS, [[...new Set(receivers)], at])
  const inOutage = rows.filter((row) =>
    isOutage(
      { hard: row.hard_now, delivered: row.delivered_now },
      { hard: row.hard_week, delivered: row.delivered_week },
    ),
  )
  return new Set(inOutage.map(({ receiver }) => receiver))
}
