/**
 * Renumbers events that were restored from a dump of another PostgreSQL cluster. They may have transaction ids that
 * this cluster has not reached, and the feed would hide them until it has. Every migration gives them the id of one
 * current transaction: they keep their order and come before all later events. Without such events it costs one index
 * lookup per workspace.
 */
import { sql } from './sql.ts'
const RENUMBER = sql`
  WITH ahead AS (
    UPDATE events e
    SET tx = pg_current_xact_id()
    FROM workspaces w
    WHERE e.workspace_id = w.id AND e.tx >= pg_snapshot_xmax(pg_current_snapshot())
    RETURNING e.id
  )
  UPDATE webhook_deliveries d
  SET tx = pg_current_xact_id()
  FROM ahead
  WHERE d.event_id = ahead.id
`

export async function renumberRestoredEvents(run: (statement: string) => Promise<unknown>): Promise<void> {
  await run(RENUMBER)
}
