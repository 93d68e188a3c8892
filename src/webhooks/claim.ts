/**
 * The queue of webhook deliveries is a table. A claim leases due rows of many endpoints in one statement until
 * `leased_until`; if a process dies or stalls longer than that, its rows are claimed again. Endpoints share a batch
 * fairly: none gets more than its share or its capacity, so an endpoint with a million waiting rows takes nothing from
 * the others. Within an endpoint the order is by due time. All times are PostgreSQL's own, so the clocks of several
 * machines need not agree.
 *
 * More statements load what the claimed rows need: the events with their messages and received emails, for a body that
 * is built once for all endpoints, and the current state of each endpoint. A deleted event, or an endpoint whose secret
 * cannot be decrypted, fails alone.
 */
import {
  addMessages,
  EVENT_COLUMNS,
  type EventRow,
  payloadOf,
  reportedOf,
  type ReportedRow,
} from '#src/events/reported-event.ts'
import { columnsOf } from '#src/stores/column-arrays.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { weekly } from '#src/stores/weeks.ts'
import { addReceivedEmails } from './received-emails.ts'
import type { SecretDecryptor, WebhookSigningKey } from './secret.ts'

/**
 * Must cover the wait in the process, the attempt (10 s) and the write of its result; a crash delays its rows so long.
 */
export const LEASE_SECONDS = 60

export interface ClaimedWebhook {
  readonly eventId: string
  readonly endpointId: string
  readonly workspaceId: string
  /** The transaction that wrote the delivery and its event. */
  readonly tx: string
  /** Attempts before this one, since it was queued or replayed. */
  readonly attempts: number
  /** Fencing token: the update with the result names it. */
  readonly leasedUntil: Date
}

/** How many jobs the caller can accept. */
export interface QueueCapacity {
  readonly total: number
  /** For endpoints not in `byEndpoint`. */
  readonly defaultPerEndpoint: number
  readonly byEndpoint: ReadonlyMap<string, number>
}

interface WebhookTarget {
  readonly url: string
  /** The newest first; null if they cannot be decrypted. */
  readonly keys: readonly WebhookSigningKey[] | null
}

/** A delivery that is ready for an attempt. */
export interface WebhookDelivery extends ClaimedWebhook {
  readonly target: WebhookTarget
  /** Null if the event is no longer stored or is invalid. */
  readonly body: string | null
  /** Null if the event has no stored message. */
  readonly message: WebhookMessage | null
}

/** The message of an event, for the log and for traces. */
export interface WebhookMessage {
  readonly id: string
  readonly requestId: string | null
  readonly traceparent: string | null
}

export interface WebhookClaim {
  readonly jobs: readonly WebhookDelivery[]
  /** Endpoints that filled their capacity, or had none: they may have more due rows. */
  readonly unfinished: ReadonlySet<string>
  /** Milliseconds until the next row is due; null if there is none. */
  readonly nextInMs: number | null
}

export interface ClaimDeps {
  readonly db: Queryable
  readonly decrypt: SecretDecryptor
  /** Called if rows of disabled endpoints exist (`endAbandoned`). */
  readonly onAbandoned: () => void
}

// `fronts` finds the endpoints with pending rows by a skip scan of the index (endpoint_id, due_at):
// one probe for each endpoint, however many rows it has.
const CLAIM = prepared(
  'webhooks-claim',
  sql`
    WITH RECURSIVE fronts AS (
      (
        SELECT endpoint_id, due_at
        FROM webhook_deliveries
        WHERE state = 'pending'
        ORDER BY endpoint_id, due_at
        LIMIT 1
      )
      UNION ALL
      SELECT following.*
      FROM fronts
      CROSS JOIN LATERAL (
        SELECT d.endpoint_id, d.due_at
        FROM webhook_deliveries d
        WHERE d.state = 'pending' AND d.endpoint_id > fronts.endpoint_id
        ORDER BY d.endpoint_id, d.due_at
        LIMIT 1
      ) following
    ),
    known AS MATERIALIZED (
      SELECT f.endpoint_id, f.due_at, e.is_active
      FROM fronts f
      JOIN webhook_endpoints e ON e.id = f.endpoint_id
    ),
    sharing AS MATERIALIZED (
      SELECT k.endpoint_id, least(coalesce(r.room, $3), greatest(1, $4 / count(*) OVER ())) AS room
      FROM known k
      LEFT JOIN unnest($1::uuid[], $2::integer[]) AS r (endpoint_id, room) ON r.endpoint_id = k.endpoint_id
      WHERE k.is_active AND k.due_at <= now() AND coalesce(r.room, $3) > 0
      ORDER BY k.due_at
      LIMIT $4
    ),
    picked AS MATERIALIZED (
      SELECT p.event_id, p.endpoint_id, s.room
      FROM sharing s
      CROSS JOIN LATERAL (
        SELECT d.event_id, d.endpoint_id
        FROM webhook_deliveries d
        WHERE d.endpoint_id = s.endpoint_id
          AND d.state = 'pending'
          AND d.due_at <= now()
          AND (d.leased_until IS NULL OR d.leased_until <= now())
        ORDER BY d.due_at, d.event_id
        LIMIT s.room
        FOR UPDATE SKIP LOCKED
      ) p
    ),
    claimed AS (
      UPDATE webhook_deliveries d
      SET leased_until = date_trunc('milliseconds', now()) + make_interval(secs => $5)
      FROM picked p
      WHERE d.event_id = p.event_id
        AND d.endpoint_id = p.endpoint_id
        AND d.event_id = ANY (ARRAY(SELECT event_id FROM picked))
      RETURNING d.event_id, d.endpoint_id, d.workspace_id, d.tx, d.tries, d.due_at, d.leased_until, p.room
    ),
    outlook AS (
      SELECT extract(epoch FROM min(due_at) FILTER (WHERE due_at > now()) - now()) * 1000 AS next_in_ms,
        coalesce(bool_or(NOT is_active), false) AS has_abandoned
      FROM known
    )
    SELECT o.next_in_ms::float8, o.has_abandoned, c.*
    FROM outlook o
    LEFT JOIN claimed c ON true
    ORDER BY c.due_at, c.event_id
  `,
)

