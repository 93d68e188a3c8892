/** Writes the changed columns and attachments of a scheduled message, inside the transaction that locked it. */
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { MESSAGE_COLUMNS, type ColumnName, type MessageRow } from './columns.ts'
import { storeAttachments } from './message-store.ts'
import type { Attachment } from './submission.ts'

/** The columns that a change may write. */
type ChangeableColumn =
  | 'api_key_id'
  | 'domain_id'
  | 'tier'
  | 'from_email'
  | 'from_name'
  | 'reply_to'
  | 'to_list'
  | 'cc_list'
  | 'subject'
  | 'html'
  | 'body_text'
  | 'headers'
  | 'tags'
  | 'metadata'
  | 'track_opens'
  | 'track_clicks'
  | 'scheduled_at'
  | 'timezone'
  | 'expires_at'
  | 'template'

/** New values of columns; a column that is absent stays. */
export type ChangedFields = { readonly [Name in ChangeableColumn]?: MessageRow[Name] | undefined }

export async function writeFields(tx: Queryable, id: string, fields: ChangedFields): Promise<void> {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined) as [ColumnName, unknown][]
  if (given.length === 0) return
  const assignments = given.map(([name], i) => `${name} = $${i + 2}::${MESSAGE_COLUMNS[name].type.name}`)
  const values = given.map(([name, value]) => (isJson(name) && value !== null ? JSON.stringify(value) : value))
  await tx.query(`UPDATE messages SET ${assignments.join(', ')} WHERE id = $1`, [id, ...values])
  if (fields.tags !== undefined) await writeTags(tx, id, fields.tags ?? [])
}

function isJson(name: ColumnName): boolean {
  return MESSAGE_COLUMNS[name].type.name === 'jsonb'
}

async function writeTags(tx: Queryable, id: string, tags: readonly string[]): Promise<void> {
  await tx.query('DELETE FROM message_tags WHERE message_id = $1', [id])
  await tx.query(
    sql`
      INSERT INTO message_tags (workspace_id, tag, message_id)
      SELECT DISTINCT m.workspace_id, tag, m.id
      FROM messages m
      CROSS JOIN unnest($2::text[]) AS tag
      WHERE m.id = $1
    `,
    [id, tags],
  )
}

/** The attachments take the place of those that the message has. */
export async function replaceAttachments(tx: Queryable, id: string, attachments: readonly Attachment[]): Promise<void> {
  await tx.query('DELETE FROM attachments WHERE message_id = $1', [id])
  await storeAttachments(tx, { id, attachments })
  await tx.query('UPDATE messages SET has_attachments = $2 WHERE id = $1', [id, attachments.length > 0])
}

/** Stores `content_size`, which counts as `contentSizeOf` does, and returns the bytes of the texts and attachments. */
export async function updateContentSize(tx: Queryable, id: string): Promise<number> {
  const { rows } = await tx.query<{ bytes: string | number }>(
    sql`
      UPDATE messages m
      SET content_size = coalesce(length(m.html), 0) + coalesce(length(m.body_text), 0)
        + coalesce(octet_length(m.raw), 0) + f.bytes
      FROM (
        SELECT coalesce(sum(octet_length(content)), 0)::int AS bytes
        FROM attachments
        WHERE message_id = $1
      ) f
      WHERE m.id = $1
      RETURNING coalesce(octet_length(m.html), 0) + coalesce(octet_length(m.body_text), 0) + f.bytes AS bytes
    `,
    [id],
  )
  return Number(rows[0]?.bytes ?? 0)
}
