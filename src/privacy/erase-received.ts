/**
 * Erases the mail that a person sent to a workspace, with its attachments and the webhooks that had its content, found
 * by the From address or the envelope sender. The events of that mail name only the address that received it.
 */
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { weeksOf } from '#src/stores/weeks.ts'
import { deleteWebhooks } from './erase-messages.ts'
import { isSpelling, type Person, type SliceResult, spelled, spellingParameters } from './person.ts'

/** Mail may be large. */
const SLICE = 100

const FOUND = (column: string, indexed: string): string => sql`
  SELECT e.id, e.${column} AS address
  FROM ${spelled({ table: 'received_emails', as: 'e', column, indexed })}
  LIMIT ${SLICE}
`
const STATEMENTS = [
  FOUND('from_address', 't.from_address'),
  FOUND('mail_from', 'lower(t.mail_from) COLLATE "C"'),
] as const

/** The next slice begins at the start again: what it erased is gone. */
export async function eraseReceived(tx: Queryable, person: Person): Promise<SliceResult> {
  const ids: string[] = []
  for (const statement of STATEMENTS) {
    const { rows } = await tx.query<{ id: string; address: string }>(statement, [
      person.workspaceId,
      ...spellingParameters(person),
    ])
    ids.push(...rows.filter(({ address }) => isSpelling(person, address)).map(({ id }) => id))
  }
  await deleteWebhooks(tx, await findEvents(tx, person, ids))
  const { rowCount } = await tx.query('DELETE FROM received_emails WHERE id = ANY ($1::uuid[])', [ids])
  const deleted = rowCount ?? 0
  return { deleted: { received_emails: deleted }, next: deleted === 0 ? null : 'more' }
}

/** Also those of replays, which are younger. */
async function findEvents(tx: Queryable, { workspaceId }: Person, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return []
  const { rows } = await tx.query<{ id: string }>(
    sql`
      SELECT id
      FROM events
      WHERE workspace_id = $1 AND type = 'email.received' AND data ->> 'received_email_id' = ANY ($2::text[])
        AND ${weeksOf(ids).precede('id')}
    `,
    [workspaceId, ids],
  )
  return rows.map(({ id }) => id)
}
