/**
 * One contact is changed or deleted, by its id. It is locked for the change, so two at once are one after the other, and always together
 * with the workspace: another workspace's contact is not there. Audiences are held before the contact is locked, as in save.ts.
 */
import { prepared, type Queryable } from '#src/stores/db.ts'
import { NO_NEWS, type News } from '#src/queue/notifications.ts'
import { sql } from '#src/stores/sql.ts'
import { holdAudience, type Target } from './audiences.ts'
import { join, leave, lockContact } from './membership.ts'
import { FIELDS, fieldText, givenBits, keepOrTake, type Profile } from './profile.ts'
import { removeGhosts } from './save.ts'

export type ChangeResult =
  | { readonly kind: 'no contact' }
  | { readonly kind: 'no audience' }
  /** `news` is for `announce`, after the commit. */
  | { readonly kind: 'changed'; readonly news: News }

/** Steps of an automation. */
export interface ContactSteps {
  readonly addTags?: readonly string[]
  readonly removeTags?: readonly string[]
  readonly attributes?: Readonly<Record<string, unknown>>
  readonly joinAudience?: string
  readonly leaveAudience?: string
}

const RETAG = prepared(
  'contact-retag',
  sql`
    UPDATE contacts c
    SET updated_at = $2,
      custom_attributes = c.custom_attributes || $5::jsonb,
      tags = ARRAY(
        SELECT tag
        FROM unnest(c.tags || $3::text[]) WITH ORDINALITY AS t (tag, place)
        WHERE tag <> ALL ($4::text[])
        GROUP BY tag
        ORDER BY min(place)
      )
    WHERE c.id = $1
  `,
)

/** Inside a transaction: tags, attributes and audiences of a contact. What it has already, or has not, is no change. */
export async function changeContact(
  tx: Queryable,
  at: Omit<Target, 'audienceId'>,
  contactId: string,
  steps: ContactSteps,
): Promise<ChangeResult> {
  const { addTags = [], removeTags = [], attributes = {}, joinAudience, leaveAudience } = steps
  const target = { ...at, audienceId: joinAudience ?? null }
  if ((await holdAudience(tx, target)) === null) return { kind: 'no audience' }
  const contact = await lockContact(tx, at.workspaceId, contactId)
  if (contact === null) return { kind: 'no contact' }
  if (addTags.length + removeTags.length + Object.keys(attributes).length > 0)
    await tx.query(RETAG, [contactId, at.now, addTags, removeTags, JSON.stringify(attributes)])
  if (leaveAudience !== undefined) await leave(tx, { ...at, audienceId: leaveAudience }, contact)
  const news = joinAudience === undefined ? NO_NEWS : await join(tx, target, contact)
  return { kind: 'changed', news }
}

const PLACES = FIELDS.map(({ column, type, empty }, i) => `coalesce($${i + 5}::${type}, ${empty}) AS ${column}`).join(
  ', ',
)
const UPDATE = prepared(
  'contact-update',
  sql`
    UPDATE contacts c
    SET email = coalesce($3, c.email), updated_at = $2, ${keepOrTake('i', 'c')}
    FROM (SELECT $4::int AS given, ${PLACES}) i
    WHERE c.id = $1
  `,
)

/**
 * Inside a transaction: the fields given, and the audience of the target is joined.
 * @throws a PostgreSQL error of the constraint contacts_email_key when another contact has the new address, and of
 * contacts_attributes_size when the custom attributes grow beyond 64 KB.
 */
export async function updateContact(
  tx: Queryable,
  at: Target,
  contactId: string,
  change: Profile & { readonly email?: string | undefined },
): Promise<ChangeResult> {
  const held = await holdAudience(tx, at)
  if (held === null) return { kind: 'no audience' }
  const contact = await lockContact(tx, at.workspaceId, contactId)
  if (contact === null) return { kind: 'no contact' }
  const email = change.email === contact.email ? undefined : change.email
  if (email !== undefined && held.hasDeleted) await removeGhosts(tx, at.workspaceId, [email])
  const fields = FIELDS.map((field) => fieldText(field, change))
  const given = givenBits(change)
  if (email !== undefined || given !== 0) await tx.query(UPDATE, [contactId, at.now, email ?? null, given, ...fields])
  const news = at.audienceId === null ? NO_NEWS : await join(tx, at, { contactId, email: email ?? contact.email })
  return { kind: 'changed', news }
}

/** Inside a transaction: the contact and its memberships. False when there is none. */
export async function deleteContact(tx: Queryable, workspaceId: string, contactId: string): Promise<boolean> {
  if ((await lockContact(tx, workspaceId, contactId)) === null) return false
  await tx.query('DELETE FROM memberships WHERE contact_id = $1', [contactId])
  await tx.query('DELETE FROM contacts WHERE id = $1', [contactId])
  return true
}
