/**
 * What a batch of claimed deliveries needs: the body of each event, made once however many endpoints get it, and each endpoint as it is
 * now. Two statements a batch. An event that is no longer stored, or an endpoint whose secret cannot be opened, is told as such and stops
 * nobody else.
 */
import { prepared, type Queryable } from '#src/db.ts'
import type { Claimed } from './claim.ts'
import { payloadOf, type ReportedEvent } from './payload.ts'
import type { Opener, SigningKey } from './secret.ts'

export interface Target {
  readonly id: string
  readonly url: string
  /** The newest first; null when they cannot be opened. */
  readonly keys: readonly SigningKey[] | null
}

/** A delivery that is ready to be tried. */
export interface Delivery extends Claimed {
  /** Null when the endpoint is gone. */
  readonly target: Target | null
  /** Null when the event is no longer stored, or is no event. */
  readonly body: string | null
}

const EVENTS = prepared('webhooks-events', `
SELECT e.id, e.type, e.workspace_id, e.message_id, e.sequence, e.recipient, e.data, e.created_at,
  m.to_list, m.subject, m.metadata, m.created_at AS message_created_at
FROM unnest($1::uuid[], $2::uuid[]) AS wanted (id, workspace_id)
JOIN events e ON e.id = wanted.id AND e.workspace_id = wanted.workspace_id
LEFT JOIN messages m ON m.id = e.message_id
WHERE e.id = ANY ($1)`)

const TARGETS = prepared('webhooks-targets', `
SELECT id, url, secret, CASE WHEN previous_until > now() THEN previous_secret END AS previous_secret
FROM webhook_endpoints WHERE id = ANY ($1)`)

interface EventRow {
  readonly id: string
  readonly type: string
  readonly workspace_id: string
  readonly message_id: string | null
  readonly sequence: number | null
  readonly recipient: string | null
  readonly data: Record<string, unknown> | null
  readonly created_at: Date
  readonly to_list: { readonly email: string }[] | null
  readonly subject: string | null
  readonly metadata: object | null
  readonly message_created_at: Date | null
}

interface TargetRow {
  readonly id: string
  readonly url: string
  readonly secret: Buffer
  readonly previous_secret: Buffer | null
}

export async function loadDeliveries(db: Queryable, claimed: readonly Claimed[], open: Opener): Promise<Delivery[]> {
  const workspaceOf = new Map(claimed.map((one) => [one.eventId, one.workspaceId]))
  const [events, targets] = await Promise.all([
    db.query<EventRow>(EVENTS, [[...workspaceOf.keys()], [...workspaceOf.values()]]),
    db.query<TargetRow>(TARGETS, [[...new Set(claimed.map((one) => one.endpointId))]]),
  ])
  const bodies = new Map(events.rows.map((row) => [row.id, bodyOf(row)]))
  const known = new Map(targets.rows.map((row) => [row.id, { id: row.id, url: row.url, keys: keysOf(row, open) }]))
  return claimed.map((one) => ({ ...one, target: known.get(one.endpointId) ?? null, body: bodies.get(one.eventId) ?? null }))
}

/** Null for a row that no body can be made of: it fails alone. */
function bodyOf(row: EventRow): string | null {
  try {
    return payloadOf(eventOf(row))
  } catch {
    return null
  }
}

function eventOf(row: EventRow): ReportedEvent {
  return {
    id: row.id, type: row.type, workspaceId: row.workspace_id, messageId: row.message_id, sequence: row.sequence, recipient: row.recipient,
    data: row.data,
    createdAt: row.created_at,
    message: row.to_list === null || row.message_created_at === null ? null
      : { to: row.to_list, subject: row.subject ?? '', metadata: row.metadata, createdAt: row.message_created_at },
  }
}

function keysOf(row: TargetRow, open: Opener): SigningKey[] | null {
  try {
    return [row.secret, row.previous_secret].filter((sealed) => sealed !== null).map(open)
  } catch {
    return null
  }
}
