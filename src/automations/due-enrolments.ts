/**
 * Claims due enrolments with row locks and loads the data of their contacts. Workspaces share a slice equally, and so
 * do the automations within a workspace, so a million enrolments in one automation do not delay another workspace.
 * Enrolments locked by another worker are skipped. While the operator suspends all mail, nothing is claimed.
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import { CONTACT_COLUMNS, type ContactFields } from '#src/contacts/contact-fields.ts'
import { IS_ORPHANED } from '#src/contacts/orphaned-contacts.ts'
import { prepared, type Queryable, type Statement } from '#src/stores/db.ts'
import { idAt, timeOf } from '#src/platform/id.ts'
import { ALL_SUSPENDED } from '#src/queue/suspensions.ts'
import { sql } from '#src/stores/sql.ts'
import { weekly } from '#src/stores/weeks.ts'
import type { ReceivedEvent } from './wait-events.ts'
import type { SentMail } from './condition.ts'
import type { Step } from './steps.ts'
import type { TriggerType } from './triggers.ts'
import { NOT_SUBSCRIBED } from './step-engine.ts'

/** Maximum enrolments per automation and per slice; a slice takes some tenths of a second. */
const MAX_PER_AUTOMATION = 500
const MAX_PER_SLICE = 1000
/**
 * Maximum automations per slice, because the steps of each (up to 2 MB) are loaded. The others follow in the next
 * slice.
 */
const MAX_AUTOMATIONS = 50

export interface DueEnrolment {
  readonly id: string
  readonly automationId: string
  readonly workspaceId: string
  readonly contactId: string
  /** The version in which the enrolment continues. */
  readonly version: number
  readonly step: string | null
  readonly properties: Readonly<Record<string, unknown>> | null
  readonly waitsFor: string | null
  readonly receivedEvents: readonly ReceivedEvent[] | null
  readonly failures: number
  readonly triggerType: TriggerType
  readonly triggerKey: string | null
}

const COLUMNS = sql`
  SELECT e.id, a.id AS "automationId", a.workspace_id AS "workspaceId", e.contact_id AS "contactId",
    greatest(e.version, a.moves_below) AS version, e.step, e.properties, e.waits_for AS "waitsFor",
    e.heard AS "receivedEvents", e.troubles AS failures,
    a.trigger_type AS "triggerType", a.trigger_key AS "triggerKey"
`
const CLAIM_DUE = prepared(
  'enrolments-claim',
  sql`
    WITH ready AS MATERIALIZED (
      SELECT a.*, row_number() OVER (PARTITION BY a.workspace_id ORDER BY random()) AS turn
      FROM automations a
      WHERE a.status = 'active'
        AND NOT ${ALL_SUSPENDED}
        AND EXISTS (SELECT FROM enrolments d WHERE d.automation_id = a.id AND d.state = 'active' AND d.due_at <= $1)
    ),
    picked AS MATERIALIZED (
      SELECT *
      FROM ready
      ORDER BY turn, random()
      LIMIT ${MAX_AUTOMATIONS}
    ),
    shared AS MATERIALIZED (
      SELECT *,
        least(
          ${MAX_PER_AUTOMATION},
          ${MAX_PER_SLICE} / (count(*) FILTER (WHERE turn = 1) OVER () * count(*) OVER (PARTITION BY workspace_id))
        ) AS room
      FROM picked
    )
    ${COLUMNS}
    FROM shared a
    CROSS JOIN LATERAL (
      SELECT *
      FROM enrolments
      WHERE automation_id = a.id AND state = 'active' AND due_at <= $1
      ORDER BY due_at
      LIMIT greatest(1, a.room)
      FOR UPDATE SKIP LOCKED
    ) e
    ORDER BY a.id, e.due_at, e.id
  `,
)

/** Claims due enrolments in the transaction that advances them. */
export async function claimDueEnrolments(tx: Queryable, now: Date): Promise<DueEnrolment[]> {
  return (await tx.query<DueEnrolment>(CLAIM_DUE, [now])).rows
}

export type EnrolmentKey = Pick<DueEnrolment, 'automationId' | 'id'>

