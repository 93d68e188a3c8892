/**
 * Who is told of an event: each endpoint of its workspace that is on and wants its type. A part of every statement that writes events, so
 * that an event and its deliveries are committed together or not at all.
 */
import { sql } from '#src/stores/sql.ts'

/**
 * The part `new_deliveries`, a row for each; the statement's part `new_events` answers id, workspace_id and type.
 * @param dueAt SQL: when the first try is due.
 */
export function newDeliveries(dueAt: string): string {
  return sql`
    new_deliveries AS (
      INSERT INTO webhook_deliveries (event_id, endpoint_id, workspace_id, due_at)
      SELECT e.id, w.id, e.workspace_id, ${dueAt}
      FROM new_events e
      JOIN webhook_endpoints w
        ON w.workspace_id = e.workspace_id AND w.is_active AND w.event_types && ARRAY['*', e.type]
      RETURNING 1
    )
  `
}
