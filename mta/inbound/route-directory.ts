/**
 * Finds the inbound route of a recipient at RCPT: an active route at a verified domain. What is known of a domain is
 * cached for half a second, also that it has no route, so a search for addresses does not become a load of queries.
 * Throws while PostgreSQL is unavailable. A workspace that has received its share is `full`; concurrent mail may exceed
 * a limit by what arrives within the cache's time.
 */
import { createLoadingCache } from '#src/concurrency/loading-cache.ts'
import type { Context } from '#src/context.ts'
import { chooseRoute } from '#src/inbound-mail/route-address.ts'
import type { RouteAction } from '#src/inbound-mail/routes.ts'
import { prepared } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'

export interface RoutedRecipient {
  readonly routeId: string
  readonly workspaceId: string
  readonly action: RouteAction
  /** As the sender wrote it. */
  readonly recipient: string
}

export interface RouteDirectory {
  /** Null: no route. `full`: the workspace accepts no more mail today. */
  find(address: string): Promise<RoutedRecipient | 'full' | null>
}

const CACHE = { max: 10_000, ttlMs: 500 }

interface RouteRow {
  readonly id: string
  readonly workspaceId: string
  readonly localPart: string
  readonly priority: number
  readonly action: RouteAction
}

const ROUTES = prepared(
  'inbound-routes',
  sql`
    SELECT r.id, r.workspace_id AS "workspaceId", r.local_part AS "localPart", r.priority, r.action
    FROM domains d
    JOIN inbound_routes r ON r.domain_id = d.id AND r.workspace_id = d.workspace_id
    WHERE d.domain = $1 AND d.verification_status IN ('verified', 'degraded') AND r.is_active
  `,
)

const USAGE = prepared(
  'inbound-usage',
  sql`
    SELECT coalesce(sum(octets), 0)::float8 AS octets,
      coalesce(sum(emails) FILTER (WHERE day = $3::date), 0)::integer AS today
    FROM inbound_usage
    WHERE workspace_id = $1 AND day > $3::date - $2::integer
  `,
)

const MEBIBYTE = 1024 * 1024

export function createRouteDirectory(ctx: Pick<Context, 'db' | 'clock' | 'config'>): RouteDirectory {
  const routes = createLoadingCache<readonly RouteRow[]>(ctx.clock, CACHE)
  const full = createLoadingCache<boolean>(ctx.clock, CACHE)
  const isFull = async (workspaceId: string): Promise<boolean> => {
    const { inboundRetentionDays, inboundDailyEmails, inboundStoredMb } = ctx.config
    const today = new Date(ctx.clock.now()).toISOString().slice(0, 10)
    const { rows } = await ctx.db.query<{ octets: number; today: number }>(USAGE, [
      workspaceId,
      inboundRetentionDays,
      today,
    ])
    const [usage = { octets: 0, today: 0 }] = rows
    return usage.today >= inboundDailyEmails || usage.octets >= inboundStoredMb * MEBIBYTE
  }
  return {
    async find(address) {
      const at = address.lastIndexOf('@')
      const domain = address.slice(at + 1).toLowerCase()
      if (at < 1 || domain === '') return null
      const known = await routes.get(domain, async () => (await ctx.db.query<RouteRow>(ROUTES, [domain])).rows)
      const route = chooseRoute(known, address.slice(0, at))
      if (route === null) return null
      const { id, workspaceId, action } = route
      if (action !== 'drop' && (await full.get(workspaceId, () => isFull(workspaceId)))) return 'full'
      return { routeId: id, workspaceId, action, recipient: address }
    },
  }
}
