/**
 * Erases what still names a person although the row that it belonged to is gone: requests of webhook steps of
 * automations whose contact was deleted, and bounces and complaints about messages that retention deleted.
 *
 * A report whose return-path was not valid belongs to no workspace. It is erased if it also names a sending domain of
 * this workspace, so that no workspace erases reports about the mail of another. Mail to the postmaster is the
 * operator's, who may need it against the workspace; it stays until it is 30 days old. A report is the text of a
 * stranger: reading it takes time that grows with its length only.
 */
import { listAddresses } from '#src/mail/listed-addresses.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { weeksOf } from '#src/stores/weeks.ts'
import {
  FIRST_ID,
  isSpelling,
  matches,
  type Person,
  type SliceResult,
  type SliceStart,
  spellingPatterns,
} from './person.ts'

const NEXT_AUTOMATION = sql`
  SELECT id
  FROM automations
  WHERE workspace_id = $1 AND id > $2
  ORDER BY id
  LIMIT 1
`
/** The body is the JSON that src/automations/apply-effects.ts writes. */
const CALLS = sql`
  SELECT id, body::jsonb #>> '{contact,email}' AS address
  FROM automation_calls
  WHERE automation_id = $1 AND ${matches(`body::jsonb #>> '{contact,email}'`, 2)}
`

/** Requests of the webhook steps of one automation, also those that wait: they are not sent any more. */
export async function eraseCalls(tx: Queryable, person: Person, start: SliceStart): Promise<SliceResult> {
  const {
    rows: [automation],
  } = await tx.query<{ id: string }>(NEXT_AUTOMATION, [person.workspaceId, start.position ?? FIRST_ID])
  if (automation === undefined) return { deleted: {}, next: null }
  const { rows } = await tx.query<{ id: string; address: string }>(CALLS, [automation.id, spellingPatterns(person)])
  const ids = rows.filter(({ address }) => isSpelling(person, address)).map(({ id }) => id)
  await tx.query('DELETE FROM automation_calls WHERE id = ANY ($1::uuid[])', [ids])
  return { deleted: { automation_calls: ids.length }, next: automation.id }
}

/** Each may have 256 KiB. */
const REPORTS_SLICE = 200
const UNLINKED_SLICE = 20

const REPORTS = sql`
  SELECT id, message_id AS "messageId"
  FROM inbound_reports
  WHERE id > $1 AND target <> 'postmaster'
  ORDER BY id
  LIMIT ${REPORTS_SLICE}
`
const UNLINKED = sql`
  SELECT id, message_id AS "messageId", mail_from AS "mailFrom", raw
  FROM inbound_reports
  WHERE id = ANY ($1::uuid[])
`

interface ReportKey {
  readonly id: string
  /** Null: its return-path was not valid. */
  readonly messageId: string | null
}

interface StoredReport extends ReportKey {
  readonly mailFrom: string
  readonly raw: Buffer
}

/** Reports about messages that are not stored. Those of stored messages are erased with them. */
export async function eraseReports(tx: Queryable, person: Person, start: SliceStart): Promise<SliceResult> {
  const { rows } = await tx.query<ReportKey>(REPORTS, [start.position ?? FIRST_ID])
  const stored = await storedAmong(tx, rows)
  const unlinked = rows.filter(({ messageId }) => messageId === null || !stored.has(messageId))
  const ids: string[] = []
  for (let at = 0; at < unlinked.length; at += UNLINKED_SLICE) {
    const slice = unlinked.slice(at, at + UNLINKED_SLICE).map(({ id }) => id)
    for (const report of (await tx.query<StoredReport>(UNLINKED, [slice])).rows)
      if (await isAbout(tx, person, report)) ids.push(report.id)
  }
  await tx.query('DELETE FROM inbound_reports WHERE id = ANY ($1::uuid[])', [ids])
  return {
    deleted: { inbound_reports: ids.length },
    next: rows.length < REPORTS_SLICE ? null : (rows.at(-1)?.id ?? null),
  }
}

async function storedAmong(tx: Queryable, reports: readonly ReportKey[]): Promise<ReadonlySet<string>> {
  const ids = [...new Set(reports.flatMap(({ messageId }) => messageId ?? []))]
  if (ids.length === 0) return new Set()
  const { rows } = await tx.query<{ id: string }>(
    `SELECT id FROM messages WHERE id = ANY ($1::uuid[]) AND ${weeksOf(ids).contain('id')}`,
    [ids],
  )
  return new Set(rows.map(({ id }) => id))
}

async function isAbout(tx: Queryable, person: Person, { messageId, mailFrom, raw }: StoredReport): Promise<boolean> {
  const named = listAddresses(`${mailFrom} ${raw.toString('latin1')}`)
  if (![...named].some((address) => isSpelling(person, address))) return false
  if (messageId !== null) return true
  const domains = [...named].map((address) => address.slice(address.lastIndexOf('@') + 1).toLowerCase())
  const { rows } = await tx.query('SELECT FROM domains WHERE workspace_id = $1 AND domain = ANY ($2::text[]) LIMIT 1', [
    person.workspaceId,
    [...new Set(domains)],
  ])
  return rows.length > 0
}
