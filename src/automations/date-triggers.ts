/**
 * Enrols the members of an audience when the start time of a date_time automation comes, one slice at a time. All due
 * automations share a slice, so a large audience does not delay others. The same statement stores the progress in the
 * automation's row, and row locks keep two workers from enrolling for the same automation at once.
 */
import type { Context } from '#src/context.ts'
import { prepared } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'

const MAX_MEMBERS = 2000
const MAX_AUTOMATIONS = 50
const ENROL_MEMBERS = prepared(
  'automation-enrol-members',
  sql`
    WITH due AS MATERIALIZED (
      SELECT a.id, a.workspace_id, a.version, a.trigger_key::uuid AS audience_id, a.enrolled_to, v.first_step
      FROM automations a
      JOIN automation_versions v ON v.automation_id = a.id AND v.version = a.version
      WHERE a.status = 'active'
        AND a.trigger_type = 'date_time'
        AND a.trigger_key IS NOT NULL
        AND NOT a.is_enrolled
        AND a.starts_at <= $1
      ORDER BY random()
      LIMIT ${MAX_AUTOMATIONS}
      FOR UPDATE OF a SKIP LOCKED
    ),
    members AS MATERIALIZED (
      SELECT w.id, m.contact_id
      FROM due w
      CROSS JOIN LATERAL (
        SELECT contact_id
        FROM memberships
        WHERE audience_id = w.audience_id
          AND is_subscribed
          AND contact_id > coalesce(w.enrolled_to, '00000000-0000-0000-0000-000000000000')
        ORDER BY contact_id
        LIMIT (SELECT ${MAX_MEMBERS} / count(*) FROM due)
      ) m
    ),
    begun AS (
      INSERT INTO enrolments (automation_id, version, workspace_id, contact_id, step, due_at, created_at)
      SELECT w.id, w.version, w.workspace_id, c.id, w.first_step, $1, $1
      FROM members m
      JOIN due w ON w.id = m.id
      JOIN contacts c ON c.id = m.contact_id
      ORDER BY w.id, c.id
      FOR KEY SHARE OF c
      ON CONFLICT (automation_id, contact_id) WHERE state = 'active' DO NOTHING
    ),
    reached AS MATERIALIZED (
      SELECT w.id, count(m.contact_id) AS n, (array_agg(m.contact_id ORDER BY m.contact_id DESC))[1] AS last
      FROM due w
      LEFT JOIN members m ON m.id = w.id
      GROUP BY w.id
    )
    UPDATE automations a
    SET is_enrolled = r.n < (SELECT ${MAX_MEMBERS} / count(*) FROM due),
      enrolled_to = coalesce(r.last, a.enrolled_to)
    FROM reached r
    WHERE a.id = r.id
  `,
)

/** Enrols one slice. Returns true if there may be more. */
export async function enrolAudienceMembers({ db, clock }: Pick<Context, 'db' | 'clock'>): Promise<boolean> {
  const { rowCount } = await db.query(ENROL_MEMBERS, [new Date(clock.now())])
  return (rowCount ?? 0) > 0
}
