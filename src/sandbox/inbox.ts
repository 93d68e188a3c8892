/**
 * What the built-in receiver took: written by it, read by the command line, and by the workspace whose message it is. One row for each
 * recipient. It is kept for a week; nothing else depends on it.
 */
import { prepared, type Queryable } from '#src/stores/db.ts'
import { newId } from '#src/platform/id.ts'
import { readPage, type Page, type PageWish } from '#src/stores/page.ts'
import { sql } from '#src/stores/sql.ts'

/** What one signature was worth. `result` is one of RFC 8601 2.7.1: pass, fail, neutral, policy, temperror, permerror. */
export interface DkimVerdict {
  readonly domain: string
  readonly selector: string
  readonly algorithm: string
  readonly result: string
  readonly comment: string | null
}

export interface TakenMail {
  readonly mailFrom: string
  readonly headerFrom: string | null
  readonly subject: string | null
  /** Ours, where it could be told. */
  readonly messageId: string | null
  /** Protocol and cipher; null = it came in plain text. */
  readonly tls: string | null
  readonly dkim: readonly DkimVerdict[]
  readonly raw: Buffer
}

export interface InboxLine extends Omit<TakenMail, 'raw'> {
  readonly id: string
  readonly receivedAt: Date
  readonly rcptTo: string
}

export interface InboxMail extends InboxLine {
  readonly raw: Buffer
}

const KEEP = prepared(
  'sandbox-keep',
  sql`
    INSERT INTO sandbox_inbox (
      id, received_at, rcpt_to, mail_from, header_from, subject, message_id, tls, dkim, raw, workspace_id
    )
    SELECT id, $3, rcpt_to, $4, $5, $6, $7, $8, $9, $10, (SELECT workspace_id FROM messages WHERE id = $7)
    FROM unnest($1::uuid[], $2::text[]) AS each (id, rcpt_to)
  `,
)

const COLUMNS = sql`
  id, received_at AS "receivedAt", mail_from AS "mailFrom", rcpt_to AS "rcptTo", header_from AS "headerFrom", subject,
  message_id AS "messageId", tls, dkim
`

/** Stores the mail for each of its recipients in one statement; answers their ids in the inbox. When it resolves, it is committed. */
export async function keepMail(
  db: Queryable,
  mail: TakenMail,
  recipients: readonly string[],
  at: Date,
): Promise<string[]> {
  const ids = recipients.map(() => newId(at.getTime()))
  const { mailFrom, headerFrom, subject, messageId, tls, dkim, raw } = mail
  await db.query(KEEP, [ids, recipients, at, mailFrom, headerFrom, subject, messageId, tls, JSON.stringify(dkim), raw])
  return ids
}

/** The newest mails, newest first. */
export async function listInbox(db: Queryable, limit: number): Promise<InboxLine[]> {
  const { rows } = await db.query<InboxLine>(
    `SELECT ${COLUMNS} FROM sandbox_inbox ORDER BY received_at DESC, id DESC LIMIT $1`,
    [limit],
  )
  return rows
}

/** The newest mail that fits: the inbox id or its last hex digits, or the id of our message. Null for none. */
export async function findInboxMail(
  db: Queryable,
  wanted: { readonly idEnd: string } | { readonly messageId: string } | 'last',
): Promise<InboxMail | null> {
  const [where, value] =
    wanted === 'last'
      ? ['true', null]
      : 'messageId' in wanted
        ? ['message_id = $1', wanted.messageId]
        : [`replace(id::text, '-', '') LIKE '%' || $1`, wanted.idEnd]
  const {
    rows: [row],
  } = await db.query<InboxMail>(
    `SELECT ${COLUMNS}, raw FROM sandbox_inbox WHERE ${where} ORDER BY received_at DESC, id DESC LIMIT 1`,
    value === null ? [] : [value],
  )
  return row ?? null
}

/** Forgets what was received before that moment; answers how much. */
export async function pruneInbox(db: Queryable, before: Date): Promise<number> {
  const { rowCount } = await db.query('DELETE FROM sandbox_inbox WHERE received_at < $1', [before])
  return rowCount ?? 0
}

/** A line of a workspace's own. */
export interface CapturedLine extends InboxLine {
  /** Bytes. */
  readonly size: number
}

/** What a workspace's messages brought here, the newest first. */
export function listCaptured(db: Queryable, workspaceId: string, wish: PageWish): Promise<Page<CapturedLine>> {
  return readPage(
    db,
    {
      columns: `${COLUMNS}, octet_length(raw) AS size`,
      from: 'sandbox_inbox',
      where: 'workspace_id = $1',
      order: 'id DESC',
      values: [workspaceId],
    },
    wish,
  )
}

/** Null: the workspace has none with this id. */
export async function findCaptured(db: Queryable, workspaceId: string, id: string): Promise<InboxMail | null> {
  const { rows } = await db.query<InboxMail>(
    `SELECT ${COLUMNS}, raw FROM sandbox_inbox WHERE workspace_id = $1 AND id = $2`,
    [workspaceId, id],
  )
  return rows[0] ?? null
}

/** Forgets one, or with null all of a workspace; answers how many. */
export async function forgetCaptured(db: Queryable, workspaceId: string, id: string | null): Promise<number> {
  const { rowCount } = await db.query(
    'DELETE FROM sandbox_inbox WHERE workspace_id = $1 AND ($2::uuid IS NULL OR id = $2)',
    [workspaceId, id],
  )
  return rowCount ?? 0
}
