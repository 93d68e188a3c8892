/**
 * Raises events of a recipient that do not change its state: a complaint, an unsubscribe. Each type is raised once per
 * recipient, also for concurrent reports: the recipient is locked while its events are checked. The events, their
 * webhook deliveries and the ledger of the campaign are written in the transaction of the caller.
 */
import { columnsOf, jsonOrNull } from '#src/stores/column-arrays.ts'
import type { Queryable } from '#src/stores/db.ts'
import type { EventTypeRaisedBy } from '#src/events/catalogue.ts'
import { newDeliveries } from '#src/events/deliveries.ts'
import { NO_NOTIFICATIONS, type CommitNotifications } from '#src/queue/notifications.ts'
import { sql } from '#src/stores/sql.ts'
import { expectOneRow, weekly } from '#src/stores/weeks.ts'

export interface RecipientEvent {
  readonly id: string
  readonly messageId: string
  readonly n: number
  readonly type: EventTypeRaisedBy<'report'>
  readonly data: object
}

export interface RaisedEvents extends CommitNotifications {
  /** Ids of the new events. */
  readonly raised: ReadonlySet<string>
}

const LOCK = weekly(
  'recipient-events-lock',
  (weeks) => sql`
    SELECT 1
    FROM recipients r
    JOIN unnest($1::uuid[], $2::smallint[]) AS i (message_id, n) ON r.message_id = i.message_id AND r.n = i.n
    WHERE ${expectOneRow('i.n')} AND ${weeks.contain('r.message_id')}
    ORDER BY r.message_id, r.n
    FOR NO KEY UPDATE OF r
  `,
)

const RAISE = weekly(
  'recipient-events-raise',
  (weeks) => sql`
    WITH input AS (
      SELECT i.*
      FROM unnest($1::uuid[], $2::uuid[], $3::smallint[], $4::text[], $5::text[]) WITH ORDINALITY AS i (
        id, message_id, n, type, data, ord
      )
      WHERE ${expectOneRow('ord')} AND NOT EXISTS (
        SELECT FROM events e
        WHERE e.message_id = i.message_id AND e.n = i.n AND e.type = i.type AND ${weeks.precede('e.id')}
      )
    ),
    alone AS (
      UPDATE recipients r
      SET sequence = r.sequence + 1
      FROM input i
      WHERE r.message_id = i.message_id AND r.n = i.n AND r.is_only AND ${weeks.contain('r.message_id')}
      RETURNING i.id, r.sequence
    ),
    shared AS (
      UPDATE messages m
      SET event_count = m.event_count + s.events
      FROM (
        SELECT i.message_id, count(*) AS events
        FROM input i
        WHERE NOT EXISTS (SELECT FROM alone a WHERE a.id = i.id)
        GROUP BY i.message_id
      ) s
      WHERE m.id = s.message_id AND ${weeks.contain('m.id')}
      RETURNING m.id, m.event_count - s.events AS base
    ),
    new_events AS (
      INSERT INTO events (id, workspace_id, type, message_id, n, sequence, recipient, data, created_at)
      SELECT i.id, r.workspace_id, i.type, i.message_id, i.n,
        coalesce(a.sequence, s.base + row_number() OVER (PARTITION BY i.message_id ORDER BY i.ord)), r.address,
        i.data::jsonb, $6
      FROM input i
      JOIN recipients r ON r.message_id = i.message_id AND r.n = i.n AND ${weeks.contain('r.message_id')}
      LEFT JOIN alone a ON a.id = i.id
      LEFT JOIN shared s ON s.id = i.message_id
      RETURNING id, workspace_id, type
    ),
    ${newDeliveries('$6')},
    ledger AS (
      UPDATE campaign_recipients l
      SET complained_at = CASE i.type WHEN 'email.complained' THEN $6 ELSE l.complained_at END,
        unsubscribed_at = CASE i.type
          WHEN 'email.unsubscribed' THEN coalesce(l.unsubscribed_at, $6)
          ELSE l.unsubscribed_at
        END
      FROM input i
      JOIN recipients r ON r.message_id = i.message_id AND r.n = i.n AND ${weeks.contain('r.message_id')}
      WHERE r.campaign_id IS NOT NULL AND l.message_id = r.message_id
    )
    SELECT ARRAY(SELECT id::text FROM new_events) AS raised, (SELECT count(*) FROM new_deliveries) AS deliveries,
      ARRAY(SELECT DISTINCT workspace_id::text FROM new_events) AS workspaces
  `,
)

/** Call it in a transaction. The events of a batch must differ in recipient or type. */
export async function raiseRecipientEvents(
  tx: Queryable,
  events: readonly RecipientEvent[],
  now: Date,
): Promise<RaisedEvents> {
  if (events.length === 0) return { ...NO_NOTIFICATIONS, raised: new Set() }
  const ids = events.map(({ messageId }) => messageId)
  await tx.query(LOCK.for(ids), columnsOf(events, [(e) => e.messageId, (e) => e.n]))
  const columns = columnsOf(events, [
    (e) => e.id,
    (e) => e.messageId,
    (e) => e.n,
    (e) => e.type,
    (e) => jsonOrNull(e.data),
  ])
  const {
    rows: [row],
  } = await tx.query<{ raised: string[]; deliveries: number; workspaces: string[] }>(RAISE.for(ids), [...columns, now])
  return { raised: new Set(row?.raised), hasDeliveries: (row?.deliveries ?? 0) > 0, workspaces: row?.workspaces ?? [] }
}
