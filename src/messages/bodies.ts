/**
 * Where the bodies of messages are: in `message_bodies`, in the partition of their week, so that a week of them is
 * dropped at once while the messages stay (decision 070). Mail that was accepted before migration 062 has its body in
 * the columns of `messages` that have the same names. A body that is no longer stored is in neither. Many bodies are
 * stored compressed, in one column (`body-compression.ts`).
 */
import type { Weeks } from '#src/stores/weeks.ts'
import { sql } from '#src/stores/sql.ts'

/** SQL: whether bodies of new mail are stored in message_bodies. It never becomes false while a process runs. */
export const BODIES_ARE_APART = 'bodies_are_apart'
/** SQL: an item of a FROM clause with that column. A subquery in each place would read the table as often. */
export const BODY_STORAGE = `(SELECT apart_since IS NOT NULL AS ${BODIES_ARE_APART} FROM body_storage) AS storage`

/** SQL: joins the body of the message `m` as `b`, with `is_stored`. */
export function joinBody(weeks: Weeks): string {
  return sql`
    LEFT JOIN LATERAL (
      SELECT t.html, t.body_text, t.raw, t.compressed, true AS is_stored
      FROM message_bodies t
      WHERE t.message_id = m.id AND m.has_body_row AND ${weeks.contain('t.message_id')}
      -- not flattened: mail without a body costs no look at the index
      OFFSET 0
    ) b ON true`
}

/** SQL: the compressed body of `m`, in a statement with `joinBody`; if not null, the other columns are. */
export const COMPRESSED_BODY = 'b.compressed'

/** SQL: a column of the body of `m`, in a statement with `joinBody`, unless the body is compressed. */
export function bodyColumn(name: 'html' | 'body_text' | 'raw'): string {
  return `coalesce(m.${name}, b.${name})`
}

/**
 * SQL: the body of `m` was deleted. Mail without a text is stored with a row of nulls; of earlier mail, one of which
 * there is nothing but attachments was accepted so.
 */
export const IS_BODY_GONE = sql`
  (CASE WHEN m.has_body_row THEN b.is_stored IS NULL
    ELSE m.content_id IS NULL AND m.content_size > 0 AND NOT m.has_attachments
      AND num_nonnulls(m.html, m.body_text, m.raw) = 0 END)`
