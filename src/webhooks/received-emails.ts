/**
 * Adds the content of received emails to their events, for webhooks. An event stores only the id of the mail, so that
 * deleting the mail deletes its content everywhere; the event of a deleted mail has the id alone.
 */
import type { EventRow } from '#src/events/reported-event.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'

const TYPE = 'email.received'

const CONTENTS = prepared(
  'webhooks-received',
  sql`
    SELECT e.id, e.content
    FROM unnest($1::uuid[], $2::uuid[]) AS i (id, workspace_id)
    JOIN received_emails e ON e.id = i.id AND e.workspace_id = i.workspace_id
    WHERE e.content IS NOT NULL
  `,
)

export async function addReceivedEmails<R extends EventRow>(db: Queryable, events: readonly R[]): Promise<R[]> {
  const wanted = events.filter((event) => idOf(event) !== null)
  if (wanted.length === 0) return [...events]
  const { rows } = await db.query<{ id: string; content: Record<string, unknown> }>(CONTENTS, [
    wanted.map(idOf),
    wanted.map((event) => event.workspace_id),
  ])
  const contents = new Map(rows.map(({ id, content }) => [id, content]))
  return events.map((event) => {
    const content = contents.get(idOf(event) ?? '')
    return content === undefined ? event : { ...event, data: { ...event.data, ...content } }
  })
}

function idOf({ type, data }: EventRow): string | null {
  const id = type === TYPE ? data?.['received_email_id'] : undefined
  return typeof id === 'string' ? id : null
}
