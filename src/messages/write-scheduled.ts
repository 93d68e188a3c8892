/** Writes the changed columns and attachments of a scheduled message, inside the transaction that locked it. */
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { weeksOf } from '#src/stores/weeks.ts'
import { bodyColumn, joinBody } from './bodies.ts'
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
  const columns = columnsOf(given, false)
  if (columns !== null)
    await tx.query(`UPDATE messages SET ${columns.assignments} WHERE id = $1`, [id, ...columns.values])
  const body = columnsOf(given, true)
  if (body !== null) {
    await tx.query(`UPDATE message_bodies SET ${body.assignments} WHERE message_id = $1`, [id, ...body.values])
    await tx.query(`UPDATE messages SET ${body.assignments} WHERE id = $1 AND NOT has_body_row`, [id, ...body.values])
  }
  if (fields.tags !== undefined) await writeTags(tx, id, fields.tags ?? [])
}

interface Assigned {
  readonly assignments: string
  readonly values: readonly unknown[]
}

/** The assignments of the columns that are of the body, or of those that are not; null: none. $1 is the id. */
function columnsOf(given: readonly (readonly [ColumnName, unknown])[], isBody: boolean): Assigned | null {
  const chosen = given.filter(([name]) => 'isBody' in MESSAGE_COLUMNS[name] === isBody)
  if (chosen.length === 0) return null
  return {
    assignments: chosen.map(([name], i) => `${name} = $${i + 2}::${MESSAGE_COLUMNS[name].type.name}`).join(', '),
    values: chosen.map(([name, value]) => (isJson(name) && value !== null ? JSON.stringify(value) : value)),
  }
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

const HTML = bodyColumn('html')
const TEXT = bodyColumn('body_text')
const RAW = bodyColumn('raw')

/** Stores `content_size`, which counts as `contentSizeOf` does, and returns the bytes of the texts and attachments. */
export async function updateContentSize(tx: Queryable, id: string): Promise<number> {
  const weeks = weeksOf([id])
  const { rows } = await tx.query<{ bytes: string | number }>(
    sql`
      UPDATE messages m
      SET content_size = f.characters + f.attached
      FROM (
        SELECT coalesce(length(${HTML}), 0) + coalesce(length(${TEXT}), 0) + coalesce(octet_length(${RAW}), 0)
            AS characters,
          coalesce(octet_length(${HTML}), 0) + coalesce(octet_length(${TEXT}), 0) AS bytes,
          (SELECT coalesce(sum(octet_length(content)), 0)::int FROM attachments WHERE message_id = $1) AS attached
        FROM messages m
        ${joinBody(weeks)}
        WHERE m.id = $1 AND ${weeks.contain('m.id')}
      ) f
      WHERE m.id = $1 AND ${weeks.contain('m.id')}
      RETURNING f.bytes + f.attached AS bytes
    `,
    [id],
  )
  return Number(rows[0]?.bytes ?? 0)
}