const CLAIM_ONE = prepared(
  'enrolments-claim-one',
  sql`
    ${COLUMNS}
    FROM enrolments e
    JOIN automations a ON a.id = e.automation_id
    WHERE e.automation_id = $1 AND e.id = $2 AND e.state = 'active' AND e.due_at <= $3 AND a.status = 'active'
    FOR UPDATE OF e SKIP LOCKED
  `,
)

/** Claims a single enrolment, after a slice failed. */
export async function claimEnrolment(
  tx: Queryable,
  { automationId, id }: EnrolmentKey,
  now: Date,
): Promise<DueEnrolment[]> {
  return (await tx.query<DueEnrolment>(CLAIM_ONE, [automationId, id, now])).rows
}

const LOCK_CONTACTS = prepared(
  'automation-lock-contacts',
  'SELECT id FROM contacts WHERE id = ANY ($1) FOR NO KEY UPDATE SKIP LOCKED',
)
const FIND_CONTACTS = prepared('automation-find-contacts', 'SELECT id FROM contacts WHERE id = ANY ($1)')

/**
 * Locks the contacts that may be changed. Returns the enrolments without those whose contact another transaction is
 * changing or deleting; they are due again later. It never waits for a lock, because a transaction that deletes a
 * contact may already wait for these enrolments.
 */
export async function lockContacts(
  tx: Queryable,
  due: readonly DueEnrolment[],
  isChanging: (enrolment: DueEnrolment) => boolean,
): Promise<readonly DueEnrolment[]> {
  const contactIds = [...new Set(due.filter(isChanging).map(({ contactId }) => contactId))]
  if (contactIds.length === 0) return due
  const locked = new Set(await selectIds(tx, LOCK_CONTACTS, contactIds))
  const notLocked = contactIds.filter((id) => !locked.has(id))
  const lockedByOthers = new Set(notLocked.length === 0 ? [] : await selectIds(tx, FIND_CONTACTS, notLocked))
  return due.filter((one) => !lockedByOthers.has(one.contactId) || !isChanging(one))
}

async function selectIds(tx: Queryable, statement: Statement, ids: readonly string[]): Promise<string[]> {
  return (await tx.query<{ id: string }>(statement, [ids])).rows.map(({ id }) => id)
}

const NEXT = prepared(
  'enrolments-next',
  sql`
    SELECT least(
      min(e.due_at), min(CASE WHEN a.trigger_key IS NOT NULL AND NOT a.is_enrolled THEN a.starts_at END)
    ) AS at
    FROM automations a
    LEFT JOIN LATERAL (
      SELECT due_at
      FROM enrolments
      WHERE automation_id = a.id AND state = 'active'
      ORDER BY due_at
      LIMIT 1
    ) e ON true
    WHERE a.status = 'active' AND NOT ${ALL_SUSPENDED}
  `,
)

/**
 * When the next enrolment is due or an audience must be enrolled; null if no active automation has work, or all mail is
 * suspended.
 */
export async function findNextDue(db: Queryable): Promise<Date | null> {
  const { rows } = await db.query<{ at: Date | null }>(NEXT)
  return rows[0]?.at ?? null
}

const FIND_AUDIENCE_TRIGGERS = prepared(
  'automations-joined',
  sql`
    SELECT DISTINCT workspace_id AS id
    FROM automations
    WHERE status = 'active' AND trigger_type = 'contact_added_to_audience'
  `,
)

/** Workspaces with an active automation that starts when a contact joins an audience. */
export async function listWorkspacesWithAudienceTriggers(db: Queryable): Promise<Set<string>> {
  const { rows } = await db.query<{ id: string }>(FIND_AUDIENCE_TRIGGERS)
  return new Set(rows.map(({ id }) => id))
}

export interface EnrolledContact extends ContactFields {
  /** Why the contact gets no messages of this automation, as text; null if it does. */
  readonly refusal: string | null
}

type ContactLookup = Pick<DueEnrolment, 'workspaceId' | 'contactId' | 'triggerType' | 'triggerKey'>

