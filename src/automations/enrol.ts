/**
 * Enrols contacts in automations and removes them. Enrolling is one statement: the unique index on active enrolments
 * skips contacts that are already enrolled, so any number of concurrent calls enrol a contact exactly once, and a
 * contact that finished can be enrolled again. The contact is locked against deletion while it is enrolled. No counter
 * and no automation row is written, so events never wait for each other. When the call returns, the enrolment is
 * committed and due.
 */
import { jsonOrNull } from '#src/stores/column-arrays.ts'
import { IS_ORPHANED } from '#src/contacts/orphaned-contacts.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { newestFirst, readPage, type Page, type PageRequest } from '#src/stores/page.ts'
import { sql } from '#src/stores/sql.ts'
import { MAX_RECEIVED_EVENTS, type EventProperties } from './wait-events.ts'
import type { EnrolmentState, Status } from './state.ts'

/** A contact of a workspace; the address is in lower case. */
export interface ContactRef {
  readonly workspaceId: string
  readonly email: string
}

/** Event properties, available to templates as `{{event.<name>}}`. */
export type EnrolmentProperties = EventProperties | null

// an enrolment in a date_time automation starts at its start time, any other now
const enrolQuery = (which: string, beside = ''): string => sql`
  WITH person AS (
    SELECT c.id
    FROM contacts c
    WHERE c.workspace_id = $1 AND c.email = $2 AND NOT ${IS_ORPHANED}
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
 * Records an event for the contact's enrolments. An enrolment that waits for the event continues now. One that is due,
 * or held at a step, keeps the event in case its next step waits for it. This runs in the statement that enrols, so an
 * event never ends a wait in an enrolment that it started itself, and it is recorded once or not at all.
 */
const RECORD_EVENT = sql`
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
        OR (e.due_at <= $4 OR e.reason IS NOT NULL)
          AND jsonb_array_length(coalesce(e.heard, '[]')) < ${MAX_RECEIVED_EVENTS}
      )
  )
`

const TRACK = prepared(
  'enrolments-track',
  enrolQuery(`a.trigger_type = 'contact_event' AND a.trigger_key = $5`, `, ${RECORD_EVENT}`),
)
const ENROL = prepared('enrolments-enrol', enrolQuery('a.id = $5::uuid'))

/**
 * Records an event of a contact. Returns the number of automations it started; enrolments that wait for the event
 * continue. An event of an unknown contact starts none.
 */
export async function trackEvent(
  db: Queryable,
  { workspaceId, email }: ContactRef,
  { name, properties }: { readonly name: string; readonly properties: EnrolmentProperties },
  now: Date,
): Promise<number> {
  const { rowCount } = await db.query(TRACK, [workspaceId, email, jsonOrNull(properties), now, name])
  return rowCount ?? 0
}

export type EnrolResult =
  | { readonly kind: 'enrolled' | 'already' | 'no-contact' | 'no-automation' }
  | { readonly kind: 'not-active'; readonly status: Status }

/** Enrols a contact explicitly, whatever the trigger is. */
export async function enrolContact(
  db: Queryable,
  { workspaceId, email }: ContactRef,
  { automationId, properties }: { readonly automationId: string; readonly properties: EnrolmentProperties },
  now: Date,
): Promise<EnrolResult> {
  const { rowCount } = await db.query(ENROL, [workspaceId, email, jsonOrNull(properties), now, automationId])
  return rowCount === 1 ? { kind: 'enrolled' } : explainNotEnrolled(db, { workspaceId, email }, automationId)
}

async function explainNotEnrolled(
  db: Queryable,
  { workspaceId, email }: ContactRef,
  automationId: string,
): Promise<EnrolResult> {
  const {
    rows: [row],
  } = await db.query<{ status: Status | null; isKnown: boolean }>(
    sql`
      SELECT (SELECT status FROM automations WHERE workspace_id = $1 AND id = $2) AS status,
        EXISTS (SELECT 1 FROM contacts c WHERE c.workspace_id = $1 AND c.email = $3 AND NOT ${IS_ORPHANED}) AS "isKnown"
    `,
    [workspaceId, automationId, email],
  )
  const status = row?.status ?? null
  if (status === null) return { kind: 'no-automation' }
  if (status !== 'active') return { kind: 'not-active', status }
  return { kind: row?.isKnown === true ? 'already' : 'no-contact' }
}

/** Removes a contact from an automation. Returns false if it is not enrolled. */
export async function unenrolContact(
  db: Queryable,
  { workspaceId, email }: ContactRef,
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
  /** Id of the next step. */
  readonly step: string | null
  readonly dueAt: Date
  readonly reason: string | null
  readonly createdAt: Date
  readonly endedAt: Date | null
}

/** Lists current and past enrolments, newest first; `state: null` means any state. */
export function listEnrolments(
  db: Queryable,
  automationId: string,
  page: PageRequest & { readonly state: EnrolmentState | null },
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
      order: newestFirst('e.id'),
      values: [automationId, page.state],
    },
    page,
  )
}
