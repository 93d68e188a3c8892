/**
 * Enrolments whose time has come, locked, with what is known of their contacts. Workspaces share a slice, and the automations of each share
 * its part, so that a million in one hold up nobody in another; who is locked by another worker is passed over. While the operator has
 * stopped all mail nobody is taken.
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import { CONTACT_FACTS, type ContactFacts } from '#src/contacts/facts.ts'
import { GHOST } from '#src/contacts/orphaned-contacts.ts'
import { prepared, type Queryable, type Statement } from '#src/stores/db.ts'
import { idAt, timeOf } from '#src/platform/id.ts'
import { ALL_STOPPED } from '#src/queue/suspensions.ts'
import { sql } from '#src/stores/sql.ts'
import type { Heard } from './wait-events.ts'
import type { SentMail } from './condition.ts'
import type { Step } from './steps.ts'
import type { TriggerType } from './triggers.ts'
import { NO_MEMBER } from './step-engine.ts'

/** Of one automation, and of all, in one slice: some tenths of a second. */
const EACH = 500
const TOTAL = 1000
/** In one slice: the steps of each are read, up to 2 MB. Of more, others have their turn in the next one. */
const MOST_AUTOMATIONS = 50

export interface DueEnrolment {
  readonly id: string
  readonly automationId: string
  readonly workspaceId: string
  readonly contactId: string
  /** The one it goes on in. */
  readonly version: number
  readonly step: string | null
  readonly properties: Readonly<Record<string, unknown>> | null
  readonly waitsFor: string | null
  readonly heard: readonly Heard[] | null
  readonly troubles: number
  readonly triggerType: TriggerType
  readonly triggerKey: string | null
}

const COLUMNS = sql`
  SELECT e.id, a.id AS "automationId", a.workspace_id AS "workspaceId", e.contact_id AS "contactId",
    greatest(e.version, a.moves_below) AS version, e.step, e.properties, e.waits_for AS "waitsFor", e.heard, e.troubles,
    a.trigger_type AS "triggerType", a.trigger_key AS "triggerKey"
`
const TAKE = prepared(
  'enrolments-take',
  sql`
    WITH ready AS MATERIALIZED (
      SELECT a.*, row_number() OVER (PARTITION BY a.workspace_id ORDER BY random()) AS turn
      FROM automations a
      WHERE a.status = 'active'
        AND NOT ${ALL_STOPPED}
        AND EXISTS (SELECT FROM enrolments d WHERE d.automation_id = a.id AND d.state = 'active' AND d.due_at <= $1)
    ),
    picked AS MATERIALIZED (
      SELECT *
      FROM ready
      ORDER BY turn, random()
      LIMIT ${MOST_AUTOMATIONS}
    ),
    shared AS MATERIALIZED (
      SELECT *,
        least(
          ${EACH}, ${TOTAL} / (count(*) FILTER (WHERE turn = 1) OVER () * count(*) OVER (PARTITION BY workspace_id))
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

/** Inside the transaction that takes them further. */
export async function takeDue(tx: Queryable, now: Date): Promise<DueEnrolment[]> {
  return (await tx.query<DueEnrolment>(TAKE, [now])).rows
}

export type EnrolmentName = Pick<DueEnrolment, 'automationId' | 'id'>

const TAKE_ONE = prepared(
  'enrolments-take-one',
  sql`
    ${COLUMNS}
    FROM enrolments e
    JOIN automations a ON a.id = e.automation_id
    WHERE e.automation_id = $1 AND e.id = $2 AND e.state = 'active' AND e.due_at <= $3 AND a.status = 'active'
    FOR UPDATE OF e SKIP LOCKED
  `,
)

/** One of them alone, where a slice failed. */
export async function takeOne(tx: Queryable, { automationId, id }: EnrolmentName, now: Date): Promise<DueEnrolment[]> {
  return (await tx.query<DueEnrolment>(TAKE_ONE, [automationId, id, now])).rows
}

const HOLD = prepared(
  'automation-hold-contacts',
  'SELECT id FROM contacts WHERE id = ANY ($1) FOR NO KEY UPDATE SKIP LOCKED',
)
const THERE = prepared('automation-contacts-there', 'SELECT id FROM contacts WHERE id = ANY ($1)')

/**
 * Locks the contacts that may be changed; answers all but those whose contact somebody else is changing or deleting, who have their turn
 * later. Nobody is waited for: who deletes a contact waits for its enrolments, which are ours.
 */
export async function holdContacts(
  tx: Queryable,
  due: readonly DueEnrolment[],
  isChanging: (enrolment: DueEnrolment) => boolean,
): Promise<readonly DueEnrolment[]> {
  const wanted = [...new Set(due.filter(isChanging).map(({ contactId }) => contactId))]
  if (wanted.length === 0) return due
  const held = new Set(await idsOf(tx, HOLD, wanted))
  const others = wanted.filter((id) => !held.has(id))
  const busy = new Set(others.length === 0 ? [] : await idsOf(tx, THERE, others))
  return due.filter((one) => !busy.has(one.contactId) || !isChanging(one))
}

async function idsOf(tx: Queryable, statement: Statement, wanted: readonly string[]): Promise<string[]> {
  return (await tx.query<{ id: string }>(statement, [wanted])).rows.map(({ id }) => id)
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
    WHERE a.status = 'active' AND NOT ${ALL_STOPPED}
  `,
)