/** With an audience trigger, a contact that leaves the audience gets no further messages. */
const CONTACTS = prepared(
  'enrolments-contacts',
  sql`
    SELECT i.ord::int AS ord, ${CONTACT_COLUMNS},
      CASE
        WHEN c.opted_out_at IS NOT NULL THEN 'the contact opted out of all messages'
        WHEN i.audience_id IS NOT NULL AND m.contact_id IS NULL THEN '${NOT_SUBSCRIBED}'
      END AS refusal
    FROM unnest($1::uuid[], $2::uuid[], $3::uuid[]) WITH ORDINALITY AS i (workspace_id, contact_id, audience_id, ord)
    JOIN contacts c ON c.id = i.contact_id AND c.workspace_id = i.workspace_id AND NOT ${IS_ORPHANED}
    LEFT JOIN memberships m ON m.audience_id = i.audience_id AND m.contact_id = i.contact_id AND m.is_subscribed
  `,
)

/** Contacts by index in `due`; deleted contacts are missing. */
export async function loadContacts(
  tx: Queryable,
  due: readonly ContactLookup[],
): Promise<Map<number, EnrolledContact>> {
  const { rows } = await tx.query<EnrolledContact & { ord: number }>(
    CONTACTS,
    columnsOf(due, [(one) => one.workspaceId, (one) => one.contactId, (one) => audienceOf(one)]),
  )
  return new Map(rows.map((row) => [row.ord - 1, row]))
}

/** The audience that a contact must be in to get the messages; null for event triggers. */
export function audienceOf({
  triggerType,
  triggerKey,
}: Pick<DueEnrolment, 'triggerType' | 'triggerKey'>): string | null {
  return triggerType === 'contact_event' ? null : triggerKey
}

// Reads the events once per message; `since` excludes the partitions from before the enrolment.
const MAILS = weekly(
  'enrolments-mails',
  (weeks) => sql`
    SELECT k.enrolment_id AS "enrolmentId", k.step, coalesce(f.opened, false) AS "isOpened",
      coalesce(f.clicked, false) AS "isClicked"
    FROM unnest($1::uuid[], $2::uuid[]) AS i (enrolment_id, since)
    JOIN automation_mails k ON k.enrolment_id = i.enrolment_id
    CROSS JOIN LATERAL (
      SELECT bool_or(e.type IN ('email.opened', 'email.clicked')) AS opened,
        bool_or(e.type = 'email.clicked') AS clicked
      FROM events e
      WHERE e.message_id = k.message_id
        AND e.id >= i.since
        AND ${weeks.precede('e.id')}
        AND (e.data -> 'machine') IS DISTINCT FROM 'true'::jsonb
    ) f
    ORDER BY k.enrolment_id, k.message_id
  `,
)
/** Allowed clock difference between machines. */
const MAX_CLOCK_SKEW_MS = 3_600_000

/** Messages sent by each enrolment. A click counts as an open, because many mail programs load no images. */
export async function loadSentMails(tx: Queryable, enrolmentIds: readonly string[]): Promise<Map<string, SentMail[]>> {
  const found = new Map<string, SentMail[]>()
  if (enrolmentIds.length === 0) return found
  const { rows } = await tx.query<SentMail & { enrolmentId: string }>(
    MAILS.for(enrolmentIds),
    columnsOf(enrolmentIds, [(id) => id, (id) => idAt(timeOf(id) - MAX_CLOCK_SKEW_MS)]),
  )
  for (const { enrolmentId, ...mail } of rows) found.set(enrolmentId, [...(found.get(enrolmentId) ?? []), mail])
  return found
}

const STEPS = prepared(
  'automation-steps',
  sql`
    SELECT i.automation_id AS "automationId", i.version, v.steps
    FROM unnest($1::uuid[], $2::int[]) AS i (automation_id, version)
    JOIN automation_versions v USING (automation_id, version)
  `,
)

export interface VersionSteps {
  readonly automationId: string
  readonly version: number
  readonly steps: readonly Step[]
}

export async function loadSteps(
  tx: Queryable,
  versions: readonly Pick<VersionSteps, 'automationId' | 'version'>[],
): Promise<VersionSteps[]> {
  if (versions.length === 0) return []
  return (await tx.query<VersionSteps>(STEPS, columnsOf(versions, [(one) => one.automationId, (one) => one.version])))
    .rows
}
