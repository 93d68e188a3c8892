/**
 * Webhook endpoints of a workspace: create, read, update, disable, delete. Every statement names the workspace id, so
 * tenants stay separate. The secret is returned once, at creation or rotation, and stored encrypted. A deleted endpoint
 * leaves a row that the API no longer shows: deliveries in progress can still be logged, and the worker deletes the row
 * with its log in slices, however long the log is.
 */
import type { Context } from '#src/context.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { newId } from '#src/platform/id.ts'
import { newestFirst, readPage, type Page, type PageRequest } from '#src/stores/page.ts'
import { WEBHOOKS_CHANNEL } from '#src/queue/keys.ts'
import { sql } from '#src/stores/sql.ts'
import { newSecret, ROTATION_HOURS, encryptSecret } from './secret.ts'

/** Each event is stored once for each endpoint that subscribes to it. */
export const MAX_ENDPOINTS = 100

export interface Endpoint {
  readonly id: string
  readonly url: string
  readonly description: string | null
  /** Names of types, or '*'. */
  readonly eventTypes: readonly string[]
  readonly isActive: boolean
  /** Why it is disabled. */
  readonly disabledReason: string | null
  /** Until when the previous secret also signs. */
  readonly previousUntil: Date | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

export interface NewEndpoint {
  readonly url: string
  readonly description: string | null
  readonly eventTypes: readonly string[]
}

/** Omitted fields stay unchanged. */
export interface EndpointChange {
  readonly url?: string | undefined
  readonly description?: string | null | undefined
  readonly eventTypes?: readonly string[] | undefined
  readonly isActive?: boolean | undefined
}

/** The only response that contains the secret. */
export interface EndpointWithSecret {
  readonly endpoint: Endpoint
  readonly secret: string
}

type EndpointDeps = Pick<Context, 'db' | 'encryption'>

const DELETED = 'deleted'
const COLUMNS = sql`
  id, url, description, event_types AS "eventTypes", is_active AS "isActive", disabled_reason AS "disabledReason",
  CASE WHEN previous_until > now() THEN previous_until END AS "previousUntil", created_at AS "createdAt",
  updated_at AS "updatedAt"
`
const OWN_ENDPOINTS = `workspace_id = $1 AND disabled_reason IS DISTINCT FROM '${DELETED}'`

/** Returns the endpoint and its secret; null at MAX_ENDPOINTS. `url` has passed `validateTargetUrl`. */
export async function createEndpoint(
  ctx: EndpointDeps,
  workspaceId: string,
  endpoint: NewEndpoint,
): Promise<EndpointWithSecret | null> {
  const secret = newSecret()
  const { rows } = await ctx.db.query<Endpoint>(
    sql`
      INSERT INTO webhook_endpoints (id, workspace_id, url, description, event_types, secret)
      SELECT $2, $1, $3, $4, $5, $6
      WHERE (SELECT count(*) FROM webhook_endpoints WHERE ${OWN_ENDPOINTS}) < ${MAX_ENDPOINTS}
      RETURNING ${COLUMNS}
    `,
    [
      workspaceId,
      newId(),
      endpoint.url,
      endpoint.description,
      endpoint.eventTypes,
      encryptSecret(ctx.encryption, secret),
    ],
  )
  return rows[0] === undefined ? null : { endpoint: rows[0], secret }
}

/** The newest first. */
export function listEndpoints(db: Queryable, workspaceId: string, wish: PageRequest): Promise<Page<Endpoint>> {
  return readPage(
    db,
    { columns: COLUMNS, from: 'webhook_endpoints', where: OWN_ENDPOINTS, order: newestFirst(), values: [workspaceId] },
    wish,
  )
}

export async function findEndpoint(db: Queryable, workspaceId: string, id: string): Promise<Endpoint | null> {
  const { rows } = await db.query<Endpoint>(
    `SELECT ${COLUMNS} FROM webhook_endpoints WHERE ${OWN_ENDPOINTS} AND id = $2`,
    [workspaceId, id],
  )
  return rows[0] ?? null
}

/** Enabling an endpoint clears `disabledReason`. Null if there is no such endpoint. */
export async function updateEndpoint(
  ctx: NotifyDeps,
  workspaceId: string,
  id: string,
  change: EndpointChange,
): Promise<Endpoint | null> {
  const { rows } = await ctx.db.query<Endpoint>(
    sql`
      UPDATE webhook_endpoints
      SET url = coalesce($3, url),
        event_types = coalesce($4, event_types),
        description = CASE WHEN $5 THEN $6 ELSE description END,
        is_active = coalesce($7, is_active),
        updated_at = now(),
        disabled_reason = CASE $7
          WHEN true THEN NULL
          WHEN false THEN coalesce(disabled_reason, 'switched off by its owner')
          ELSE disabled_reason
        END
      WHERE ${OWN_ENDPOINTS} AND id = $2
      RETURNING ${COLUMNS}
    `,
    [
      workspaceId,
      id,
      change.url ?? null,
      change.eventTypes ?? null,
      change.description !== undefined,
      change.description ?? null,
      change.isActive ?? null,
    ],
  )
  if (change.isActive === false) notifySender(ctx)
  return rows[0] ?? null
}

/** Creates a new secret; the previous one also signs for 24 hours. Null if there is no such endpoint. */
export async function rotateSecret(
  ctx: EndpointDeps,
  workspaceId: string,
  id: string,
): Promise<EndpointWithSecret | null> {
  const secret = newSecret()
  const { rows } = await ctx.db.query<Endpoint>(
    sql`
      UPDATE webhook_endpoints
      SET previous_secret = secret,
        previous_until = now() + interval '${ROTATION_HOURS} hours',
        secret = $3,
        updated_at = now()
      WHERE ${OWN_ENDPOINTS} AND id = $2
      RETURNING ${COLUMNS}
    `,
    [workspaceId, id, encryptSecret(ctx.encryption, secret)],
  )
  return rows[0] === undefined ? null : { endpoint: rows[0], secret }
}

/** True if the endpoint existed. The worker ends its pending deliveries. */
export async function deleteEndpoint(ctx: NotifyDeps, workspaceId: string, id: string): Promise<boolean> {
  const { rowCount } = await ctx.db.query(
    sql`
      UPDATE webhook_endpoints
      SET is_active = false, disabled_reason = '${DELETED}', secret = '', previous_secret = NULL, updated_at = now()
      WHERE ${OWN_ENDPOINTS} AND id = $2
    `,
    [workspaceId, id],
  )
  notifySender(ctx)
  return rowCount === 1
}

const SLICE = 2000
// prepared, and therefore by index: a plan made from old statistics would compare each row with each of the slice
const REMOVALS = ['webhook_attempts', 'webhook_deliveries'].map((table) =>
  prepared(
    `webhooks-remove-${table}`,
    sql`
      DELETE FROM ${table}
      WHERE (event_id, endpoint_id) IN (
        SELECT log.event_id, log.endpoint_id
        FROM webhook_endpoints e
        JOIN webhook_deliveries log ON log.endpoint_id = e.id
        WHERE e.disabled_reason = '${DELETED}' AND e.updated_at < now() - interval '5 minutes'
        ORDER BY log.endpoint_id, log.event_id
        LIMIT ${SLICE}
      )
    `,
  ),
)

/**
 * Deletes a slice of the data of deleted endpoints, once no delivery to them can be in progress.
 * True if there is more.
 */
export async function removeDeleted(db: Queryable): Promise<boolean> {
  let removed = 0
  for (const statement of REMOVALS) removed = (await db.query(statement)).rowCount ?? 0
  if (removed > 0) return true
  await db.query(
    `DELETE FROM webhook_endpoints WHERE disabled_reason = '${DELETED}' AND updated_at < now() - interval '5 minutes'`,
  )
  return false
}

export type NotifyDeps = Pick<Context, 'db' | 'redis' | 'log'>

/** Notifies the workers of deliveries to send or end. Without Redis they find them by polling. */
export function notifySender(ctx: NotifyDeps): void {
  ctx.redis.publish(WEBHOOKS_CHANNEL, '').catch((error: unknown) => {
    ctx.log.debug({ err: error }, 'failed to notify the webhook sender; it finds the deliveries by polling')
  })
}
