/**
 * Loads the contacts that campaign and automation mail is rendered for: their fields, and whether each may receive that
 * mail now. One query loads many, in the order of the request. The result is null for a contact that was deleted or
 * belongs to another workspace.
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import { type Queryable, urgent } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { CONTACT_COLUMNS, type ContactFields } from './contact-fields.ts'

export interface MailContact extends ContactFields {
  /** Null: the mail belongs to no audience, and the contact has not opted out. */
  readonly isSubscribed: boolean | null
}

/** A contact and the audience it receives the mail as a member of. */
export interface MailContactRef {
  readonly workspaceId: string
  readonly contactId: string
  readonly audienceId: string | null
}

const LOAD = urgent(
  'mail-contacts',
  sql`
    SELECT i.ord::int AS ord, ${CONTACT_COLUMNS},
      CASE
        WHEN c.opted_out_at IS NOT NULL THEN false
        WHEN i.audience_id IS NOT NULL THEN coalesce(m.is_subscribed, false)
      END AS "isSubscribed"
    FROM unnest($1::uuid[], $2::uuid[], $3::uuid[]) WITH ORDINALITY AS i (workspace_id, contact_id, audience_id, ord)
    JOIN contacts c ON c.id = i.contact_id AND c.workspace_id = i.workspace_id
    LEFT JOIN memberships m ON m.audience_id = i.audience_id AND m.contact_id = i.contact_id
  `,
)

/** Runs no query for an empty list. */
export async function loadMailContacts(
  db: Queryable,
  refs: readonly MailContactRef[],
): Promise<(MailContact | null)[]> {
  if (refs.length === 0) return []
  const columns = columnsOf(refs, [(ref) => ref.workspaceId, (ref) => ref.contactId, (ref) => ref.audienceId])
  const { rows } = await db.query<MailContact & { ord: number }>(LOAD, columns)
  const byIndex = new Map(rows.map((row) => [row.ord - 1, row]))
  return refs.map((_, i) => byIndex.get(i) ?? null)
}
