/**
 * Writes the recipient ledger of a campaign: one row for each contact that should get it, ordered by contact id, one
 * slice per statement. The same statement stores the progress. The selection depends only on the state at the
 * campaign's start, so writing a slice again gives the same rows.
 *
 * Recipients are subscribed members of one of the audiences, once each, who have not opted out, are not suppressed, and
 * match the segment if there is one. If an A/B test and a spread are combined, the test recipients are due at once and
 * the rest is spread from the end of the test.
 */
import type { Queryable } from '#src/stores/db.ts'
import { compileSegment } from '#src/segments/compile-filter.ts'
import { sql } from '#src/stores/sql.ts'
import type { LockedCampaign } from './locked-campaign.ts'
import { findSegmentFilter } from './recipient-counts.ts'
import { GOLDEN_RATIO, instantsByZone } from './send-times.ts'

/** Members that one slice reads: at most a second of work, so that a pause can take effect between slices. */
const MAX_SLICE = 10_000
/** Minimum slice with many audiences, each of which is scanned separately. */
const MIN_SLICE = 500

/** Number of the segment's first parameter in the statement below. */
const FIRST_SEGMENT_PARAMETER = 13

/** Allowed clock difference between machines: a start on one machine must include contacts just added on another. */
const MAX_CLOCK_SKEW = `interval '5 seconds'`

/** Selects the members of a slice, each once. Parameters: workspace, audiences, last contact id, start time, limit. */
const membersQuery = ([workspace, audiences, after, start, limit]: readonly [
  string,
  string,
  string,
  string,
  string,
]): string => sql`
  SELECT DISTINCT ON (m.contact_id) m.contact_id, m.audience_id
  FROM unnest(${audiences}::uuid[]) WITH ORDINALITY AS a (id, place)
  JOIN audiences live ON live.id = a.id AND live.workspace_id = ${workspace} AND live.deleted_at IS NULL
  CROSS JOIN LATERAL (
    SELECT contact_id, audience_id
    FROM memberships
    WHERE audience_id = a.id
      AND is_subscribed
      AND contact_id > ${after}::uuid
      AND created_at <= ${start}::timestamptz + ${MAX_CLOCK_SKEW}
    ORDER BY contact_id
    LIMIT ${limit}
  ) m
  ORDER BY m.contact_id, a.place
  LIMIT ${limit}
`

/** The time zones of these members as stored; contacts use more names than any zone list contains. */
const FIND_ZONES = sql`
  SELECT DISTINCT c.timezone AS zone
  FROM (
    ${membersQuery(['$1', '$2', '$3', '$4', '$5'])}
  ) s
  JOIN contacts c ON c.id = s.contact_id
  WHERE c.workspace_id = $1 AND c.timezone IS NOT NULL
`

const HAS_NOT_OPENED = sql`
  EXISTS (
    SELECT FROM campaign_recipients f
    WHERE f.campaign_id = $12::uuid
      AND f.contact_id = c.id
      AND f.workspace_id = $2
      AND f.state IN ('delivered', 'sent')
      AND f.opened_at IS NULL
      AND f.clicked_at IS NULL
  )
`

