/**
 * The delivery log of an endpoint: the state of each event and every attempt with its request and response. Also
 * replays an event. The caller has checked that the endpoint belongs to the workspace.
 */
import { recordChange } from '#src/stores/audit.ts'
import { columnsOf } from '#src/stores/column-arrays.ts'
import type { Queryable } from '#src/stores/db.ts'
import { idOfHex, isUuid } from '#src/platform/id.ts'
import { newestFirst, readPage, type Page, type PageRequest } from '#src/stores/page.ts'
import { sql } from '#src/stores/sql.ts'
import { expectOneRow, weekly } from '#src/stores/weeks.ts'
import { notifySender, type Endpoint, type NotifyDeps } from './endpoints.ts'

export interface DeliveryView {
  readonly eventId: string
  /** Null if the event is no longer stored. */
  readonly type: string | null
  readonly state: DeliveryState
  /** Attempts since it was queued or last replayed. */
  readonly tries: number
  readonly createdAt: Date
  /** Null if there is no next attempt. */
  readonly nextTryAt: Date | null
  readonly attempts: readonly WebhookAttemptView[]
}

export interface WebhookAttemptView {
  readonly attempt: number
  readonly at: Date
  readonly url: string
  readonly requestHeaders: Record<string, string>
  readonly requestBody: string
  readonly status: number | null
  /** First 4 KB. */
  readonly responseBody: string | null
  readonly error: string | null
  readonly durationMs: number
}

export const DELIVERY_STATES = ['pending', 'delivered', 'failed'] as const
export type DeliveryState = (typeof DELIVERY_STATES)[number]

export interface DeliveryFilter extends PageRequest {
  readonly state: DeliveryState | null
  readonly eventId: string | null
}

/** Parses `evt_<hex>` or a UUID; null for anything else. */
export function eventIdOf(text: string): string | null {
  if (isUuid(text)) return text.toLowerCase()
  const hex = /^evt_([0-9a-f]{32})$/i.exec(text)?.[1]
  return hex === undefined ? null : idOfHex(hex.toLowerCase())
}

const WHERE = 'd.endpoint_id = $1 AND ($2::text IS NULL OR d.state = $2) AND ($3::uuid IS NULL OR d.event_id = $3)'

/** The newest event first. */
export async function listDeliveries(
  db: Queryable,
  endpoint: Endpoint,
  filter: DeliveryFilter,
): Promise<Page<DeliveryView>> {
  const { items, ...rest } = await readPage<DeliveryRow>(
    db,
    {
      columns: sql`
        d.event_id AS "eventId", d.workspace_id AS "workspaceId", d.tx, d.state, d.tries, d.created_at AS "createdAt",
        CASE d.state WHEN 'pending' THEN d.due_at END AS "nextTryAt"
      `,
      from: 'webhook_deliveries d',
      where: WHERE,
      order: newestFirst('d.event_id'),
      values: [endpoint.id, filter.state, filter.eventId],
    },
    filter,
  )
  const types = await loadTypes(db, items)
  const attempts = await listAttempts(
    db,
    endpoint.id,
    items.map((row) => row.eventId),
  )
  const deliveries = items.map(({ eventId, state, tries, createdAt, nextTryAt }) => ({
    eventId,
    type: types.get(eventId) ?? null,
    state,
    tries,
    createdAt,
    nextTryAt,
    attempts: attempts.get(eventId) ?? [],
  }))
  return { ...rest, items: deliveries }
}

interface DeliveryRow extends Omit<DeliveryView, 'type' | 'attempts'> {
  readonly workspaceId: string
  readonly tx: string
}

const TYPES = weekly(
  'webhooks-event-types',
  (weeks) => sql`
    SELECT e.id, e.type
    FROM unnest($1::uuid[], $2::uuid[], $3::xid8[]) WITH ORDINALITY AS i (id, workspace_id, tx, ord)
    JOIN events e ON e.workspace_id = i.workspace_id AND e.tx = i.tx AND e.id = i.id
    WHERE ${expectOneRow('i.ord')} AND ${weeks.contain('e.id')}
  `,
)

async function loadTypes(db: Queryable, deliveries: readonly DeliveryRow[]): Promise<Map<string, string>> {
  if (deliveries.length === 0) return new Map()
  const { rows } = await db.query<{ id: string; type: string }>(
    TYPES.for(deliveries.map(({ eventId }) => eventId)),
    columnsOf(deliveries, [(d) => d.eventId, (d) => d.workspaceId, (d) => d.tx]),
  )
  return new Map(rows.map(({ id, type }) => [id, type]))
}

async function listAttempts(
  db: Queryable,
  endpointId: string,
  eventIds: readonly string[],
): Promise<Map<string, WebhookAttemptView[]>> {
  const { rows } = await db.query<WebhookAttemptView & { eventId: string }>(
    sql`
      SELECT event_id AS "eventId", attempt, at, url, request_headers AS "requestHeaders",
        request_body AS "requestBody", status, response_body AS "responseBody", error, duration_ms AS "durationMs"
      FROM webhook_attempts
      WHERE endpoint_id = $1 AND event_id = ANY ($2)
      ORDER BY event_id, attempt
    `,
    [endpointId, eventIds],
  )
  return Map.groupBy(rows, (row) => row.eventId)
}

interface ReplayedRow {
  readonly isActive: boolean
  readonly workspaceId: string
  /** Before the replay. */
  readonly state: DeliveryState
}

const REPLAY = sql`
  WITH replayed AS (
    UPDATE webhook_deliveries d
    SET state = 'pending', tries = 0, due_at = now()
    FROM webhook_endpoints e
    WHERE e.id = d.endpoint_id AND e.is_active AND d.endpoint_id = $1 AND d.event_id = $2
  )
  SELECT e.is_active AS "isActive", e.workspace_id AS "workspaceId", d.state
  FROM webhook_deliveries d
  JOIN webhook_endpoints e ON e.id = d.endpoint_id
  WHERE d.endpoint_id = $1 AND d.event_id = $2
`

/** Queues an event again, due now and with all its attempts. A delivery in progress is not sent twice. */
export async function replayDelivery(
  ctx: NotifyDeps,
  endpoint: Endpoint,
  eventId: string,
): Promise<'queued' | 'not-found' | 'switched-off'> {
  const result = await ctx.db.transaction(async (tx) => {
    const { rows } = await tx.query<ReplayedRow>(REPLAY, [endpoint.id, eventId])
    const [row] = rows
    if (row === undefined) return 'not-found'
    if (!row.isActive) return 'switched-off'
    await recordChange(tx, {
      kind: 'webhook_delivery',
      object: eventId,
      workspaceId: row.workspaceId,
      change: 'update',
      before: { webhook_id: endpoint.id, state: row.state },
      after: { webhook_id: endpoint.id, state: 'pending' },
    })
    return 'queued'
  })
  if (result === 'queued') notifySender(ctx)
  return result
}
