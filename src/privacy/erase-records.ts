/**
 * Erases what is stored about a person besides messages and events: contacts with memberships and runs of automations,
 * suppressions, captured mail, quoted cells of imports, and the values in the audit log. These are few rows, so each
 * step is one slice.
 */
import { deleteContact } from '#src/contacts/change-contact.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { eraseSuppressions, suppressErased } from '#src/suppression/erased.ts'
import { isSpelling, matches, type Person, type SliceResult, spellingParameters } from './person.ts'

/** Stands for an erased address. */
const ERASED = 'erased'

interface ContactRow {
  readonly id: string
  readonly email: string
  readonly hasUnsubscribed: boolean
}

const CONTACTS = sql`
  SELECT c.id, c.email,
    c.opted_out_at IS NOT NULL OR EXISTS (
      SELECT FROM memberships m
      WHERE m.contact_id = c.id AND NOT m.is_subscribed
    ) AS "hasUnsubscribed"
  FROM contacts c
  WHERE c.workspace_id = $1 AND c.email >= $2 AND c.email < $3 AND c.email ~ $4
`

/** Statements by the ids of the contacts. */
const OF_CONTACTS: Readonly<Record<string, string>> = {
  automation_calls: sql`
    DELETE FROM automation_calls
    WHERE workspace_id = $1 AND enrolment_id IN (SELECT id FROM enrolments WHERE contact_id = ANY ($2::uuid[]))
  `,
  automation_mails: sql`
    DELETE FROM automation_mails
    WHERE enrolment_id IN (SELECT id FROM enrolments WHERE contact_id = ANY ($2::uuid[])) AND workspace_id = $1
  `,
  enrolments: 'DELETE FROM enrolments WHERE workspace_id = $1 AND contact_id = ANY ($2::uuid[])',
  campaign_recipients: sql`
    UPDATE campaign_recipients r
    SET email = '${ERASED}'
    FROM campaigns k
    WHERE k.workspace_id = $1 AND r.campaign_id = k.id AND r.contact_id = ANY ($2::uuid[])
  `,
}

export async function eraseContacts(tx: Queryable, person: Person): Promise<SliceResult> {
  const { rows } = await tx.query<ContactRow>(CONTACTS, [person.workspaceId, ...spellingParameters(person)])
  const found = rows.filter(({ email }) => isSpelling(person, email))
  const deleted: Record<string, number> = { contacts: found.length }
  if (found.length === 0) return { deleted, next: null }
  // a later import must not subscribe again who has unsubscribed
  const unsubscribed = found.filter(({ hasUnsubscribed }) => hasUnsubscribed).map(({ email }) => email)
  await suppressErased(tx, person.workspaceId, unsubscribed)
  const ids = found.map(({ id }) => id)
  for (const [table, statement] of Object.entries(OF_CONTACTS))
    deleted[table] = (await tx.query(statement, [person.workspaceId, ids])).rowCount ?? 0
  for (const id of ids) await deleteContact(tx, person.workspaceId, id)
  return { deleted, next: null }
}

/** Suppressions become hashes. */
export async function eraseListed(tx: Queryable, person: Person): Promise<SliceResult> {
  const deleted: Record<string, number> = {}
  for (const table of ['suppressions', 'held_suppressions']) {
    const { rows } = await tx.query<{ address: string }>(
      `SELECT address FROM ${table} WHERE workspace_id = $1 AND ${matches('address', 2)}`,
      [person.workspaceId, ...spellingParameters(person)],
    )
    const addresses = rows.map(({ address }) => address).filter((address) => isSpelling(person, address))
    deleted[table] = addresses.length
    if (table === 'suppressions') {
      await forgetAudited(tx, person, addresses)
      await eraseSuppressions(tx, person.workspaceId, addresses)
    } else {
      await tx.query(`DELETE FROM ${table} WHERE workspace_id = $1 AND address = ANY ($2)`, [
        person.workspaceId,
        addresses,
      ])
    }
  }
  return { deleted, next: null }
}

/** The entries of suppressions name the address as their object. */
async function forgetAudited(tx: Queryable, { workspaceId }: Person, addresses: readonly string[]): Promise<void> {
  await tx.query(
    sql`
      UPDATE audit_log
      SET object = '${ERASED}', before = NULL, after = NULL
      WHERE workspace_id = $1 AND kind = 'suppression' AND object = ANY ($2::text[])
    `,
    [workspaceId, addresses],
  )
}

interface FoundAddress {
  readonly id: string
  readonly address: string
}

/** Captured mail, quoted cells of imports and the rest of the audit log. */
export async function eraseOther(tx: Queryable, person: Person): Promise<SliceResult> {
  const spellings = spellingParameters(person)
  const captured = await tx.query<FoundAddress>(
    `SELECT id, rcpt_to AS address FROM sandbox_inbox WHERE workspace_id = $1 AND ${matches('rcpt_to', 2)}`,
    [person.workspaceId, ...spellings],
  )
  const ids = captured.rows.filter(({ address }) => isSpelling(person, address)).map(({ id }) => id)
  await tx.query('DELETE FROM sandbox_inbox WHERE id = ANY ($1::uuid[])', [ids])
  const cells = await tx.query(
    sql`
      DELETE FROM import_errors e
      USING imports i
      WHERE i.id = e.import_id AND i.workspace_id = $1 AND ${matches('trim(e.value)', 2)}
    `,
    [person.workspaceId, ...spellings],
  )
  const audited = await tx.query(
    sql`
      UPDATE audit_log
      SET object = CASE WHEN kind = 'suppression' THEN '${ERASED}' ELSE object END, before = NULL, after = NULL
      WHERE workspace_id = $1
        AND (
          (kind = 'captured_email' AND object = ANY ($2::text[]))
          OR (kind = 'suppression' AND ${matches('object', 3)})
        )
    `,
    [person.workspaceId, ids, ...spellings],
  )
  const deleted = { captured_emails: ids.length, import_errors: cells.rowCount ?? 0, audit_log: audited.rowCount ?? 0 }
  return { deleted, next: null }
}
