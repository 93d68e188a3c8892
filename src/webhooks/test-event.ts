/**
 * Sends a test event: a sample event of a real type to one endpoint, whatever it subscribes to. It is stored, signed,
 * retried and logged like any other; its `data.test` is true and its ids name no message.
 */
import { ALL_TYPES, EVENT_TYPES, isEventType, type EventType } from '#src/events/catalogue.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { notifySender, type Endpoint, type NotifyDeps } from './endpoints.ts'

const RECIPIENT = 'recipient@example.com'

/** The type to send if the request names none. */
export function testEventTypeOf(endpoint: Endpoint): EventType {
  return endpoint.eventTypes.filter((type) => type !== ALL_TYPES).find(isEventType) ?? 'email.delivered'
}

/** Returns the id of the event; null if the endpoint is disabled. */
export async function sendTestEvent(
  ctx: NotifyDeps,
  workspaceId: string,
  endpoint: Endpoint,
  type: EventType,
): Promise<string | null> {
  // the time in the id determines the partition of the event
  const nowMs = ctx.db.clock.now()
  const id = newId(nowMs)
  const isAboutMail = type.startsWith('email.')
  const mail = isAboutMail ? { to: [RECIPIENT], subject: 'A test event' } : {}
  const { rowCount } = await ctx.db.query(
    sql`
      WITH target AS (
        SELECT id
        FROM webhook_endpoints
        WHERE id = $1 AND workspace_id = $2 AND is_active
      ),
      event AS (
        INSERT INTO events (id, workspace_id, type, message_id, n, sequence, recipient, data, created_at)
        SELECT $3, $2, $4, $5, $6, $7, $8, $9, now()
        FROM target
      )
      INSERT INTO webhook_deliveries (event_id, endpoint_id, workspace_id, due_at)
      SELECT $3, id, $2, now()
      FROM target
    `,
    [
      endpoint.id,
      workspaceId,
      id,
      type,
      ...(isAboutMail ? [newId(nowMs), 0, 1, RECIPIENT] : [null, null, null, null]),
      JSON.stringify({ test: true, ...mail, ...EVENT_TYPES[type].sample }),
    ],
  )
  if (rowCount !== 1) return null
  notifySender(ctx)
  return id
}
