/**
 * Events that are not moves of a recipient: a contact joined, a domain was verified. Written in the transaction of the change that they tell
 * of, together with the webhook deliveries they cause: the change and its event are both there or neither is. Afterwards `announce` wakes the
 * webhook sender; when that is lost, it looks by itself.
 */
import { columnsOf, jsonOrNull } from '#src/columns.ts'
import type { Context } from '#src/context.ts'
import { prepared, type Queryable } from '#src/db.ts'
import { newId } from '#src/id.ts'
import { WEBHOOKS_CHANNEL } from '#src/queue/keys.ts'

export interface WorkspaceEvent {
  readonly workspaceId: string
  readonly type: 'contact.subscribed' | 'contact.unsubscribed' | 'domain.verified' | 'domain.degraded'
  /** The address it is about, if any. */
  readonly recipient: string | null
  readonly data: Readonly<Record<string, unknown>>
}

const RAISE = prepared('events-raise', `
WITH new_events AS (
  INSERT INTO events (id, workspace_id, type, recipient, data, created_at)
  SELECT id, workspace_id, type, recipient, data::jsonb, $6 FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[]) AS e (id, workspace_id, type, recipient, data)
  RETURNING id, workspace_id, type
), new_deliveries AS (
  INSERT INTO webhook_deliveries (event_id, endpoint_id, workspace_id, due_at)
  SELECT e.id, w.id, e.workspace_id, $6
  FROM new_events e JOIN webhook_endpoints w ON w.workspace_id = e.workspace_id AND w.is_active AND w.event_types && ARRAY['*', e.type]
  RETURNING 1
)
SELECT count(*) AS deliveries FROM new_deliveries`)

/** Inside the transaction of the change. True when a webhook waits for one of them. */
export async function raiseEvents(tx: Queryable, events: readonly WorkspaceEvent[], now: Date): Promise<boolean> {
  if (events.length === 0) return false
  const columns = columnsOf(events, [() => newId(now.getTime()), (e) => e.workspaceId, (e) => e.type, (e) => e.recipient, (e) => jsonOrNull(e.data)])
  const { rows } = await tx.query<{ deliveries: number }>(RAISE, [...columns, now])
  return (rows[0]?.deliveries ?? 0) > 0
}

/** After the commit; `hasDeliveries` is what `raiseEvents` answered. */
export function announce(ctx: Pick<Context, 'redis'>, hasDeliveries: boolean): void {
  if (hasDeliveries) ctx.redis.publish(WEBHOOKS_CHANNEL, '').catch(() => undefined)
}