const ledgerSliceQuery = (segment: string, follows: boolean): string => sql`
  WITH scanned AS MATERIALIZED (
    ${membersQuery(['$2', '$3', '$4', '$5', '$6'])}
  ),
  chosen AS (
    SELECT c.id, c.email, c.timezone, s.audience_id, row_number() OVER (ORDER BY c.id) + $7::bigint AS place
    FROM scanned s
    JOIN contacts c ON c.id = s.contact_id
    WHERE c.workspace_id = $2
      AND c.opted_out_at IS NULL
      AND NOT EXISTS (SELECT FROM suppressions x WHERE x.workspace_id = $2 AND x.address = c.email)
      AND ${segment}
      AND ${follows ? HAS_NOT_OPENED : '$12::uuid IS NULL'}
  ),
  tested AS (
    SELECT *,
      CASE
        WHEN $8::int IS NOT NULL AND place * $8 / 100 > (place - 1) * $8 / 100
          THEN CASE WHEN place * $8 / 100 % 2 = 1 THEN 'a' ELSE 'b' END
      END AS variant
    FROM chosen
  ),
  written AS (
    INSERT INTO campaign_recipients (
      campaign_id, contact_id, workspace_id, email, audience_id, variant, generation, sends_at
    )
    SELECT $1, id, $2, email, audience_id, variant, 1,
      CASE
        WHEN $11::jsonb IS NOT NULL
          THEN greatest(coalesce(($11::jsonb ->> timezone)::timestamptz, ($11::jsonb ->> '')::timestamptz), $5)
        WHEN variant IS NULL
          THEN $5::timestamptz
            + interval '1 minute' * (
              CASE WHEN $8::int IS NULL THEN 0 ELSE $9::int END
                + coalesce($10::int, 0) * (place * ${GOLDEN_RATIO}::float8 - floor(place * ${GOLDEN_RATIO}::float8))
            )
        ELSE $5::timestamptz
      END
    FROM tested
    ORDER BY place
    ON CONFLICT (campaign_id, contact_id) DO NOTHING
  ),
  progress AS (
    SELECT (SELECT count(*) FROM scanned) AS scanned, (SELECT count(*) FROM chosen) AS chosen,
      (
        SELECT contact_id
        FROM scanned
        ORDER BY contact_id DESC
        LIMIT 1
      ) AS last
  )
  UPDATE campaigns
  SET written = written + p.chosen, last_contact_id = coalesce(p.last, last_contact_id), is_written = p.scanned < $6
  FROM progress p
  WHERE id = $1 AND workspace_id = $2
  RETURNING p.chosen::int AS chosen, is_written AS "isWritten"
`

const NIL_UUID = '00000000-0000-0000-0000-000000000000'

/** Writes the next slice under the campaign's lock. A segment deleted since the start matches nobody. */
export async function writeLedger(
  tx: Queryable,
  campaign: LockedCampaign,
): Promise<{ chosen: number; isWritten: boolean }> {
  const { id, workspaceId, audienceIds, startedAt, followsId, testPercent, testMinutes } = campaign
  const filter = await findSegmentFilter(tx, workspaceId, campaign.segmentId)
  const segment =
    filter === null
      ? { sql: 'true', values: [] }
      : compileSegment(filter, { nowMs: startedAt.getTime(), first: FIRST_SEGMENT_PARAMETER })
  const limit = Math.max(MIN_SLICE, Math.floor(MAX_SLICE / Math.max(1, audienceIds.length)))
  const sendTimes = await findSendTimes(tx, campaign, limit)
  const {
    rows: [row],
  } = await tx.query<{ chosen: number; isWritten: boolean }>(ledgerSliceQuery(segment.sql, followsId !== null), [
    id,
    workspaceId,
    audienceIds,
    campaign.lastContactId ?? NIL_UUID,
    startedAt,
    limit,
    campaign.written,
    testPercent,
    testMinutes,
    campaign.sendMode === 'spread' ? campaign.spreadMinutes : null,
    sendTimes,
    followsId,
    ...segment.values,
  ])
  if (row === undefined) throw new Error('the locked campaign was deleted')
  return row
}

/**
 * Send time by zone for one slice, as JSON; the key '' is the campaign's own zone, for contacts without one. Null: all
 * recipients have the same send time.
 */
async function findSendTimes(tx: Queryable, campaign: LockedCampaign, limit: number): Promise<string | null> {
  const { workspaceId, audienceIds, lastContactId, startedAt, sendMode, localTime } = campaign
  if (sendMode !== 'recipient_time' || localTime === null) return null
  const { rows } = await tx.query<{ zone: string }>(FIND_ZONES, [
    workspaceId,
    audienceIds,
    lastContactId ?? NIL_UUID,
    startedAt,
    limit,
  ])
  const own = campaign.timezone ?? 'UTC'
  const sendTimes = instantsByZone(localTime, [own, ...rows.map(({ zone }) => zone)])
  return JSON.stringify({ ...Object.fromEntries(sendTimes), '': sendTimes.get(own) })
}
