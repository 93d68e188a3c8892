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

/** A mail of a batch, and its place there. */
interface BatchedMail extends CapturedMail {
  readonly place: number
  readonly receivedAt: Date
}

interface BatchedRecipient {
  readonly id: string
  readonly rcptTo: string
  /** Of its mail. */
  readonly place: number
}

const MAILS = defineInput(1, {
  place: ['integer', (mail: BatchedMail) => mail.place],
  received_at: ['timestamptz', (mail) => mail.receivedAt],
  mail_from: ['text', (mail) => mail.mailFrom],
  header_from: ['text', (mail) => mail.headerFrom],
  subject: ['text', (mail) => mail.subject],
  message_id: ['uuid', (mail) => mail.messageId],
  tls: ['text', (mail) => mail.tls],
  dkim: ['jsonb', (mail) => JSON.stringify(mail.dkim)],
  raw: ['bytea', (mail) => mail.raw],
})

const RECIPIENTS = defineInput(MAILS.nextParameter, {
  id: ['uuid', (recipient: BatchedRecipient) => recipient.id],
  rcpt_to: ['text', (recipient) => recipient.rcptTo],
  place: ['integer', (recipient) => recipient.place],
})

// a mail is passed once, because it may be large and have many recipients
const INSERT = weekly(
  'sandbox-inbox-insert',
  (weeks) => sql`
    INSERT INTO sandbox_inbox (
      id, rcpt_to, received_at, mail_from, header_from, subject, message_id, tls, dkim, raw, workspace_id
    )
    SELECT r.id, r.rcpt_to, m.received_at, m.mail_from, m.header_from, m.subject, m.message_id, m.tls, m.dkim, m.raw,
      (SELECT messages.workspace_id FROM messages WHERE messages.id = m.message_id AND ${weeks.contain('messages.id')})
    FROM ${MAILS.from('m')}
    JOIN ${RECIPIENTS.from('r')} ON r.place = m.place
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
  const mails = received.map(({ mail, at }, place): BatchedMail => ({ ...mail, receivedAt: at, place }))
  const recipients = received.map(({ recipients: addresses, at }, place) =>
    addresses.map((rcptTo): BatchedRecipient => ({ id: newId(at.getTime()), rcptTo, place })),
  )
  const messageIds = mails.flatMap(({ messageId }) => messageId ?? [])
  const parameters = [...MAILS.parametersOf(mails), ...RECIPIENTS.parametersOf(recipients.flat())]
  await db.query(INSERT.for(messageIds), parameters)
  return recipients.map((ofMail) => ofMail.map(({ id }) => id))
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
