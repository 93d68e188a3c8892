/**
 * What a person chooses for themselves: which audiences' mail they get, and whether any at all. Only audiences that the contact is a member
 * of can be chosen: one leaves and comes back, and joins none by it. The contact is locked, so two at once are one after the other; each
 * change has its event in the same transaction. Choosing what is so already changes nothing.
 */
import { prepared, type Queryable } from '#src/stores/db.ts'
import type { News } from '#src/queue/notifications.ts'
import { raiseEvents } from '#src/events/raise.ts'
import { sql } from '#src/stores/sql.ts'
import type { Target } from './audiences.ts'
import { contactEvent } from './events.ts'
import { GHOST } from './orphaned-contacts.ts'
import type { LockedContact } from './membership.ts'

export interface Preference {
  readonly audienceId: string
  readonly name: string
  readonly isSubscribed: boolean
}

const LIST = prepared(
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

/** By name. */
export async function listPreferences(
  db: Queryable,
  { workspaceId, contactId }: Whom,
  most: number,
): Promise<Preference[]> {
  return (await db.query<Preference>(LIST, [workspaceId, contactId, most])).rows
}

interface Whom {
  readonly workspaceId: string
  readonly contactId: string
}

export interface Person extends LockedContact {
  readonly workspaceId: string
  /** Wants no mail of campaigns and automations at all. */
  readonly isOptedOut: boolean
}

const COLUMNS =
  'c.workspace_id AS "workspaceId", c.id AS "contactId", c.email, c.opted_out_at IS NOT NULL AS "isOptedOut"'
const BY_ID = prepared(
  'person-by-id',
  sql`
    SELECT ${COLUMNS}
    FROM contacts c
    WHERE c.id = $1 AND ($2::uuid IS NULL OR c.workspace_id = $2) AND NOT ${GHOST}
  `,
)
const BY_EMAIL = prepared(
  'person-by-email',
  `SELECT ${COLUMNS} FROM contacts c WHERE c.workspace_id = $1 AND c.email = lower($2) AND NOT ${GHOST}`,
)

/** `workspaceId` null: whichever has this contact. */
export async function findPerson(db: Queryable, contactId: string, workspaceId: string | null): Promise<Person | null> {
  return (await db.query<Person>(BY_ID, [contactId, workspaceId])).rows[0] ?? null
}

export async function findPersonByEmail(db: Queryable, workspaceId: string, email: string): Promise<Person | null> {
  return (await db.query<Person>(BY_EMAIL, [workspaceId, email])).rows[0] ?? null
}

/** What is left out stays as it is. */
export interface Choice {
  readonly leave: readonly string[]
  readonly comeBack: readonly string[]
  readonly isOptedOut?: boolean
}

export interface Chosen {
  readonly left: readonly string[]
  readonly cameBack: readonly string[]
  readonly news: News
}

const LOCK = prepared('person-lock', 'SELECT 1 FROM contacts WHERE id = $1 FOR UPDATE')
const OPT_OUT = prepared(
  'person-opt-out',
  sql`
    UPDATE contacts
    SET opted_out_at = CASE WHEN $2 THEN $3::timestamptz END, updated_at = $3
    WHERE id = $1 AND (opted_out_at IS NOT NULL) IS DISTINCT FROM $2
  `,
)
const CHANGE = prepared(
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

/** `news` is for `announce`, after the commit. */
export async function choose(tx: Queryable, person: Person, choice: Choice, now: Date): Promise<Chosen> {
  const { contactId, workspaceId } = person
  await tx.query(LOCK, [contactId])
  const change = async (ids: readonly string[], isSubscribed: boolean): Promise<string[]> => {
    if (ids.length === 0) return []
    const { rows } = await tx.query<{ audienceId: string }>(CHANGE, [contactId, ids, isSubscribed, now])
    return rows.map(({ audienceId }) => audienceId)
  }
  if (choice.isOptedOut !== undefined) await tx.query(OPT_OUT, [contactId, choice.isOptedOut, now])
  const [left, cameBack] = [await change(choice.leave, false), await change(choice.comeBack, true)]
  const at = (audienceId: string): Target => ({ workspaceId, audienceId, now })
  const events = [
    ...left.map((id) => contactEvent('contact.unsubscribed', at(id), person)),
    ...cameBack.map((id) => contactEvent('contact.subscribed', at(id), person)),
  ]
  return { left, cameBack, news: await raiseEvents(tx, events, now) }
}