interface ClaimRow {
  readonly next_in_ms: number | null
  readonly has_abandoned: boolean
  readonly event_id: string | null
  readonly endpoint_id: string
  readonly workspace_id: string
  readonly tx: string
  readonly tries: number
  readonly leased_until: Date
  readonly room: number
}

/** Claims due deliveries, the oldest first, within the capacity of each endpoint. */
export async function claimDeliveries(
  { db, decrypt, onAbandoned }: ClaimDeps,
  capacity: QueueCapacity,
): Promise<WebhookClaim> {
  const endpoints = [[...capacity.byEndpoint.keys()], [...capacity.byEndpoint.values()]]
  const { rows } = await db.query<ClaimRow>(CLAIM, [
    ...endpoints,
    capacity.defaultPerEndpoint,
    capacity.total,
    LEASE_SECONDS,
  ])
  if (rows[0]?.has_abandoned === true) onAbandoned()
  const claimed = rows.filter((row) => row.event_id !== null)
  const deliveries = claimed.map((row) => ({
    eventId: row.event_id ?? '',
    endpointId: row.endpoint_id,
    workspaceId: row.workspace_id,
    tx: row.tx,
    attempts: row.tries,
    leasedUntil: row.leased_until,
  }))
  return {
    jobs: deliveries.length === 0 ? [] : await loadDeliveries(db, deliveries, decrypt),
    unfinished: saturatedEndpoints(
      capacity,
      claimed.map((row) => ({ endpoint: row.endpoint_id, capacity: row.room })),
    ),
    nextInMs: rows[0]?.next_in_ms ?? null,
  }
}

/** Endpoints that filled their capacity, or had none: they may have more due rows. */
export function saturatedEndpoints(
  capacity: QueueCapacity,
  claimed: readonly { readonly endpoint: string; readonly capacity: number }[],
): Set<string> {
  const counts = new Map<string, number>()
  for (const { endpoint } of claimed) counts.set(endpoint, (counts.get(endpoint) ?? 0) + 1)
  return new Set([
    ...[...capacity.byEndpoint].filter(([, most]) => most === 0).map(([endpoint]) => endpoint),
    ...claimed.filter((one) => counts.get(one.endpoint) === one.capacity).map(({ endpoint }) => endpoint),
  ])
}

const EVENTS = weekly(
  'webhooks-events',
  (weeks) => sql`
    SELECT ${EVENT_COLUMNS}
    FROM unnest($1::uuid[], $2::uuid[], $3::xid8[]) AS wanted (id, workspace_id, tx)
    JOIN events e ON e.workspace_id = wanted.workspace_id AND e.tx = wanted.tx AND e.id = wanted.id
    WHERE e.id = ANY ($1) AND ${weeks.contain('e.id')}
  `,
)

const TARGETS = prepared(
  'webhooks-targets',
  sql`
    SELECT id, url, secret, CASE WHEN previous_until > now() THEN previous_secret END AS previous_secret
    FROM webhook_endpoints
    WHERE id = ANY ($1)
  `,
)

interface TargetRow {
  readonly id: string
  readonly url: string
  readonly secret: Buffer
  readonly previous_secret: Buffer | null
}

/** In the order of `claimed`, without those of endpoints that were deleted since. */
async function loadDeliveries(
  db: Queryable,
  claimed: readonly ClaimedWebhook[],
  decrypt: SecretDecryptor,
): Promise<WebhookDelivery[]> {
  const events = [...new Map(claimed.map((one) => [one.eventId, one])).values()]
  const [found, targets] = await Promise.all([
    loadEvents(db, events),
    db.query<TargetRow>(TARGETS, [[...new Set(claimed.map((one) => one.endpointId))]]),
  ])
  const contents = new Map(found.map((row) => [row.id, { body: bodyOf(row), message: messageOf(row) }]))
  const known = new Map(targets.rows.map((row) => [row.id, { url: row.url, keys: keysOf(row, decrypt) }]))
  return claimed.flatMap((one) => {
    const target = known.get(one.endpointId)
    return target === undefined ? [] : [{ ...one, target, ...(contents.get(one.eventId) ?? GONE) }]
  })
}

async function loadEvents(db: Queryable, events: readonly ClaimedWebhook[]): Promise<ReportedRow[]> {
  const { rows } = await db.query<EventRow>(
    EVENTS.for(events.map(({ eventId }) => eventId)),
    columnsOf(events, [(e) => e.eventId, (e) => e.workspaceId, (e) => e.tx]),
  )
  return addReceivedEmails(db, await addMessages(db, rows))
}

const GONE = { body: null, message: null }

function messageOf({ message_id: id, request_id: requestId, traceparent }: ReportedRow): WebhookMessage | null {
  return id === null ? null : { id, requestId, traceparent }
}

/** Null for a row without a valid body: it fails alone. */
function bodyOf(row: ReportedRow): string | null {
  try {
    return payloadOf(reportedOf(row))
  } catch {
    return null
  }
}

function keysOf(row: TargetRow, decrypt: SecretDecryptor): WebhookSigningKey[] | null {
  try {
    return [row.secret, row.previous_secret].filter((sealed) => sealed !== null).map(decrypt)
  } catch {
    return null
  }
}