/** When the next one is due, or the members of an audience are to begin; null: nobody is in an active automation, or all is stopped. */
export async function findNextDue(db: Queryable): Promise<Date | null> {
  const { rows } = await db.query<{ at: Date | null }>(NEXT)
  return rows[0]?.at ?? null
}

const JOINED = prepared(
  'automations-joined',
  sql`
    SELECT DISTINCT workspace_id AS id
    FROM automations
    WHERE status = 'active' AND trigger_type = 'contact_added_to_audience'
  `,
)

/** Workspaces where joining an audience begins an automation. */
export async function listJoined(db: Queryable): Promise<Set<string>> {
  const { rows } = await db.query<{ id: string }>(JOINED)
  return new Set(rows.map(({ id }) => id))
}

export interface ContactNow extends ContactFacts {
  /** Why it wants no mail of this automation, for people; null: it does. */
  readonly refusal: string | null
}

type Whose = Pick<DueEnrolment, 'workspaceId' | 'contactId' | 'triggerType' | 'triggerKey'>

/** A trigger by an audience: who leaves the audience gets no more of what joining it began. */
const CONTACTS = prepared(
  'enrolments-contacts',
  sql`
    SELECT i.ord::int AS ord, ${CONTACT_FACTS},
      CASE
        WHEN c.opted_out_at IS NOT NULL THEN 'the contact takes no mail any more'
        WHEN i.audience_id IS NOT NULL AND m.contact_id IS NULL THEN '${NO_MEMBER}'
      END AS refusal
    FROM unnest($1::uuid[], $2::uuid[], $3::uuid[]) WITH ORDINALITY AS i (workspace_id, contact_id, audience_id, ord)
    JOIN contacts c ON c.id = i.contact_id AND c.workspace_id = i.workspace_id AND NOT ${GHOST}
    LEFT JOIN memberships m ON m.audience_id = i.audience_id AND m.contact_id = i.contact_id AND m.is_subscribed
  `,
)

/** By their place in the list; one that was deleted meanwhile is missing. */
export async function loadContactsOf(tx: Queryable, due: readonly Whose[]): Promise<Map<number, ContactNow>> {
  const { rows } = await tx.query<ContactNow & { ord: number }>(
    CONTACTS,
    columnsOf(due, [(one) => one.workspaceId, (one) => one.contactId, (one) => audienceOf(one)]),
  )
  return new Map(rows.map((row) => [row.ord - 1, row]))
}

/** The audience whose membership the mails depend on. */
export function audienceOf({
  triggerType,
  triggerKey,
}: Pick<DueEnrolment, 'triggerType' | 'triggerKey'>): string | null {
  return triggerType === 'contact_event' ? null : triggerKey
}

// one look at the events of a mail, by the mail; what came before the enrolment is in partitions that need not be looked at
const MAILS = prepared(
  'enrolments-mails',
  sql`
    SELECT k.enrolment_id AS "enrolmentId", k.step, coalesce(f.opened, false) AS "isOpened",
      coalesce(f.clicked, false) AS "isClicked"
    FROM unnest($1::uuid[], $2::uuid[]) AS i (enrolment_id, since)
    JOIN automation_mails k ON k.enrolment_id = i.enrolment_id
    CROSS JOIN LATERAL (
      SELECT bool_or(e.type IN ('email.opened', 'email.clicked')) AS opened,
        bool_or(e.type = 'email.clicked') AS clicked
      FROM events e
      WHERE e.message_id = k.message_id AND e.id >= i.since AND (e.data -> 'machine') IS DISTINCT FROM 'true'::jsonb
    ) f
    ORDER BY k.enrolment_id, k.message_id
  `,
)
/** Clocks may differ by so much. */
const MOST_APART_MS = 3_600_000

/** What each was sent, by enrolment. A click is an opening too: many read without loading pictures. */
export async function loadMailsOf(tx: Queryable, enrolmentIds: readonly string[]): Promise<Map<string, SentMail[]>> {
  const found = new Map<string, SentMail[]>()
  if (enrolmentIds.length === 0) return found
  const { rows } = await tx.query<SentMail & { enrolmentId: string }>(
    MAILS,
    columnsOf(enrolmentIds, [(id) => id, (id) => idAt(timeOf(id) - MOST_APART_MS)]),
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
  wanted: readonly Pick<VersionSteps, 'automationId' | 'version'>[],
): Promise<VersionSteps[]> {
  if (wanted.length === 0) return []
  return (await tx.query<VersionSteps>(STEPS, columnsOf(wanted, [(one) => one.automationId, (one) => one.version])))
    .rows
}
