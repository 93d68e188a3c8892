/**
 * Membership of one contact in one audience: join, unsubscribe, resubscribe, leave. Each change stores its event in the
 * same transaction. The contact is locked first, so two changes run one after the other.
 *
 * Only the person can resubscribe: `subscribe`, for the public form, is the one way from unsubscribed to subscribed.
 */
import { prepared, type Queryable } from '#src/stores/db.ts'
import type { CommitNotifications } from '#src/queue/notifications.ts'
import { raiseEvents } from '#src/events/raise.ts'
import { sql } from '#src/stores/sql.ts'
import type { AudienceTarget } from './audiences.ts'
import { contactEvent } from './contact-events.ts'
import { IS_ORPHANED } from './orphaned-contacts.ts'
import { saveContacts } from './save-contacts.ts'

/** A target with an audience. */
export type MembershipTarget = AudienceTarget & { readonly audienceId: string }

export interface LockedContact {
  readonly contactId: string
  readonly email: string
}

export interface Subscriber {
  /** As `parseAddress` returns it, in lower case. */
  readonly email: string
  readonly firstName?: string | null
  readonly lastName?: string | null
}

export type SubscribeResult =
  | { readonly kind: 'no audience' }
  /**
   * `hasChanged`: the contact was not a subscribed member before. Pass `notifications` to `publishNotifications` after
   * the commit.
   */
  | {
      readonly kind: 'subscribed'
      readonly contactId: string
      readonly hasChanged: boolean
      readonly notifications: CommitNotifications
    }

const LOCK_CONTACT = prepared(
  'contact-lock',
  sql`
    SELECT c.id AS "contactId", c.email
    FROM contacts c
    WHERE c.workspace_id = $1 AND c.id = $2 AND NOT ${IS_ORPHANED}
    FOR UPDATE
  `,
)

/** Locks a contact. Null if there is no such contact. */
export async function lockContact(
  tx: Queryable,
  workspaceId: string,
  contactId: string,
): Promise<LockedContact | null> {
  const { rows } = await tx.query<LockedContact>(LOCK_CONTACT, [workspaceId, contactId])
  return rows[0] ?? null
}

const KNOWN_NAMES = prepared(
  'contact-known-names',
  sql`
    SELECT first_name AS "firstName", last_name AS "lastName"
    FROM contacts c
    WHERE c.workspace_id = $1 AND c.email = $2 AND NOT ${IS_ORPHANED}
  `,
)
const RESUBSCRIBE = prepared(
  'contact-resubscribe',
  sql`
    UPDATE memberships
    SET is_subscribed = true, updated_at = $3
    WHERE audience_id = $1 AND contact_id = $2 AND NOT is_subscribed
  `,
)
const OPT_IN = prepared(
  'contact-opt-in',
  'UPDATE contacts SET opted_out_at = NULL WHERE id = $1 AND opted_out_at IS NOT NULL',
)
const OPT_INTO_BULK = prepared(
  'contact-opt-into-bulk',
  sql`
    WITH erased AS (
      DELETE FROM erased_suppressions
      WHERE workspace_id = $1 AND address_hash = erased_address($1, $2) AND kind = 'unsubscribe_bulk'
    )
    DELETE FROM suppressions
    WHERE workspace_id = $1 AND address = $2 AND kind = 'unsubscribe_bulk'
  `,
)

/**
 * Subscribes through the public form: a new contact joins, an unsubscribed one resubscribes, a subscribed one stays.
 * Anyone can fill in the form, so it does not overwrite names that are already stored.
 */
