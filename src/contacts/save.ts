/**
 * Contacts come in: many at once, each made or its profile updated, and added to an audience. One statement for a batch of any size.
 *
 * Two who save the same new address at once make one contact. Contacts are locked in the order of their addresses and memberships only
 * under the lock of their contact, so batches do not block each other for good. The audience is held: deleted meanwhile, it is not
 * found and nothing is written. A membership that exists stays as it is, an unsubscribed one unsubscribed. A contact that was only in
 * deleted audiences is gone for everybody; what is left of it is removed first, so that the address begins anew.
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { NO_NEWS, type News } from '#src/queue/notifications.ts'
import { raiseEvents } from '#src/events/raise.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { holdAudience, type Target } from './audiences.ts'
import { contactEvent } from './events.ts'
import { GHOST } from './orphaned-contacts.ts'
import { FIELDS, fieldText, givenBits, keepOrTake, type Profile } from './profile.ts'

/** `email` is as `parseAddress` answers it, in lower case. */
export type ContactRow = Profile & {
  readonly email: string
  /** One who joins does so without being subscribed: nothing begins for them. Says nothing of who is in the audience already. */
  readonly isUnsubscribed?: boolean
}

export interface SavedContact {
  readonly contactId: string
  readonly isNew: boolean
  /** It was not in the audience before. */
  readonly isJoined: boolean
}

export type SaveResult =
  | { readonly kind: 'no audience' }
  /** One for each row, in their order; rows with the same address are one contact. `news` is for `announce`, after the commit. */
  | { readonly kind: 'saved'; readonly contacts: readonly SavedContact[]; readonly news: News }

export interface SaveOptions {
  /** No events, and for the counts only sums are noted: the caller ends with `rebuildMarks`. */
  readonly isBulk?: boolean
}

/**
 * Inside a transaction. Rows with the same address are folded: later fields win.
 * @throws a PostgreSQL error of the constraint contacts_attributes_size when the custom attributes of a contact grow beyond 64 KB.
 */
export async function saveContacts(
  tx: Queryable,
  to: Target,
  rows: readonly ContactRow[],
  { isBulk = false }: SaveOptions = {},
): Promise<SaveResult> {
  const held = await holdAudience(tx, to)
  if (held === null) return { kind: 'no audience' }
  const batch = foldTwins(rows)
  if (batch.length === 0) return { kind: 'saved', contacts: [], news: NO_NEWS }
  if (isBulk) await tx.query(`SELECT set_config('mailstead.notes', 'sums', true)`)
  if (held.hasDeleted)
    await removeGhosts(
      tx,
      to.workspaceId,
      batch.map(({ email }) => email),
    )
  const saved = await upsert(tx, to, batch)
  const joined = isBulk ? [] : [...saved].filter(([, { isJoined }]) => isJoined)
  const events = joined.map(([email, { contactId }]) => contactEvent('contact.subscribed', to, { email, contactId }))
  const news = await raiseEvents(tx, events, to.now)
  return { kind: 'saved', contacts: rows.map(({ email }) => savedOf(saved, email)), news }
}

/** One row for each address, in the order of addresses. */
function foldTwins(rows: readonly ContactRow[]): ContactRow[] {
  const byEmail = new Map<string, ContactRow>()
  for (const row of rows) {
    const twin = byEmail.get(row.email)
    byEmail.set(row.email, twin === undefined ? row : mergeRows(twin, row))
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

const LOCK_GHOSTS = prepared(
  'contacts-lock-ghosts',
  sql`
    SELECT c.id
    FROM contacts c
    WHERE c.workspace_id = $1 AND c.email = ANY ($2) AND ${GHOST}
    ORDER BY c.email
    FOR UPDATE
  `,
)
const REMOVE_GHOSTS = prepared(
  'contacts-remove-ghosts',
  sql`
    WITH gone AS (
      DELETE FROM contacts c
      WHERE c.id = ANY ($1) AND ${GHOST}
      RETURNING c.id
    )
    DELETE FROM memberships m
    USING gone
    WHERE m.contact_id = gone.id
  `,
)

/**
 * What is left of contacts that nobody sees, under these addresses. Looked at again under their locks: another one may have brought them
 * back meanwhile.
 */
export async function removeGhosts(tx: Queryable, workspaceId: string, emails: readonly string[]): Promise<void> {
  const { rows } = await tx.query<{ id: string }>(LOCK_GHOSTS, [workspaceId, emails])
  if (rows.length > 0) await tx.query(REMOVE_GHOSTS, [rows.map(({ id }) => id)])
}

const COLUMNS = FIELDS.map(({ column }) => column).join(', ')
const VALUES = FIELDS.map(({ column, type, empty }) => `coalesce(i.${column}::${type}, ${empty})`).join(', ')
const ARRAYS = FIELDS.map((_, i) => `$${i + 7}::text[]`).join(', ')

/** Above the bits of the fields: the row's own word comes back with the contact, whose membership is made from it. */
const UNSUBSCRIBED_BIT = 1 << 30

/** One row for each contact, and one more for each that joined the audience. */
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
        ${keepOrTake('excluded', 'contacts')}
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

/** By address. The rows are in the order of addresses, and PostgreSQL takes them in this order. */
async function upsert(tx: Queryable, to: Target, rows: readonly ContactRow[]): Promise<Map<string, SavedContact>> {
  const columns = columnsOf(rows, [
    () => newId(to.now.getTime()),
    (row) => row.email,
    (row) => givenBits(row) | (row.isUnsubscribed === true ? UNSUBSCRIBED_BIT : 0),
    ...FIELDS.map((field) => (row: ContactRow) => fieldText(field, row)),
  ])
  const answered = await tx.query<UpsertRow>(UPSERT, [to.workspaceId, to.audienceId, to.now, ...columns])
  const joined = new Set(answered.rows.filter(({ id }) => id === null).map(({ email }) => email))
  return new Map(
    answered.rows.flatMap(({ id, email, isNew }) =>
      id === null ? [] : [[email, { contactId: id, isNew, isJoined: joined.has(email) }] as const],
    ),
  )
}

function savedOf(saved: ReadonlyMap<string, SavedContact>, email: string): SavedContact {
  const contact = saved.get(email)
  if (contact === undefined) throw new Error('a contact was not saved')
  return contact
}
