/**
 * The inbound routes of workspaces: which addresses of a verified domain receive mail, and what happens to it. Every
 * statement names the workspace. A route of a domain that is no longer verified stays, and receives nothing.
 */
import type { Context } from '#src/context.ts'
import { newId } from '#src/platform/id.ts'
import type { Db, Queryable } from '#src/stores/db.ts'
import { newestFirst, readPage, type Page, type PageRequest } from '#src/stores/page.ts'
import { sql } from '#src/stores/sql.ts'
import { requestConfirmation } from './forward-addresses.ts'
import { findNewTargets, findTargetProblem, isOwnTarget } from './forward-targets.ts'
import { parseRouteAddress } from './route-address.ts'

export const ROUTE_ACTIONS = {
  webhook: 'store the mail and raise `email.received`',
  store: 'only store the mail',
  forward: 'store the mail and forward it to `forward_to`',
  drop: 'accept the mail and discard it',
} as const
export type RouteAction = keyof typeof ROUTE_ACTIONS

export interface InboundRoute {
  readonly id: string
  /** Local part and domain. */
  readonly address: string
  readonly action: RouteAction
  readonly priority: number
  readonly description: string | null
  /** Addresses that get each mail. */
  readonly forwardTo: readonly string[]
  readonly forwardTargets: readonly ForwardTarget[]
  readonly forwardsSpam: boolean
  readonly isActive: boolean
  /** Whether its domain is verified. */
  readonly isDomainVerified: boolean
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** `own`: at a domain of the workspace, or that of a member. Nothing is forwarded to an unconfirmed address. */
export const TARGET_STATES = ['own', 'confirmed', 'unconfirmed'] as const

export interface ForwardTarget {
  readonly address: string
  readonly state: (typeof TARGET_STATES)[number]
  /** ISO 8601; null: no link was sent. */
  readonly mailedAt: string | null
  readonly expiresAt: string | null
}

export interface NewRoute {
  readonly address: string
  readonly action: RouteAction
  readonly priority: number
  readonly description: string | null
  readonly forwardTo: readonly string[]
  readonly forwardsSpam: boolean
}

/** Omitted fields stay unchanged. */
export interface RouteChange {
  readonly action?: RouteAction | undefined
  readonly priority?: number | undefined
  readonly description?: string | null | undefined
  readonly forwardTo?: readonly string[] | undefined
  readonly forwardsSpam?: boolean | undefined
  readonly isActive?: boolean | undefined
}

export type CreatedRoute =
  | { readonly kind: 'created'; readonly route: InboundRoute }
  /** `not-verified`: the workspace has no such verified domain. */
  | { readonly kind: 'not-an-address' | 'not-verified' | 'exists' | 'too-many' }
  | ForwardProblem

/** `missing`: the action forwards, and there is no address; `unexpected`: the action forwards nothing. */
export type ForwardProblem =
  | { readonly kind: 'target'; readonly address: string }
  | { readonly kind: 'forward-missing' | 'forward-unexpected' }
  /** Of links to addresses that are not confirmed. */
  | { readonly kind: 'too-many-links' }

export type UpdatedRoute =
  | { readonly kind: 'updated'; readonly route: InboundRoute }
  | { readonly kind: 'not-found' }
  | ForwardProblem

/** All routes of a domain are read at once for each mail. */
export const MAX_ROUTES = 500

const VERIFIED = `d.verification_status IN ('verified', 'degraded')`
const TARGETS = sql`
  ARRAY(
    SELECT json_build_object(
      'address', t.address,
      'state', CASE
        WHEN ${isOwnTarget('r.workspace_id', 't.address')} THEN 'own'
        WHEN f.confirmed_at IS NOT NULL THEN 'confirmed'
        ELSE 'unconfirmed'
      END,
      'mailedAt', f.mailed_at[1], 'expiresAt', CASE WHEN f.confirmed_at IS NULL THEN f.expires_at END
    )
    FROM unnest(r.forward_to) AS t (address)
    LEFT JOIN forward_addresses f ON f.workspace_id = r.workspace_id AND f.address = lower(t.address)
  )
`
const COLUMNS = sql`
  r.id, r.local_part || '@' || d.domain AS address, r.action, r.priority, r.description,
  r.forward_to AS "forwardTo", r.forwards_spam AS "forwardsSpam", r.is_active AS "isActive",
  ${TARGETS} AS "forwardTargets", ${VERIFIED} AS "isDomainVerified", r.created_at AS "createdAt",
  r.updated_at AS "updatedAt"
`
const FROM = 'inbound_routes r JOIN domains d ON d.id = r.domain_id'

const CREATE = sql`
  INSERT INTO inbound_routes (
    id, workspace_id, domain_id, local_part, action, priority, description, forward_to, forwards_spam, is_active
  )
  SELECT $1, $2, d.id, $4, $5, $6, $7, $8, $9, true
  FROM domains d
  WHERE d.workspace_id = $2 AND d.domain = $3 AND ${VERIFIED}
  ON CONFLICT ON CONSTRAINT inbound_routes_address DO NOTHING
`

export async function createRoute(
  ctx: Pick<Context, 'db'>,
  workspaceId: string,
  given: NewRoute,
): Promise<CreatedRoute> {
  const { address, action, priority, description, forwardTo, forwardsSpam } = given
  const parsed = parseRouteAddress(address)
  if (parsed === null) return { kind: 'not-an-address' }
  const { localPart, domain } = parsed
  const {
    rows: [own],
  } = await ctx.db.query<{ verified: boolean; routes: number }>(
    sql`
      SELECT EXISTS (SELECT FROM domains d WHERE d.workspace_id = $1 AND d.domain = $2 AND ${VERIFIED}) AS verified,
        (SELECT count(*)::integer FROM inbound_routes WHERE workspace_id = $1) AS routes
    `,
    [workspaceId, domain],
  )
  if (own?.verified !== true) return { kind: 'not-verified' }
  if (own.routes >= MAX_ROUTES) return { kind: 'too-many' }
  const problem =
    findForwardProblem(given) ?? (await requestConfirmations(ctx.db, workspaceId, { forwardTo, routeAddress: address }))
  if (problem !== null) return problem
  const id = newId()
  const { rowCount } = await ctx.db.query(CREATE, [
    id,
    workspaceId,
    domain,
    localPart,
    action,
    priority,
    description,
    forwardTo,
    forwardsSpam,
  ])
  const route = rowCount === 1 ? await findRoute(ctx.db, workspaceId, id) : null
  return route === null ? { kind: 'exists' } : { kind: 'created', route }
}

/** The newest first. */
export function listRoutes(db: Queryable, workspaceId: string, page: PageRequest): Promise<Page<InboundRoute>> {
  const where = 'r.workspace_id = $1'
  return readPage(db, { columns: COLUMNS, from: FROM, where, order: newestFirst('r.id'), values: [workspaceId] }, page)
}

export async function findRoute(db: Queryable, workspaceId: string, id: string): Promise<InboundRoute | null> {
  const { rows } = await db.query<InboundRoute>(
    `SELECT ${COLUMNS} FROM ${FROM} WHERE r.workspace_id = $1 AND r.id = $2`,
    [workspaceId, id],
  )
  return rows[0] ?? null
}

/** What the action needs of `forwardTo`. */
const FORWARDING: Readonly<Record<RouteAction, 'needed' | 'possible' | 'none'>> = {
  webhook: 'possible',
  store: 'none',
  forward: 'needed',
  drop: 'none',
}

function findForwardProblem({ action, forwardTo }: Pick<NewRoute, 'action' | 'forwardTo'>): ForwardProblem | null {
  const need = FORWARDING[action]
  if (need === 'needed' && forwardTo.length === 0) return { kind: 'forward-missing' }
  if (need === 'none' && forwardTo.length > 0) return { kind: 'forward-unexpected' }
  const address = findTargetProblem(forwardTo)
  return address === null ? null : { kind: 'target', address }
}

/** Addresses outside of the workspace get a link. Nothing is forwarded to them before it is used. */
async function requestConfirmations(
  db: Db,
  workspaceId: string,
  { forwardTo, routeAddress }: { readonly forwardTo: readonly string[]; readonly routeAddress: string },
): Promise<ForwardProblem | null> {
  for (const address of await findNewTargets(db, workspaceId, forwardTo))
    if ((await requestConfirmation(db, workspaceId, { address, routeAddress })) === 'too-many')
      return { kind: 'too-many-links' }
  return null
}

export async function updateRoute(db: Db, workspaceId: string, id: string, change: RouteChange): Promise<UpdatedRoute> {
  const route = await findRoute(db, workspaceId, id)
  if (route === null) return { kind: 'not-found' }
  const { action = route.action, forwardTo = route.forwardTo } = change
  const isForwardChanged = change.action !== undefined || change.forwardTo !== undefined
  const problem = isForwardChanged
    ? (findForwardProblem({ action, forwardTo }) ??
      (await requestConfirmations(db, workspaceId, { forwardTo, routeAddress: route.address })))
    : null
  if (problem !== null) return problem
  const { rowCount } = await db.query(
    sql`
      UPDATE inbound_routes
      SET action = coalesce($3, action),
        priority = coalesce($4, priority),
        description = CASE WHEN $5 THEN $6 ELSE description END,
        is_active = coalesce($7, is_active),
        forward_to = coalesce($8, forward_to),
        forwards_spam = coalesce($9, forwards_spam),
        updated_at = now()
      WHERE workspace_id = $1 AND id = $2
    `,
    [
      workspaceId,
      id,
      change.action ?? null,
      change.priority ?? null,
      change.description !== undefined,
      change.description ?? null,
      change.isActive ?? null,
      change.forwardTo ?? null,
      change.forwardsSpam ?? null,
    ],
  )
  const changed = rowCount === 1 ? await findRoute(db, workspaceId, id) : null
  return changed === null ? { kind: 'not-found' } : { kind: 'updated', route: changed }
}

/** Its mail stays until its time is over. False if there is no such route. */
export async function deleteRoute(db: Queryable, workspaceId: string, id: string): Promise<boolean> {
  const { rowCount } = await db.query('DELETE FROM inbound_routes WHERE workspace_id = $1 AND id = $2', [
    workspaceId,
    id,
  ])
  return rowCount === 1
}