export async function subscribe(tx: Queryable, target: MembershipTarget, person: Subscriber): Promise<SubscribeResult> {
  const known = await tx.query<{ firstName: string | null; lastName: string | null }>(KNOWN_NAMES, [
    target.workspaceId,
    person.email,
  ])
  const names = {
    firstName: known.rows[0]?.firstName == null ? (person.firstName ?? undefined) : undefined,
    lastName: known.rows[0]?.lastName == null ? (person.lastName ?? undefined) : undefined,
  }
  const result = await saveContacts(tx, target, [{ email: person.email, ...names }])
  const saved = result.kind === 'saved' ? result.contacts[0] : undefined
  if (result.kind !== 'saved' || saved === undefined) return { kind: 'no audience' }
  const { contactId, isJoined } = saved
  // a person who asks for this mail no longer opts out of all mail
  await tx.query(OPT_IN, [contactId])
  await tx.query(OPT_INTO_BULK, [target.workspaceId, person.email])
  if (isJoined) return { kind: 'subscribed', contactId, hasChanged: true, notifications: result.notifications }
  const { rowCount } = await tx.query(RESUBSCRIBE, [target.audienceId, contactId, target.now])
  const events = rowCount === 0 ? [] : [contactEvent('contact.subscribed', target, { email: person.email, contactId })]
  return {
    kind: 'subscribed',
    contactId,
    hasChanged: events.length > 0,
    notifications: await raiseEvents(tx, events, target.now),
  }
}

export interface AudienceUnsubscribeResult {
  /** False if the contact was not subscribed. */
  readonly hasChanged: boolean
  /** Pass to `publishNotifications` after the commit. */
  readonly notifications: CommitNotifications
}

const UNSUBSCRIBE = prepared(
  'contact-unsubscribe',
  sql`
    UPDATE memberships
    SET is_subscribed = false, updated_at = $3
    WHERE contact_id = $1
      AND ($2::uuid IS NULL OR audience_id = $2)
      AND is_subscribed
      AND EXISTS (SELECT 1 FROM audiences a WHERE a.id = audience_id AND a.deleted_at IS NULL)
    RETURNING audience_id AS "audienceId"
  `,
)

/**
 * Unsubscribes a contact from one audience, or from all if the target names none. It stays a member. `hasChanged` is
 * false if it was not subscribed. Null if there is no such contact.
 */
export async function unsubscribe(
  tx: Queryable,
  target: AudienceTarget,
  contactId: string,
): Promise<AudienceUnsubscribeResult | null> {
  const contact = await lockContact(tx, target.workspaceId, contactId)
  if (contact === null) return null
  const { rows } = await tx.query<{ audienceId: string }>(UNSUBSCRIBE, [contactId, target.audienceId, target.now])
  const events = rows.map(({ audienceId }) => contactEvent('contact.unsubscribed', { ...target, audienceId }, contact))
  return { hasChanged: rows.length > 0, notifications: await raiseEvents(tx, events, target.now) }
}

const JOIN_AUDIENCE = prepared(
  'contact-join',
  sql`
    INSERT INTO memberships (
      audience_id, contact_id, workspace_id, email, first_key, last_key, score, created_at, updated_at
    )
    SELECT $1, c.id, c.workspace_id, c.email, name_key(c.first_name), name_key(c.last_name), coalesce(c.score, 0) + 0,
      $3, $3
    FROM contacts c
    WHERE c.id = $2
    ON CONFLICT (audience_id, contact_id) DO NOTHING
  `,
)

/**
 * Adds a contact that the caller has locked, after `lockAudience`. Pass the result to `publishNotifications` after the
 * commit.
 */
export async function joinAudience(
  tx: Queryable,
  target: AudienceTarget,
  contact: LockedContact,
): Promise<CommitNotifications> {
  const { rowCount } = await tx.query(JOIN_AUDIENCE, [target.audienceId, contact.contactId, target.now])
  return raiseEvents(tx, rowCount === 0 ? [] : [contactEvent('contact.subscribed', target, contact)], target.now)
}

// Memberships of deleted audiences are deleted too: a contact with no other membership would count as orphaned.
const LEAVE_AUDIENCE = prepared(
  'contact-leave',
  sql`
    DELETE FROM memberships
    WHERE contact_id = $2
      AND (audience_id = $1 OR EXISTS (SELECT 1 FROM audiences a WHERE a.id = audience_id AND a.deleted_at IS NOT NULL))
  `,
)

/** Removes a locked contact from an audience. The contact stays, even if this was its last audience. */
export async function leaveAudience(tx: Queryable, target: MembershipTarget, contact: LockedContact): Promise<void> {
  await tx.query(LEAVE_AUDIENCE, [target.audienceId, contact.contactId])
}
