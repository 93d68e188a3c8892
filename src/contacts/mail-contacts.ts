/**
 * Contacts as the mail of a campaign or an automation is made for them: what is known of each, and whether it may have that mail now. Many
 * at once, in the order they were asked for; one that was deleted, or is another workspace's, is null.
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { CONTACT_FACTS, type ContactFacts } from './facts.ts'

export interface MailContact extends ContactFacts {
  /** Null: the mail belongs to no audience, and the contact takes such mail. */
  readonly isSubscribed: boolean | null
}

/** Who gets a mail, as a member of which audience. */
export interface MailContactRef {
  readonly workspaceId: string
  readonly contactId: string
  readonly audienceId: string | null
}

const CONTACTS = prepared(
  'mail-contacts',
  sql`
    SELECT i.ord::int AS ord, ${CONTACT_FACTS},
      CASE
        WHEN c.opted_out_at IS NOT NULL THEN false
        WHEN i.audience_id IS NOT NULL THEN coalesce(m.is_subscribed, false)
      END AS "isSubscribed"
    FROM unnest($1::uuid[], $2::uuid[], $3::uuid[]) WITH ORDINALITY AS i (workspace_id, contact_id, audience_id, ord)
    JOIN contacts c ON c.id = i.contact_id AND c.workspace_id = i.workspace_id
    LEFT JOIN memberships m ON m.audience_id = i.audience_id AND m.contact_id = i.contact_id
  `,
)

/** Asks nothing where nobody is wanted. */
export async function loadMailContacts(
  db: Queryable,
  wanted: readonly MailContactRef[],
): Promise<(MailContact | null)[]> {
  if (wanted.length === 0) return []
  const columns = columnsOf(wanted, [(one) => one.workspaceId, (one) => one.contactId, (one) => one.audienceId])
  const { rows } = await db.query<MailContact & { ord: number }>(CONTACTS, columns)
  const byPlace = new Map(rows.map((row) => [row.ord - 1, row]))
  return wanted.map((_, i) => byPlace.get(i) ?? null)
}
