/**
 * Loads what a batch of claimed deliveries needs: the body of each event, built once for all its endpoints, and the
 * current state of each endpoint. Two statements for a batch. A deleted event, or an endpoint whose secret cannot be
 * decrypted, fails alone.
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { REPORTED, reportedOf, type ReportedRow } from '#src/events/reported-event.ts'
import { sql } from '#src/stores/sql.ts'
import type { ClaimedWebhook } from './claim.ts'
import { payloadOf } from './payload.ts'
import type { SecretDecryptor, WebhookSigningKey } from './secret.ts'

export interface WebhookTarget {
  readonly id: string
  readonly url: string
  /** The newest first; null if they cannot be decrypted. */
  readonly keys: readonly WebhookSigningKey[] | null
}

/** A delivery that is ready for an attempt. */
export interface WebhookDelivery extends ClaimedWebhook {
  /** Null if the endpoint was deleted. */
  readonly target: WebhookTarget | null
  /** Null if the event is no longer stored or is invalid. */
  readonly body: string | null
}

const EVENTS = prepared(
  'webhooks-events',
  sql`
    SELECT ${REPORTED}
    FROM unnest($1::uuid[], $2::uuid[], $3::xid8[]) AS wanted (id, workspace_id, tx)
    JOIN events e ON e.workspace_id = wanted.workspace_id AND e.tx = wanted.tx AND e.id = wanted.id
    LEFT JOIN messages m ON m.id = e.message_id
    WHERE e.id = ANY ($1)
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

export async function loadDeliveries(
  db: Queryable,
  claimed: readonly ClaimedWebhook[],
  decrypt: SecretDecryptor,
): Promise<WebhookDelivery[]> {
  const events = [...new Map(claimed.map((one) => [one.eventId, one])).values()]
  const [found, targets] = await Promise.all([
    db.query<ReportedRow>(EVENTS, columnsOf(events, [(e) => e.eventId, (e) => e.workspaceId, (e) => e.tx])),
    db.query<TargetRow>(TARGETS, [[...new Set(claimed.map((one) => one.endpointId))]]),
  ])
  const bodies = new Map(found.rows.map((row) => [row.id, bodyOf(row)]))
  const known = new Map(targets.rows.map((row) => [row.id, { id: row.id, url: row.url, keys: keysOf(row, decrypt) }]))
  return claimed.map((one) => ({
    ...one,
    target: known.get(one.endpointId) ?? null,
    body: bodies.get(one.eventId) ?? null,
  }))
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
