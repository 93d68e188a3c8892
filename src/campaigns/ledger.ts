/**
 * Writes a campaign's ledger: one row for each contact that is to get it, in the order of their ids, a slice at a time, by one statement
 * that also notes how far it came. It is decided by how things were when the campaign started, so a slice that is written again writes
 * the same. Who gets it: a subscribed member of one of the audiences, once, who wants mail at all,
 * is on no suppression list and in the segment if there is one. Of a test and a spread together, those of the test are due at once, and the
 * rest is spread from the moment on at which the test is over.
 */
import type { Queryable } from '#src/stores/db.ts'
import { compileSegment } from '#src/segments/compile.ts'
import { sql } from '#src/stores/sql.ts'
import type { Running } from './running.ts'
import { findFilter } from './selection.ts'
import { EVENLY, momentsByZone } from './send-times.ts'

/** Members that one slice looks at: a second's work at most, and a pause comes between two of them. */
const SLICE = 10_000
/** With many audiences each is walked for itself. */
const LEAST_SLICE = 500

/** As parameters of the statement below, after its ten. */
const FIRST_OF_SEGMENT = 13

/** The clocks of two machines differ by so much: whom one of them added must not be missed by a start on another. */
const CLOCKS_APART = `interval '5 seconds'`

/** Members that the slice looks at, each once. Parameters: workspace, audiences, the contact before, the start, how many. */
const scanText = ([workspace, audiences, after, start, limit]: readonly [
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
      AND created_at <= ${start}::timestamptz + ${CLOCKS_APART}
    ORDER BY contact_id
    LIMIT ${limit}
  ) m
  ORDER BY m.contact_id, a.place
  LIMIT ${limit}
`

/** The zones that those have, each as it is written: there are more names than any list of zones has. */
const ZONES = sql`
  SELECT DISTINCT c.timezone AS zone
  FROM (
    ${scanText(['$1', '$2', '$3', '$4', '$5'])}
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

const sliceText = (segment: string, follows: boolean): string => sql`
  WITH scanned AS MATERIALIZED (
    ${scanText(['$2', '$3', '$4', '$5', '$6'])}
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
                + coalesce($10::int, 0) * (place * ${EVENLY}::float8 - floor(place * ${EVENLY}::float8))
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

const NOBODY = '00000000-0000-0000-0000-000000000000'

/** Under the campaign's lock. A segment that was deleted since the start is one that nobody is in. */
export async function writeLedger(tx: Queryable, campaign: Running): Promise<{ chosen: number; isWritten: boolean }> {
  const { id, workspaceId, audienceIds, startedAt, followsId, testPercent, testMinutes } = campaign
  const filter = await findFilter(tx, workspaceId, campaign.segmentId)
  const segment =
    filter === null
      ? { sql: 'true', values: [] }
      : compileSegment(filter, { nowMs: startedAt.getTime(), first: FIRST_OF_SEGMENT })
  const limit = Math.max(LEAST_SLICE, Math.floor(SLICE / Math.max(1, audienceIds.length)))
  const moments = await findMoments(tx, campaign, limit)
  const {
    rows: [row],
  } = await tx.query<{ chosen: number; isWritten: boolean }>(sliceText(segment.sql, followsId !== null), [
    id,
    workspaceId,
    audienceIds,
    campaign.lastContactId ?? NOBODY,
    startedAt,
    limit,
    campaign.written,
    testPercent,
    testMinutes,
    campaign.sendMode === 'spread' ? campaign.spreadMinutes : null,
    moments,
    followsId,
    ...segment.values,
  ])
  if (row === undefined) throw new Error('the campaign is gone from under its lock')
  return row
}

/** Of the zones in a slice, for PostgreSQL; '' is the campaign's own zone, for contacts that name none. Null: the same moment for all. */
async function findMoments(tx: Queryable, campaign: Running, limit: number): Promise<string | null> {
  const { workspaceId, audienceIds, lastContactId, startedAt, sendMode, localTime } = campaign
  if (sendMode !== 'recipient_time' || localTime === null) return null
  const { rows } = await tx.query<{ zone: string }>(ZONES, [
    workspaceId,
    audienceIds,
    lastContactId ?? NOBODY,
    startedAt,
    limit,
  ])
  const own = campaign.timezone ?? 'UTC'
  const moments = momentsByZone(localTime, [own, ...rows.map(({ zone }) => zone)])
  return JSON.stringify({ ...Object.fromEntries(moments), '': moments.get(own) })
}
