/**
 * Events that came from another PostgreSQL cluster, with a dump, may carry numbers of transactions that this cluster has not reached. They
 * would be hidden from the feed until it has. At every migration they are given the number of one transaction of now: they keep their order
 * among themselves, and stand before all that is written from now on. Costs one look at the index a workspace where there is none.
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

export async function adoptRestoredEvents(run: (statement: string) => Promise<unknown>): Promise<void> {
  await run(RENUMBER)
}
