/**
 * Contacts come into automations and leave them. Enrolling is one statement: who is in already is skipped by the unique index on active
 * enrolments, so that any number of calls at once enrol a contact exactly once; who has ended may begin again. The contact is locked
 * against deletion while it is enrolled. No counter and no row of the automation is written, so events never wait for each other.
 * When an answer is given, the enrolment is committed and due.
 */
import { jsonOrNull } from '#src/stores/column-arrays.ts'
import { GHOST } from '#src/contacts/orphaned-contacts.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { readPage, type Page, type PageWish } from '#src/stores/page.ts'
import { sql } from '#src/stores/sql.ts'
import { MOST_HEARD, type Properties as EventProperties } from './wait-events.ts'
import type { EnrolmentState, Status } from './state.ts'

/** A contact of a workspace; the address in lower case. */
export interface Person {
  readonly workspaceId: string
  readonly email: string
}

/** What a template may read as `{{event.<name>}}`. */
export type Properties = EventProperties | null

// one of date_time begins at its moment, any other now
const enrolWhere = (which: string, beside = ''): string => sql`
  WITH person AS (
    SELECT c.id
    FROM contacts c
    WHERE c.workspace_id = $1 AND c.email = $2 AND NOT ${GHOST}
    FOR KEY SHARE OF c
  )${beside}
  INSERT INTO enrolments (automation_id, version, workspace_id, contact_id, step, properties, due_at, created_at)
  SELECT a.id, a.version, a.workspace_id, p.id, v.first_step, $3::jsonb, greatest($4, a.starts_at), $4
  FROM person p, automations a
  JOIN automation_versions v ON v.automation_id = a.id AND v.version = a.version
  WHERE a.workspace_id = $1 AND a.status = 'active' AND ${which}
  ORDER BY a.id
  ON CONFLICT (automation_id, contact_id) WHERE state = 'active' DO NOTHING
`

/**
 * Who waits for it goes on now. Who is on the way to its next step, or held at it, keeps it in mind: that step may be the one that waits
 * for it. In the statement that enrols: what an event begins has not waited for it, and an event is met once or not at all.
 */
const MEET = sql`
  met AS (
    UPDATE enrolments e
    SET due_at = CASE WHEN e.waits_for = $5 THEN least(e.due_at, $4) ELSE e.due_at END,
      heard = coalesce(e.heard, '[]')
        || jsonb_build_array(jsonb_build_object('name', $5::text, 'properties', $3::jsonb))
    FROM person p
    WHERE e.contact_id = p.id
      AND e.workspace_id = $1
      AND e.state = 'active'
      AND (
        e.waits_for = $5 AND NOT coalesce(e.heard, '[]') @> jsonb_build_array(jsonb_build_object('name', $5::text))
        OR (e.due_at <= $4 OR e.reason IS NOT NULL) AND jsonb_array_length(coalesce(e.heard, '[]')) < ${MOST_HEARD}
      )
  )
`

const TRACK = prepared(
  'enrolments-track',
  enrolWhere(`a.trigger_type = 'contact_event' AND a.trigger_key = $5`, `, ${MEET}`),
)
const ENROL = prepared('enrolments-enrol', enrolWhere('a.id = $5::uuid'))

/**
 * An event of a contact: how many automations it began; those in which the contact waits for it go on. An unknown contact begins none.
 */
export async function trackEvent(
  db: Queryable,
  { workspaceId, email }: Person,
  { name, properties }: { readonly name: string; readonly properties: Properties },
  now: Date,
): Promise<number> {
  const { rowCount } = await db.query(TRACK, [workspaceId, email, jsonOrNull(properties), now, name])
  return rowCount ?? 0
}

export type Enrolled =
  | { readonly kind: 'enrolled' | 'already' | 'no-contact' | 'no-automation' }
  | { readonly kind: 'not-active'; readonly status: Status }

/** Enrols a contact by hand, whatever the trigger is. */
export async function enrolContact(
  db: Queryable,
  { workspaceId, email }: Person,
  { automationId, properties }: { readonly automationId: string; readonly properties: Properties },
  now: Date,
): Promise<Enrolled> {
  const { rowCount } = await db.query(ENROL, [workspaceId, email, jsonOrNull(properties), now, automationId])
  return rowCount === 1 ? { kind: 'enrolled' } : explain(db, { workspaceId, email }, automationId)
}

async function explain(db: Queryable, { workspaceId, email }: Person, automationId: string): Promise<Enrolled> {
  const {
    rows: [row],
  } = await db.query<{ status: Status | null; isKnown: boolean }>(
    sql`
      SELECT (SELECT status FROM automations WHERE workspace_id = $1 AND id = $2) AS status,
        EXISTS (SELECT 1 FROM contacts c WHERE c.workspace_id = $1 AND c.email = $3 AND NOT ${GHOST}) AS "isKnown"
    `,
    [workspaceId, automationId, email],
  )
  const status = row?.status ?? null
  if (status === null) return { kind: 'no-automation' }
  if (status !== 'active') return { kind: 'not-active', status }
  return { kind: row?.isKnown === true ? 'already' : 'no-contact' }
}

/** Takes a contact out of an automation. False when it is not in it. */
export async function unenrolContact(
  db: Queryable,
  { workspaceId, email }: Person,
  automationId: string,
  now: Date,
): Promise<boolean> {
  const { rowCount } = await db.query(
    sql`
      UPDATE enrolments
      SET state = 'exited', reason = 'unenrolled', ended_at = $4, step = NULL
      WHERE workspace_id = $1
        AND automation_id = $3
        AND state = 'active'
        AND contact_id = (SELECT id FROM contacts WHERE workspace_id = $1 AND email = $2)
    `,
    [workspaceId, email, automationId, now],
  )
  return rowCount === 1
}

export interface Enrolment {
  readonly id: string
  readonly contactId: string
  readonly email: string
  readonly state: EnrolmentState
  readonly version: number
  /** Id of the step that is next. */
  readonly step: string | null
  readonly dueAt: Date
  readonly reason: string | null
  readonly createdAt: Date
  readonly endedAt: Date | null
}

/** Who is or was in an automation, the newest first, of one state or (null) of all. */
export function listEnrolments(
  db: Queryable,
  automationId: string,
  wish: PageWish & { readonly state: EnrolmentState | null },
): Promise<Page<Enrolment>> {
  return readPage(
    db,
    {
      columns: sql`
        e.id, e.contact_id AS "contactId", c.email, e.state, e.version, e.step, e.due_at AS "dueAt", e.reason,
        e.created_at AS "createdAt", e.ended_at AS "endedAt"
      `,
      from: 'enrolments e',
      joins: 'JOIN contacts c ON c.id = e.contact_id',
      where: 'e.automation_id = $1 AND ($2::text IS NULL OR e.state = $2)',
      order: 'e.id DESC',
      values: [automationId, wish.state],
    },
    wish,
  )
}
