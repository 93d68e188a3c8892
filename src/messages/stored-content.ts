/**
 * The stored content of a message of a workspace, for its owner: what was submitted, with its attachments. Null parts
 * were deleted when their time was over (retention), or never were there. Only the owner's workspace finds it.
 *
 * Confidential mail, such as an invitation, has a link that gives access. Its content is never returned, because the
 * members and keys of the workspace have fewer rights than the link.
 */
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { loadAttachments, loadBodies } from './claim.ts'
import type { ColumnName, MessageRow } from './columns.ts'
import type { Attachment } from './submission.ts'

const READ = [
  'id',
  'api_key_id',
  'domain_id',
  'tier',
  'from_email',
  'from_name',
  'reply_to',
  'to_list',
  'cc_list',
  'subject',
  'headers',
  'tags',
  'metadata',
  'has_attachments',
  'content_size',
  'track_opens',
  'track_clicks',
  'recipient_count',
  'created_at',
  'submitted',
  'template',
  'content_id',
  'is_confidential',
] as const satisfies readonly ColumnName[]

/** With its bodies, which are stored apart. */
export type StoredContentRow = Pick<MessageRow, (typeof READ)[number] | 'html' | 'body_text' | 'raw'>

export interface ContentRecipient {
  readonly n: number
  readonly address: string
  /** Its domain, or the account that sends it. */
  readonly domain: string
  readonly kind: 'to' | 'cc' | 'bcc'
  readonly state: string
}

export interface StoredMessageContent {
  readonly kind: 'content'
  readonly row: StoredContentRow
  readonly recipients: readonly ContentRecipient[]
  /** False: the texts and attachments were deleted, since their time was over. */
  readonly isStored: boolean
}

const FIND = sql`SELECT ${READ.join(', ')} FROM messages WHERE id = $1 AND workspace_id = $2`
const FIND_RECIPIENTS = sql`SELECT n, address, domain, kind, state FROM recipients WHERE message_id = $1 ORDER BY n`

/** Null when the workspace has no such message. */
export async function findStoredContent(
  db: Queryable,
  workspaceId: string,
  messageId: string,
): Promise<StoredMessageContent | { readonly kind: 'confidential' } | null> {
  const { rows } = await db.query<Pick<MessageRow, (typeof READ)[number]>>(FIND, [messageId, workspaceId])
  const [found] = rows
  if (found === undefined) return null
  if (found.is_confidential) return { kind: 'confidential' }
  const { html, text, raw, isBodyGone } = await loadBodies(db, messageId)
  const row = { ...found, html, body_text: text, raw }
  const { rows: recipients } = await db.query<ContentRecipient>(FIND_RECIPIENTS, [messageId])
  return { kind: 'content', row, recipients, isStored: !isBodyGone }
}

/** Its attachments; fewer than it had once their time is over. */
export function loadStoredAttachments(db: Queryable, { row }: StoredMessageContent): Promise<readonly Attachment[]> {
  return row.has_attachments ? loadAttachments(db, row.id) : Promise.resolve([])
}
