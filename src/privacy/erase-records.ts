/**
 * Erases what is stored about a person besides messages and events: contacts with memberships and runs of automations,
 * suppressions, captured mail, quoted cells of imports, lost mail, and the values in the audit log. Contacts and
 * suppressions are found by indexes. Captured mail and lost mail are few; the ledgers of campaigns, imports and the
 * audit log are read in slices.
 */
import { deleteContact } from '#src/contacts/change-contact.ts'
import type { Queryable } from '#src/stores/db.ts'
import { columnsOf } from '#src/stores/column-arrays.ts'
import { sql } from '#src/stores/sql.ts'
import { eraseSuppressions, suppressErased } from '#src/suppression/erased.ts'
import {
  FIRST_ID,
  isSpelling,
  matches,
  type Person,
  type SliceResult,
  type SliceStart,
  spelled,
  spellingParameters,
  spellingPatterns,
} from './person.ts'

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
  FROM ${spelled({ table: 'contacts', as: 'c', column: 'email' })}
`

/** Statements by the ids of the contacts. */
const OF_CONTACTS: Readonly<Record<string, string>> = {
  automation_calls: sql`
    DELETE FROM automation_calls
    WHERE workspace_id = $1 AND (automation_id, enrolment_id) IN (
      SELECT automation_id, id
      FROM enrolments
      WHERE contact_id = ANY ($2::uuid[])
    )
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

const REVIEWED = sql`
  SELECT DISTINCT e ->> 'address' AS address
  FROM suppression_reviews
  CROSS JOIN LATERAL jsonb_array_elements(entries) e
  WHERE e ->> 'workspaceId' = $1::uuid::text AND ${matches("(e ->> 'address')", 2)}
`
const FORGET_REVIEWED = sql`
  UPDATE suppression_reviews
  SET entries = (
    SELECT coalesce(jsonb_agg(e ORDER BY n), '[]')
    FROM jsonb_array_elements(entries) WITH ORDINALITY AS listed (e, n)
    WHERE NOT (e ->> 'workspaceId' = $1::uuid::text AND e ->> 'address' = ANY ($2::text[]))
  )
  WHERE entries <> '[]'
`

/** Reviews of suppressions list entries, also those that they removed. */
async function forgetReviewed(tx: Queryable, person: Person): Promise<void> {
  const { rows } = await tx.query<{ address: string }>(REVIEWED, [person.workspaceId, spellingPatterns(person)])
  const addresses = rows.map(({ address }) => address).filter((address) => isSpelling(person, address))
  if (addresses.length > 0) await tx.query(FORGET_REVIEWED, [person.workspaceId, addresses])
}

