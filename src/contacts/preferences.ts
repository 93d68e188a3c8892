/**
 * What a person chooses on the preference page: from which audiences they get mail, and whether from any at all. Only
 * audiences that the contact is a member of can be chosen; nobody joins a new audience this way. The contact is locked,
 * so two changes run one after the other. Each change stores its event in the same transaction. A choice that is
 * already in force changes nothing.
 */
import { prepared, type Queryable } from '#src/stores/db.ts'
import type { CommitNotifications } from '#src/queue/notifications.ts'
import { raiseEvents } from '#src/events/raise.ts'
import { sql } from '#src/stores/sql.ts'
import type { AudienceTarget } from './audiences.ts'
import { contactEvent } from './contact-events.ts'
import { IS_ORPHANED } from './orphaned-contacts.ts'
import type { LockedContact } from './membership.ts'

export interface Preference {
  readonly audienceId: string
  readonly name: string
  readonly isSubscribed: boolean
}

const LIST_PREFERENCES = prepared(
  'contact-preferences',
  sql`
    SELECT a.id AS "audienceId", a.name, m.is_subscribed AS "isSubscribed"
    FROM memberships m
    JOIN audiences a ON a.id = m.audience_id AND a.workspace_id = $1
    WHERE m.contact_id = $2 AND a.deleted_at IS NULL
    ORDER BY lower(a.name), a.id
    LIMIT $3
  `,
)

/** Ordered by name. */
export async function listPreferences(
  db: Queryable,
  { workspaceId, contactId }: ContactRef,
  limit: number,
): Promise<Preference[]> {
  return (await db.query<Preference>(LIST_PREFERENCES, [workspaceId, contactId, limit])).rows
}

interface ContactRef {
  readonly workspaceId: string
  readonly contactId: string
}

export interface PreferenceContact extends LockedContact {
  readonly workspaceId: string
  /** The contact opted out of all campaigns and automations. */
  readonly isOptedOut: boolean
  /** As its attribute `language` says. */
  readonly language: string | null
}

const COLUMNS =
  'c.workspace_id AS "workspaceId", c.id AS "contactId", c.email, c.opted_out_at IS NOT NULL AS "isOptedOut", ' +
  `left(c.custom_attributes ->> 'language', 20) AS language`
const BY_ID = prepared(
  'person-by-id',
  sql`
    SELECT ${COLUMNS}
    FROM contacts c
    WHERE c.id = $1 AND ($2::uuid IS NULL OR c.workspace_id = $2) AND NOT ${IS_ORPHANED}
  `,
)
const BY_EMAIL = prepared(
  'person-by-email',
  `SELECT ${COLUMNS} FROM contacts c WHERE c.workspace_id = $1 AND c.email = lower($2) AND NOT ${IS_ORPHANED}`,
)

/** `workspaceId` null: in any workspace. */
export async function findPreferenceContact(
  db: Queryable,
  contactId: string,
  workspaceId: string | null,
): Promise<PreferenceContact | null> {
  return (await db.query<PreferenceContact>(BY_ID, [contactId, workspaceId])).rows[0] ?? null
}

export async function findPreferenceContactByEmail(
  db: Queryable,
  workspaceId: string,
  email: string,
): Promise<PreferenceContact | null> {
  return (await db.query<PreferenceContact>(BY_EMAIL, [workspaceId, email])).rows[0] ?? null
}

/** An omitted field keeps its value. */
export interface PreferenceChange {
  readonly unsubscribe: readonly string[]
  readonly resubscribe: readonly string[]
  readonly isOptedOut?: boolean
}

export interface AppliedPreferences {
  readonly unsubscribed: readonly string[]
  readonly resubscribed: readonly string[]
  readonly notifications: CommitNotifications
}

const LOCK_CONTACT = prepared('person-lock', 'SELECT 1 FROM contacts WHERE id = $1 FOR UPDATE')
const OPT_OUT = prepared(
  'person-opt-out',
  sql`
    UPDATE contacts
    SET opted_out_at = CASE WHEN $2 THEN $3::timestamptz END, updated_at = $3
    WHERE id = $1 AND (opted_out_at IS NOT NULL) IS DISTINCT FROM $2
  `,
)
const SET_SUBSCRIBED = prepared(
  'person-change',
  sql`
    UPDATE memberships
    SET is_subscribed = $3, updated_at = $4
    WHERE contact_id = $1
      AND audience_id = ANY ($2::uuid[])
      AND is_subscribed <> $3
      AND EXISTS (SELECT 1 FROM audiences a WHERE a.id = audience_id AND a.deleted_at IS NULL)
    RETURNING audience_id AS "audienceId"
  `,
)

/** Pass `notifications` to `publishNotifications` after the commit. */
export async function applyPreferences(
  tx: Queryable,
  contact: PreferenceContact,
  requested: PreferenceChange,
  now: Date,
): Promise<AppliedPreferences> {
  const { contactId, workspaceId } = contact
  await tx.query(LOCK_CONTACT, [contactId])
  const setSubscribed = async (ids: readonly string[], isSubscribed: boolean): Promise<string[]> => {
    if (ids.length === 0) return []
    const { rows } = await tx.query<{ audienceId: string }>(SET_SUBSCRIBED, [contactId, ids, isSubscribed, now])
    return rows.map(({ audienceId }) => audienceId)
  }
  if (requested.isOptedOut !== undefined) await tx.query(OPT_OUT, [contactId, requested.isOptedOut, now])
  const [unsubscribed, resubscribed] = [
    await setSubscribed(requested.unsubscribe, false),
    await setSubscribed(requested.resubscribe, true),
  ]
  const targetOf = (audienceId: string): AudienceTarget => ({ workspaceId, audienceId, now })
  const events = [
    ...unsubscribed.map((id) => contactEvent('contact.unsubscribed', targetOf(id), contact)),
    ...resubscribed.map((id) => contactEvent('contact.subscribed', targetOf(id), contact)),
  ]
  return { unsubscribed, resubscribed, notifications: await raiseEvents(tx, events, now) }
}
