/**
 * Changes or deletes one contact by id. The contact is locked, so two changes of it run one after the other. Every
 * query names the workspace, so another workspace's contact is not found. The audience is locked before the contact, in
 * the same order as in save-contacts.ts.
 */
import { prepared, type Queryable } from '#src/stores/db.ts'
import { NO_NOTIFICATIONS, type CommitNotifications } from '#src/queue/notifications.ts'
import { sql } from '#src/stores/sql.ts'
import { lockAudience, type AudienceTarget } from './audiences.ts'
import { joinAudience, leaveAudience, lockContact } from './membership.ts'
import { PROFILE_FIELDS, fieldText, givenBits, mergeProfileSql, type Profile } from './profile.ts'
import { deleteOrphans } from './save-contacts.ts'

export type ChangeResult =
  | { readonly kind: 'no contact' }
  | { readonly kind: 'no audience' }
  /** Pass `notifications` to `publishNotifications` after the commit. */
  | { readonly kind: 'changed'; readonly notifications: CommitNotifications }

/** Changes made by the steps of an automation. */
export interface ContactChanges {
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

/**
 * Changes tags, attributes and audiences of a contact, inside the caller's transaction. Adding what the contact already
 * has, or removing what it lacks, changes nothing.
 */
export async function changeContact(
  tx: Queryable,
  scope: Omit<AudienceTarget, 'audienceId'>,
  contactId: string,
  changes: ContactChanges,
): Promise<ChangeResult> {
  const { addTags = [], removeTags = [], attributes = {}, joinAudience: joinedId, leaveAudience: leftId } = changes
  const target = { ...scope, audienceId: joinedId ?? null }
  if ((await lockAudience(tx, target)) === null) return { kind: 'no audience' }
  const contact = await lockContact(tx, scope.workspaceId, contactId)
  if (contact === null) return { kind: 'no contact' }
  if (addTags.length + removeTags.length + Object.keys(attributes).length > 0)
    await tx.query(RETAG, [contactId, scope.now, addTags, removeTags, JSON.stringify(attributes)])
  if (leftId !== undefined) await leaveAudience(tx, { ...scope, audienceId: leftId }, contact)
  const notifications = joinedId === undefined ? NO_NOTIFICATIONS : await joinAudience(tx, target, contact)
  return { kind: 'changed', notifications }
}

const FIELD_PARAMETERS = PROFILE_FIELDS.map(
  ({ column, type, empty }, i) => `coalesce($${i + 5}::${type}, ${empty}) AS ${column}`,
).join(', ')
const UPDATE = prepared(
  'contact-update',
  sql`
    UPDATE contacts c
    SET email = coalesce($3, c.email), updated_at = $2, ${mergeProfileSql('i', 'c')}
    FROM (SELECT $4::int AS given, ${FIELD_PARAMETERS}) i
    WHERE c.id = $1
  `,
)

/**
 * Updates the given fields and adds the contact to the target audience, inside the caller's transaction.
 * @throws a PostgreSQL error with the constraint contacts_email_key if another contact has the new address, or
 * contacts_attributes_size if the custom attributes would exceed 64 KB.
 */
export async function updateContact(
  tx: Queryable,
  target: AudienceTarget,
  contactId: string,
  change: Profile & { readonly email?: string | undefined },
): Promise<ChangeResult> {
  const audience = await lockAudience(tx, target)
  if (audience === null) return { kind: 'no audience' }
  const contact = await lockContact(tx, target.workspaceId, contactId)
  if (contact === null) return { kind: 'no contact' }
  const email = change.email === contact.email ? undefined : change.email
  if (email !== undefined && audience.hasDeleted) await deleteOrphans(tx, target.workspaceId, [email])
  const fields = PROFILE_FIELDS.map((field) => fieldText(field, change))
  const given = givenBits(change)
  if (email !== undefined || given !== 0)
    await tx.query(UPDATE, [contactId, target.now, email ?? null, given, ...fields])
  const notifications =
    target.audienceId === null
      ? NO_NOTIFICATIONS
      : await joinAudience(tx, target, { contactId, email: email ?? contact.email })
  return { kind: 'changed', notifications }
}

/** Deletes the contact and its memberships, inside the caller's transaction. False if there is no such contact. */
export async function deleteContact(tx: Queryable, workspaceId: string, contactId: string): Promise<boolean> {
  if ((await lockContact(tx, workspaceId, contactId)) === null) return false
  await tx.query('DELETE FROM memberships WHERE contact_id = $1', [contactId])
  await tx.query('DELETE FROM contacts WHERE id = $1', [contactId])
  return true
}
