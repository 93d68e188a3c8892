/**
 * Saves many contacts in one statement: creates each or updates its profile, and adds it to an audience.
 *
 * Two transactions that save the same new address create one contact. Contacts are locked in the order of their
 * addresses, and memberships only under the lock of their contact, so batches cannot deadlock. The audience is locked:
 * if it was deleted meanwhile it is not found, and nothing is written. An existing membership is not changed, so an
 * unsubscribed one stays unsubscribed. Orphaned contacts with these addresses are deleted first (orphaned-contacts.ts),
 * so that the address starts afresh.
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { NO_NOTIFICATIONS, type CommitNotifications } from '#src/queue/notifications.ts'
import { raiseEvents } from '#src/events/raise.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { lockAudience, type AudienceTarget } from './audiences.ts'
import { contactEvent } from './contact-events.ts'
import { IS_ORPHANED } from './orphaned-contacts.ts'
import { PROFILE_FIELDS, fieldText, givenBits, mergeProfileSql, type Profile } from './profile.ts'

/** `email` is as `parseAddress` returns it, in lower case. */
export type ContactRow = Profile & {
  readonly email: string
  /** A contact that joins is not subscribed, and no automation starts for it. Has no effect on existing members. */
  readonly isUnsubscribed?: boolean
}

export interface SavedContact {
  readonly contactId: string
  readonly isNew: boolean
  /** The contact was not in the audience before. */
  readonly isJoined: boolean
}

export type SaveResult =
  | { readonly kind: 'no audience' }
  /**
   * One for each row, in the same order; rows with the same address are one contact. Pass `notifications` to
   * `publishNotifications` after the commit.
   */
  | { readonly kind: 'saved'; readonly contacts: readonly SavedContact[]; readonly notifications: CommitNotifications }

export interface SaveOptions {
  /** Stores no events, and only sums as counter deltas: `applyCounterDeltas` rebuilds the pagination index. */
  readonly isBulk?: boolean
}

/**
 * Saves inside the caller's transaction. Rows with the same address are merged; later fields win.
 * @throws a PostgreSQL error with the constraint contacts_attributes_size if the custom attributes of a contact would
 * exceed 64 KB.
 */
export async function saveContacts(
  tx: Queryable,
  target: AudienceTarget,
  rows: readonly ContactRow[],
  { isBulk = false }: SaveOptions = {},
): Promise<SaveResult> {
  const audience = await lockAudience(tx, target)
  if (audience === null) return { kind: 'no audience' }
  const batch = mergeDuplicates(rows)
  if (batch.length === 0) return { kind: 'saved', contacts: [], notifications: NO_NOTIFICATIONS }
  if (isBulk) await tx.query(`SELECT set_config('mailstead.notes', 'sums', true)`)
  if (audience.hasDeleted)
    await deleteOrphans(
      tx,
      target.workspaceId,
      batch.map(({ email }) => email),
    )
  const saved = await upsert(tx, target, batch)
  const joined = isBulk ? [] : [...saved].filter(([, { isJoined }]) => isJoined)
  const events = joined.map(([email, { contactId }]) =>
    contactEvent('contact.subscribed', target, { email, contactId }),
  )
  const notifications = await raiseEvents(tx, events, target.now)
  return { kind: 'saved', contacts: rows.map(({ email }) => savedOf(saved, email)), notifications }
}

/** Merges rows with the same address and sorts by address. */
function mergeDuplicates(rows: readonly ContactRow[]): ContactRow[] {
  const byEmail = new Map<string, ContactRow>()
  for (const row of rows) {
    const earlier = byEmail.get(row.email)
    byEmail.set(row.email, earlier === undefined ? row : mergeRows(earlier, row))
  }
  return [...byEmail.values()].toSorted((a, b) => Buffer.compare(Buffer.from(a.email), Buffer.from(b.email)))
}

function mergeRows(first: ContactRow, second: ContactRow): ContactRow {
  const given = Object.entries(second).filter(([, value]) => value !== undefined)
  const customAttributes =
    second.customAttributes && first.customAttributes
      ? { ...first.customAttributes, ...second.customAttributes }
      : (second.customAttributes ?? first.customAttributes)
  return {
    ...first,
    ...Object.fromEntries(given),
    customAttributes: second.customAttributes === null ? null : customAttributes,
  }
}

