/**
 * One contact and one audience: joining, coming back, leaving by unsubscribing or by being taken out, each with its event in the same
 * transaction. The contact is locked first, so two at once are one after the other. Only the person comes back: `subscribe`, for the public
 * form, is the one way from unsubscribed to subscribed.
 */
import { prepared, type Queryable } from '#src/stores/db.ts'
import type { News } from '#src/queue/notifications.ts'
import { raiseEvents } from '#src/events/raise.ts'
import { sql } from '#src/stores/sql.ts'
import type { Target } from './audiences.ts'
import { contactEvent } from './events.ts'
import { GHOST } from './orphaned-contacts.ts'
import { saveContacts } from './save.ts'

/** A target that names an audience. */
export type Membership = Target & { readonly audienceId: string }

export interface LockedContact {
  readonly contactId: string
  readonly email: string
}

export interface Subscriber {
  /** As `parseAddress` answers it, in lower case. */
  readonly email: string
  readonly firstName?: string | null
  readonly lastName?: string | null
}

export type SubscribeResult =
  | { readonly kind: 'no audience' }
  /** `hasChanged`: it was not a subscribed member before. `news` is for `announce`, after the commit. */
  | { readonly kind: 'subscribed'; readonly contactId: string; readonly hasChanged: boolean; readonly news: News }

const LOCK = prepared(
  'contact-lock',
  sql`
    SELECT c.id AS "contactId", c.email
    FROM contacts c
    WHERE c.workspace_id = $1 AND c.id = $2 AND NOT ${GHOST}
    FOR UPDATE
  `,
)

/** Null when there is no such contact. */
export async function lockContact(
  tx: Queryable,
  workspaceId: string,
  contactId: string,
): Promise<LockedContact | null> {
  const { rows } = await tx.query<LockedContact>(LOCK, [workspaceId, contactId])
  return rows[0] ?? null
}

const KNOWN_NAMES = prepared(
  'contact-known-names',
  sql`
    SELECT first_name AS "firstName", last_name AS "lastName"
    FROM contacts c
    WHERE c.workspace_id = $1 AND c.email = $2 AND NOT ${GHOST}
  `,
)
const RETURN_TO = prepared(
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

/**
 * By the public form: a new contact joins, an unsubscribed one comes back, a subscribed one stays. Anybody may fill in the form, so names
 * that are known are not overwritten by it.
 */
export async function subscribe(tx: Queryable, at: Membership, person: Subscriber): Promise<SubscribeResult> {
  const known = await tx.query<{ firstName: string | null; lastName: string | null }>(KNOWN_NAMES, [
    at.workspaceId,
    person.email,
  ])
  const names = {
    firstName: known.rows[0]?.firstName == null ? (person.firstName ?? undefined) : undefined,
    lastName: known.rows[0]?.lastName == null ? (person.lastName ?? undefined) : undefined,
  }
  const result = await saveContacts(tx, at, [{ email: person.email, ...names }])
  const saved = result.kind === 'saved' ? result.contacts[0] : undefined
  if (result.kind !== 'saved' || saved === undefined) return { kind: 'no audience' }
  const { contactId, isJoined } = saved
  // whoever asks for this mail does not want none at all
  await tx.query(OPT_IN, [contactId])
  if (isJoined) return { kind: 'subscribed', contactId, hasChanged: true, news: result.news }
  const { rowCount } = await tx.query(RETURN_TO, [at.audienceId, contactId, at.now])
  const events = rowCount === 0 ? [] : [contactEvent('contact.subscribed', at, { email: person.email, contactId })]
  return { kind: 'subscribed', contactId, hasChanged: events.length > 0, news: await raiseEvents(tx, events, at.now) }
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
 * Takes no more mail of this audience, or of any when the target names none; stays in it. `hasChanged` is false for one who was not
 * subscribed. Null when there is no such contact.
 */
export async function unsubscribe(
  tx: Queryable,
  at: Target,
  contactId: string,
): Promise<{ readonly hasChanged: boolean; readonly news: News } | null> {
  const contact = await lockContact(tx, at.workspaceId, contactId)
  if (contact === null) return null
  const { rows } = await tx.query<{ audienceId: string }>(UNSUBSCRIBE, [contactId, at.audienceId, at.now])
  const events = rows.map(({ audienceId }) => contactEvent('contact.unsubscribed', { ...at, audienceId }, contact))
  return { hasChanged: rows.length > 0, news: await raiseEvents(tx, events, at.now) }
}

const JOIN = prepared(
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

/** For a contact that the caller has locked, after `holdAudience`. What it answers is for `announce`, after the commit. */
export async function join(tx: Queryable, at: Target, contact: LockedContact): Promise<News> {
  const { rowCount } = await tx.query(JOIN, [at.audienceId, contact.contactId, at.now])
  return raiseEvents(tx, rowCount === 0 ? [] : [contactEvent('contact.subscribed', at, contact)], at.now)
}

// memberships of deleted audiences go with it: a contact in nothing else would be taken for one of theirs
const LEAVE = prepared(
  'contact-leave',
  sql`
    DELETE FROM memberships
    WHERE contact_id = $2
      AND (audience_id = $1 OR EXISTS (SELECT 1 FROM audiences a WHERE a.id = audience_id AND a.deleted_at IS NOT NULL))
  `,
)

/** Takes a locked contact out of an audience; the contact stays, also when it was its last one. */
export async function leave(tx: Queryable, at: Membership, contact: LockedContact): Promise<void> {
  await tx.query(LEAVE, [at.audienceId, contact.contactId])
}
