/**
 * Raises events that are not transitions of a recipient: a contact joined, a domain was verified. They are written in
 * the transaction of the change, with their webhook deliveries, so the change and its event are stored together or not
 * at all. After the commit the caller publishes the returned notifications (src/queue/notifications.ts).
 */
import { columnsOf, jsonOrNull } from '#src/stores/column-arrays.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { newId } from '#src/platform/id.ts'
import type { EventTypeRaisedBy } from './catalogue.ts'
import { newDeliveries } from './deliveries.ts'
import { NO_NOTIFICATIONS, type CommitNotifications } from '#src/queue/notifications.ts'
import { sql } from '#src/stores/sql.ts'

export interface WorkspaceEvent {
  readonly workspaceId: string
  readonly type: EventTypeRaisedBy<'change'>
  /** The address of the event, if any. */
  readonly recipient: string | null
  readonly data: Readonly<Record<string, unknown>>
}

const INSERT_EVENTS = prepared(
  'events-raise',
  sql`
    WITH new_events AS (
      INSERT INTO events (id, workspace_id, type, recipient, data, created_at)
      SELECT id, workspace_id, type, recipient, data::jsonb, $6
      FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[]) AS e (
        id, workspace_id, type, recipient, data
      )
      RETURNING id, workspace_id, type
    ),
    ${newDeliveries('$6')}
    SELECT count(*) AS deliveries
    FROM new_deliveries
  `,
)

/** Runs in the transaction of the change. Returns what to publish after the commit (`publishNotifications`). */
export async function raiseEvents(
  tx: Queryable,
  events: readonly WorkspaceEvent[],
  now: Date,
): Promise<CommitNotifications> {
  if (events.length === 0) return NO_NOTIFICATIONS
  const columns = columnsOf(events, [
    () => newId(now.getTime()),
    (e) => e.workspaceId,
    (e) => e.type,
    (e) => e.recipient,
    (e) => jsonOrNull(e.data),
  ])
  const { rows } = await tx.query<{ deliveries: number }>(INSERT_EVENTS, [...columns, now])
  return {
    hasDeliveries: (rows[0]?.deliveries ?? 0) > 0,
    workspaces: [...new Set(events.map(({ workspaceId }) => workspaceId))],
  }
}
