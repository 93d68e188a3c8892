/**
 * The received emails of a workspace: list, read, delete, and raise their event again. Every statement names the
 * workspace. Mail that is older than INBOUND_RETENTION_DAYS is deleted by the worker, with its attachments.
 */
import type { Context } from '#src/context.ts'
import { raiseEvents } from '#src/events/raise.ts'
import { publishNotifications } from '#src/queue/notifications.ts'
import type { Queryable } from '#src/stores/db.ts'
import { newestFirst, readPage, type Page, type PageRequest } from '#src/stores/page.ts'
import { sql } from '#src/stores/sql.ts'
import type { ForwardResult } from './forwarding.ts'
import type { SpamVerdict } from './received-content.ts'
import type { StoredEmailContent } from './stored-content.ts'

export const RECEIVED_STATES = ['received', 'processed', 'unreadable'] as const

export interface ReceivedEmail {
  readonly id: string
  readonly routeId: string
  readonly recipient: string
  readonly mailFrom: string
  readonly fromAddress: string
  readonly subject: string | null
  readonly size: number
  readonly state: (typeof RECEIVED_STATES)[number]
  readonly spamVerdict: SpamVerdict | null
  /** Null: its route forwards nothing, or it is not processed yet. */
  readonly forwardResult: ForwardResult | null
  readonly forwardMessageId: string | null
}

export interface ReceivedEmailWithContent extends ReceivedEmail {
  /** Null until it is processed. */
  readonly content: StoredEmailContent | null
}

export interface ReceivedFile {
  readonly filename: string | null
  readonly contentType: string
  readonly content: Buffer
}

export interface ReceivedFilter {
  readonly routeId: string | null
  readonly spamVerdict: SpamVerdict | null
}

const COLUMNS = sql`
  id, route_id AS "routeId", recipient, mail_from AS "mailFrom", from_address AS "fromAddress", subject, size, state,
  spam_verdict AS "spamVerdict", forward_result AS "forwardResult", forward_message_id AS "forwardMessageId"
`

/** The newest first. */
export function listReceived(
  db: Queryable,
  workspaceId: string,
  { routeId, spamVerdict, ...page }: ReceivedFilter & PageRequest,
): Promise<Page<ReceivedEmail>> {
  const where = sql`
    workspace_id = $1 AND ($2::uuid IS NULL OR route_id = $2) AND ($3::text IS NULL OR spam_verdict = $3)
  `
  const values = [workspaceId, routeId, spamVerdict]
  return readPage(db, { columns: COLUMNS, from: 'received_emails', where, order: newestFirst(), values }, page)
}

export async function findReceived(
  db: Queryable,
  workspaceId: string,
  id: string,
): Promise<ReceivedEmailWithContent | null> {
  const { rows } = await db.query<ReceivedEmailWithContent>(
    `SELECT ${COLUMNS}, content FROM received_emails WHERE workspace_id = $1 AND id = $2`,
    [workspaceId, id],
  )
  return rows[0] ?? null
}

/** The complete mail. `workspaceId` null: the caller has a link to the file. */
export async function findSource(db: Queryable, workspaceId: string | null, id: string): Promise<ReceivedFile | null> {
  const { rows } = await db.query<{ raw: Buffer }>(
    'SELECT raw FROM received_emails WHERE id = $2 AND ($1::uuid IS NULL OR workspace_id = $1)',
    [workspaceId, id],
  )
  const [row] = rows
  return row === undefined ? null : { filename: `${id}.eml`, contentType: 'message/rfc822', content: row.raw }
}

/** The caller has a link to the file. */
export async function findAttachment(db: Queryable, emailId: string, n: number): Promise<ReceivedFile | null> {
  const { rows } = await db.query<ReceivedFile>(
    sql`
      SELECT filename, content_type AS "contentType", content
      FROM received_attachments
      WHERE email_id = $1 AND n = $2
    `,
    [emailId, n],
  )
  return rows[0] ?? null
}

/** Its events stay, without its content. False if there is no such mail. */
export async function deleteReceived(db: Queryable, workspaceId: string, id: string): Promise<boolean> {
  const { rowCount } = await db.query('DELETE FROM received_emails WHERE workspace_id = $1 AND id = $2', [
    workspaceId,
    id,
  ])
  return rowCount === 1
}

/** Raises `email.received` again, as a new event for all endpoints of now. */
export async function replayReceived(
  ctx: Pick<Context, 'db' | 'clock' | 'redis' | 'log'>,
  workspaceId: string,
  id: string,
): Promise<'replayed' | 'not-found' | 'not-processed'> {
  const mail = await findReceived(ctx.db, workspaceId, id)
  if (mail === null) return 'not-found'
  if (mail.state === 'received') return 'not-processed'
  const event = {
    workspaceId,
    type: 'email.received' as const,
    recipient: mail.recipient,
    data: { received_email_id: id, route_id: mail.routeId, is_replay: true },
  }
  const now = new Date(ctx.clock.now())
  publishNotifications(ctx, await ctx.db.transaction((tx) => raiseEvents(tx, [event], now)))
  return 'replayed'
}

/** Mails of one call, with their attachments. */
const SLICE = 500

/** Deletes a slice of what is older, and the old counts. True if there may be more. */
export async function deleteOldReceived(db: Queryable, days: number): Promise<boolean> {
  await db.query(`DELETE FROM inbound_usage WHERE day < current_date - $1::integer - 1`, [days])
  const { rowCount } = await db.query(
    sql`
      DELETE FROM received_emails
      WHERE id IN (
        SELECT id
        FROM received_emails
        WHERE id < (
          lpad(to_hex((extract(epoch FROM now() - make_interval(days => $1)) * 1000)::bigint), 12, '0')
          || repeat('0', 20)
        )::uuid
        ORDER BY id
        LIMIT ${SLICE}
      )
    `,
    [days],
  )
  return rowCount === SLICE
}
