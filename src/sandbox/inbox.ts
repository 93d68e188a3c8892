/**
 * Mail captured by the built-in receiver: the receiver writes it; the command line and the workspace that sent it read
 * it. One row for each recipient. Rows are kept for a week; nothing else depends on them.
 */
import { defineInput } from '#src/stores/binary-columns.ts'
import type { Queryable } from '#src/stores/db.ts'
import { newId } from '#src/platform/id.ts'
import { newestFirst, readPage, type Page, type PageRequest } from '#src/stores/page.ts'
import { sql } from '#src/stores/sql.ts'
import { weekly } from '#src/stores/weeks.ts'

/**
 * The result of one DKIM signature. `result` is one of RFC 8601 2.7.1: pass, fail, neutral, policy, temperror,
 * permerror.
 */
export interface DkimResult {
  readonly domain: string
  readonly selector: string
  readonly algorithm: string
  readonly result: string
  readonly comment: string | null
}

export interface CapturedMail {
  readonly mailFrom: string
  readonly headerFrom: string | null
  readonly subject: string | null
  /** Id of our message, if it could be determined. */
  readonly messageId: string | null
  /** Protocol and cipher; null = received without TLS. */
  readonly tls: string | null
  readonly dkim: readonly DkimResult[]
  readonly raw: Buffer
}

export interface InboxEntry extends Omit<CapturedMail, 'raw'> {
  readonly id: string
  readonly receivedAt: Date
  readonly rcptTo: string
}

export interface InboxMail extends InboxEntry {
  readonly raw: Buffer
}

/** A row of the table. */
interface InboxRow extends Omit<InboxEntry, 'dkim'> {
  /** JSON. */
  readonly dkim: string
  readonly raw: Buffer
}

const ROWS = defineInput(1, {
  id: ['uuid', (row: InboxRow) => row.id],
  received_at: ['timestamptz', (row) => row.receivedAt],
  rcpt_to: ['text', (row) => row.rcptTo],
  mail_from: ['text', (row) => row.mailFrom],
  header_from: ['text', (row) => row.headerFrom],
  subject: ['text', (row) => row.subject],
  message_id: ['uuid', (row) => row.messageId],
  tls: ['text', (row) => row.tls],
  dkim: ['jsonb', (row) => row.dkim],
  raw: ['bytea', (row) => row.raw],
})

const INSERT = weekly(
  'sandbox-inbox-insert',
  (weeks) => sql`
    INSERT INTO sandbox_inbox (${ROWS.names}, workspace_id)
    SELECT
      ${ROWS.names},
      (SELECT m.workspace_id FROM messages m WHERE m.id = each.message_id AND ${weeks.contain('m.id')})
    FROM ${ROWS.from('each')}
  `,
)

const COLUMNS = sql`
  id, received_at AS "receivedAt", mail_from AS "mailFrom", rcpt_to AS "rcptTo", header_from AS "headerFrom", subject,
  message_id AS "messageId", tls, dkim
`

/** A mail and those who receive it. */
export interface ReceivedMail {
  readonly mail: CapturedMail
  readonly recipients: readonly string[]
  readonly at: Date
}

/** Stores one mail; see `storeCapturedMails`. */
export async function storeCapturedMail(
  db: Queryable,
  mail: CapturedMail,
  recipients: readonly string[],
  at: Date,
): Promise<string[]> {
  const [ids = []] = await storeCapturedMails(db, [{ mail, recipients, at }])
  return ids
}

/**
 * Stores each mail once for each of its recipients, all in one statement. Returns the ids of the rows of each mail;
 * they are committed when it resolves. A value that PostgreSQL refuses, such as a NUL, stores none of them.
 */
export async function storeCapturedMails(db: Queryable, received: readonly ReceivedMail[]): Promise<string[][]> {
  const rows = received.map(({ mail, recipients, at }) => {
    const row = { ...mail, dkim: JSON.stringify(mail.dkim), receivedAt: at }
    return recipients.map((rcptTo): InboxRow => ({ ...row, rcptTo, id: newId(at.getTime()) }))
  })
  const messageIds = received.flatMap(({ mail }) => mail.messageId ?? [])
  await db.query(INSERT.for(messageIds), ROWS.parametersOf(rows.flat()))
  return rows.map((ofMail) => ofMail.map(({ id }) => id))
}

/** Newest first. */
export async function listInbox(db: Queryable, limit: number): Promise<InboxEntry[]> {
  const { rows } = await db.query<InboxEntry>(
    `SELECT ${COLUMNS} FROM sandbox_inbox ORDER BY received_at DESC, id DESC LIMIT $1`,
    [limit],
  )
  return rows
}

/** The newest mail that matches: the inbox id or its last hex digits, or the id of our message. Null if none does. */
export async function findInboxMail(
  db: Queryable,
  selector: { readonly idEnd: string } | { readonly messageId: string } | 'last',
): Promise<InboxMail | null> {
  const [where, value] =
    selector === 'last'
      ? ['true', null]
      : 'messageId' in selector
        ? ['message_id = $1', selector.messageId]
        : [`replace(id::text, '-', '') LIKE '%' || $1`, selector.idEnd]
  const {
    rows: [row],
  } = await db.query<InboxMail>(
    `SELECT ${COLUMNS}, raw FROM sandbox_inbox WHERE ${where} ORDER BY received_at DESC, id DESC LIMIT 1`,
    value === null ? [] : [value],
  )
  return row ?? null
}

/** Deletes mail received before this time; returns the number. */
export async function pruneInbox(db: Queryable, before: Date): Promise<number> {
  const { rowCount } = await db.query('DELETE FROM sandbox_inbox WHERE received_at < $1', [before])
  return rowCount ?? 0
}

/** An entry of a workspace's own captured mail. */
export interface CapturedEntry extends InboxEntry {
  /** Size in bytes. */
  readonly size: number
}

/**
 * Mail captured from a workspace's messages, newest first; with `search`, mail whose recipient, From or subject
 * contains it. At most a week of mail is examined.
 */
export function listCaptured(
  db: Queryable,
  workspaceId: string,
  page: PageRequest,
  search: string | null = null,
): Promise<Page<CapturedEntry>> {
  return readPage(
    db,
    {
      columns: `${COLUMNS}, octet_length(raw) AS size`,
      from: 'sandbox_inbox',
      where: `
        workspace_id = $1
        AND (
          $2::text IS NULL
          OR strpos(lower(concat_ws(E'\\n', rcpt_to, header_from, subject)), lower($2)) > 0
        )
      `,
      order: newestFirst(),
      values: [workspaceId, search],
    },
    page,
  )
}

/** Null if the workspace has no such mail. */
export async function findCaptured(db: Queryable, workspaceId: string, id: string): Promise<InboxMail | null> {
  const { rows } = await db.query<InboxMail>(
    `SELECT ${COLUMNS}, raw FROM sandbox_inbox WHERE workspace_id = $1 AND id = $2`,
    [workspaceId, id],
  )
  return rows[0] ?? null
}

/** Deletes one mail, or (null) all of a workspace; returns the number. */
export async function deleteCaptured(db: Queryable, workspaceId: string, id: string | null): Promise<number> {
  const { rowCount } = await db.query(
    'DELETE FROM sandbox_inbox WHERE workspace_id = $1 AND ($2::uuid IS NULL OR id = $2)',
    [workspaceId, id],
  )
  return rowCount ?? 0
}
