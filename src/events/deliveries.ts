/**
 * SQL that creates the webhook deliveries of new events: one for each active endpoint of the workspace that subscribes
 * to the type. It is part of every statement that writes events, so an event and its deliveries are committed together.
 */
import { sql } from '#src/stores/sql.ts'

/**
 * The CTE `new_deliveries`. The statement must have a CTE `new_events` that returns id, workspace_id and type.
 * @param dueAt SQL: when the first attempt is due
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