/** Suppressions become hashes. */
export async function eraseListed(tx: Queryable, person: Person): Promise<SliceResult> {
  const deleted: Record<string, number> = {}
  for (const table of ['suppressions', 'held_suppressions']) {
    const { rows } = await tx.query<{ address: string }>(
      `SELECT s.address FROM ${spelled({ table, as: 's', column: 'address' })}`,
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
  await forgetReviewed(tx, person)
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

export async function eraseCaptured(tx: Queryable, person: Person): Promise<SliceResult> {
  const captured = await tx.query<FoundAddress>(
    `SELECT id, rcpt_to AS address FROM sandbox_inbox WHERE workspace_id = $1 AND ${matches('rcpt_to', 2)}`,
    [person.workspaceId, spellingPatterns(person)],
  )
  const ids = captured.rows.filter(({ address }) => isSpelling(person, address)).map(({ id }) => id)
  await tx.query('DELETE FROM sandbox_inbox WHERE id = ANY ($1::uuid[])', [ids])
  await tx.query(
    sql`
      UPDATE audit_log
      SET before = NULL, after = NULL
      WHERE workspace_id = $1 AND kind = 'captured_email' AND object = ANY ($2::text[])
    `,
    [person.workspaceId, ids],
  )
  return { deleted: { captured_emails: ids.length }, next: null }
}

const IMPORTS_SLICE = 20
const AUDIT_SLICE = 5000

const IMPORTS = sql`
  SELECT id
  FROM imports
  WHERE workspace_id = $1 AND id > $2
  ORDER BY id
  LIMIT ${IMPORTS_SLICE}
`
const AUDITED = sql`
  SELECT id, object AS address, kind = 'suppression' AND ${matches('object', 3)} AS "isFound"
  FROM audit_log
  WHERE workspace_id = $1 AND id > $2
  ORDER BY id
  LIMIT ${AUDIT_SLICE}
`

interface QuotedCell {
  readonly importId: string
  readonly line: string
  readonly n: number
  readonly value: string
}

const CELLS = sql`
  SELECT import_id AS "importId", line, n, value
  FROM import_errors
  WHERE import_id = ANY ($1::uuid[]) AND ${matches('trim(value)', 2)}
`
const DELETE_CELLS = sql`
  DELETE FROM import_errors e
  USING unnest($1::uuid[], $2::bigint[], $3::smallint[]) AS cell (import_id, line, n)
  WHERE e.import_id = cell.import_id AND e.line = cell.line AND e.n = cell.n
`

/** Quoted cells of some imports. */
export async function eraseImportErrors(tx: Queryable, person: Person, start: SliceStart): Promise<SliceResult> {
  const imports = await tx.query<{ id: string }>(IMPORTS, [person.workspaceId, start.position ?? FIRST_ID])
  const ids = imports.rows.map(({ id }) => id)
  const { rows } = await tx.query<QuotedCell>(CELLS, [ids, spellingPatterns(person)])
  const found = rows.filter(({ value }) => isSpelling(person, value))
  await tx.query(DELETE_CELLS, [...columnsOf(found, [({ importId }) => importId, ({ line }) => line, ({ n }) => n])])
  return {
    deleted: { import_errors: found.length },
    next: ids.length < IMPORTS_SLICE ? null : (ids.at(-1) ?? null),
  }
}

/** Entries of the audit log about suppressions that were removed before. */
export async function eraseAudited(tx: Queryable, person: Person, start: SliceStart): Promise<SliceResult> {
  const { rows } = await tx.query<FoundAddress & { isFound: boolean }>(AUDITED, [
    person.workspaceId,
    start.position ?? FIRST_ID,
    spellingPatterns(person),
  ])
  const found = rows.filter(({ isFound, address }) => isFound && isSpelling(person, address)).map(({ id }) => id)
  await tx.query(`UPDATE audit_log SET object = '${ERASED}', before = NULL, after = NULL WHERE id = ANY ($1::uuid[])`, [
    found,
  ])
  return {
    deleted: { audit_log: found.length },
    next: rows.length < AUDIT_SLICE ? null : (rows.at(-1)?.id ?? null),
  }
}

const NEXT_CAMPAIGN = sql`
  SELECT id
  FROM campaigns
  WHERE workspace_id = $1 AND id > $2
  ORDER BY id
  LIMIT 1
`
const LEDGER = sql`
  SELECT contact_id AS id, email AS address
  FROM campaign_recipients r
  WHERE campaign_id = $1 AND ${matches('email', 2)}
`

/** The ledger of one campaign names also contacts that were deleted before. */
export async function eraseFromLedgers(tx: Queryable, person: Person, start: SliceStart): Promise<SliceResult> {
  const {
    rows: [campaign],
  } = await tx.query<{ id: string }>(NEXT_CAMPAIGN, [person.workspaceId, start.position ?? FIRST_ID])
  if (campaign === undefined) return { deleted: {}, next: null }
  const { rows } = await tx.query<FoundAddress>(LEDGER, [campaign.id, spellingPatterns(person)])
  const ids = rows.filter(({ address }) => isSpelling(person, address)).map(({ id }) => id)
  await tx.query(
    `UPDATE campaign_recipients SET email = '${ERASED}' WHERE campaign_id = $1 AND contact_id = ANY ($2::uuid[])`,
    [campaign.id, ids],
  )
  return { deleted: { campaign_recipients: ids.length }, next: campaign.id }
}

/**
 * Lost mail has no workspace: its sender is of a verified or removed domain of the workspace, or of its account.
 * Without a known sender nobody can send it again.
 */
const LOST = sql`
  SELECT message_id AS id, recipient AS address
  FROM lost_mail l
  CROSS JOIN LATERAL (SELECT lower(substring(l.sender FROM '@([^@]+)$')) AS domain) s
  WHERE ${matches('recipient', 2)}
    AND (
      l.sender IS NULL
      OR EXISTS (
        SELECT FROM domains d
        WHERE d.workspace_id = $1 AND d.domain = s.domain AND d.verification_status IN ('verified', 'degraded')
      )
      OR EXISTS (SELECT FROM connected_accounts a WHERE a.workspace_id = $1 AND lower(l.sender) = ANY (a.addresses))
      OR EXISTS (SELECT FROM removed_domains r WHERE r.workspace_id = $1 AND r.domain = s.domain)
    )
    AND NOT EXISTS (
      SELECT FROM domains d
      WHERE d.workspace_id <> $1 AND d.domain = s.domain AND d.verification_status IN ('verified', 'degraded')
    )
`
/** The domain alone is what a recipient of unknown address has. */
const FORGET_LOST = sql`
  WITH gone AS (
    DELETE FROM lost_mail l
    USING unnest($1::uuid[], $2::text[]) AS found (message_id, recipient)
    WHERE l.message_id = found.message_id AND l.recipient = found.recipient
    RETURNING l.*
  )
  INSERT INTO lost_mail (message_id, recipient, sender, outcome, source, at, found_at)
  SELECT DISTINCT ON (message_id, '@' || split_part(recipient, '@', -1))
    message_id, '@' || split_part(recipient, '@', -1), sender, outcome, source, at, found_at
  FROM gone
  ON CONFLICT DO NOTHING
`

/** Mail that a restored database lacks: the recipient becomes its domain, so the operator still sees what is lost. */
export async function eraseLost(tx: Queryable, person: Person): Promise<SliceResult> {
  const { rows } = await tx.query<FoundAddress>(LOST, [person.workspaceId, spellingPatterns(person)])
  const found = rows.filter(({ address }) => isSpelling(person, address))
  await tx.query(FORGET_LOST, [...columnsOf(found, [({ id }) => id, ({ address }) => address])])
  return { deleted: { lost_mail: found.length }, next: null }
}