const LOCK_ORPHANS = prepared(
  'contacts-lock-orphans',
  sql`
    SELECT c.id
    FROM contacts c
    WHERE c.workspace_id = $1 AND c.email = ANY ($2) AND ${IS_ORPHANED}
    ORDER BY c.email
    FOR UPDATE
  `,
)
const DELETE_ORPHANS = prepared(
  'contacts-delete-orphans',
  sql`
    WITH gone AS (
      DELETE FROM contacts c
      WHERE c.id = ANY ($1) AND ${IS_ORPHANED}
      RETURNING c.id
    )
    DELETE FROM memberships m
    USING gone
    WHERE m.contact_id = gone.id
  `,
)

/**
 * Deletes orphaned contacts with these addresses. The second statement checks them again under their locks, because
 * another transaction may have added them to an audience meanwhile.
 */
export async function deleteOrphans(tx: Queryable, workspaceId: string, emails: readonly string[]): Promise<void> {
  const { rows } = await tx.query<{ id: string }>(LOCK_ORPHANS, [workspaceId, emails])
  if (rows.length > 0) await tx.query(DELETE_ORPHANS, [rows.map(({ id }) => id)])
}

const COLUMNS = PROFILE_FIELDS.map(({ column }) => column).join(', ')
const VALUES = PROFILE_FIELDS.map(({ column, type, empty }) => `coalesce(i.${column}::${type}, ${empty})`).join(', ')
const ARRAYS = PROFILE_FIELDS.map((_, i) => `$${i + 7}::text[]`).join(', ')

/** A bit above those of the fields: it passes through `given`, so the membership is inserted as unsubscribed. */
const UNSUBSCRIBED_BIT = 1 << 30

/** Returns one row for each contact, and one more for each that joined the audience. */
const UPSERT = prepared(
  'contacts-upsert',
  sql`
    WITH saved AS (
      INSERT INTO contacts (id, workspace_id, email, given, created_at, updated_at, ${COLUMNS})
      SELECT i.id, $1, i.email, i.given, $3, $3, ${VALUES}
      FROM unnest($4::uuid[], $5::text[], $6::int[], ${ARRAYS}) AS i (id, email, given, ${COLUMNS})
      ON CONFLICT (workspace_id, email)
      DO UPDATE SET given = excluded.given,
        updated_at = CASE WHEN excluded.given = 0 THEN contacts.updated_at ELSE excluded.updated_at END,
        ${mergeProfileSql('excluded', 'contacts')}
      RETURNING id, email, given, first_name, last_name, score, xmax = 0 AS is_new
    ),
    joined AS (
      INSERT INTO memberships (
        audience_id, contact_id, workspace_id, is_subscribed, email, first_key, last_key, score, created_at, updated_at
      )
      SELECT $2, id, $1, given & ${UNSUBSCRIBED_BIT} = 0, email, name_key(first_name), name_key(last_name),
        coalesce(score, 0) + 0, $3, $3
      FROM saved
      WHERE $2::uuid IS NOT NULL
      ON CONFLICT (audience_id, contact_id) DO NOTHING
      RETURNING email
    )
    SELECT id, email, is_new AS "isNew"
    FROM saved
    UNION ALL
    SELECT NULL, email, NULL
    FROM joined
  `,
)

interface UpsertRow {
  readonly id: string | null
  readonly email: string
  readonly isNew: boolean
}

/** Keyed by address. PostgreSQL processes the rows in their order, that of addresses. */
async function upsert(
  tx: Queryable,
  target: AudienceTarget,
  rows: readonly ContactRow[],
): Promise<Map<string, SavedContact>> {
  const columns = columnsOf(rows, [
    () => newId(target.now.getTime()),
    (row) => row.email,
    (row) => givenBits(row) | (row.isUnsubscribed === true ? UNSUBSCRIBED_BIT : 0),
    ...PROFILE_FIELDS.map((field) => (row: ContactRow) => fieldText(field, row)),
  ])
  const result = await tx.query<UpsertRow>(UPSERT, [target.workspaceId, target.audienceId, target.now, ...columns])
  const joined = new Set(result.rows.filter(({ id }) => id === null).map(({ email }) => email))
  return new Map(
    result.rows.flatMap(({ id, email, isNew }) =>
      id === null ? [] : [[email, { contactId: id, isNew, isJoined: joined.has(email) }] as const],
    ),
  )
}

function savedOf(saved: ReadonlyMap<string, SavedContact>, email: string): SavedContact {
  const contact = saved.get(email)
  if (contact === undefined) throw new Error('the save returned no row for a contact')
  return contact
}
