/**
 * What is tracked of a mail: what the mail itself says, else its workspace's switch, else what its kind is used to. And under whose name:
 * the tracking name of the workspace's domain while its CNAME is there, else the one all share.
 */
import type { Config } from '#config/load.ts'
import type { Context } from '#src/context.ts'
import { prepared, type Queryable } from '#src/db.ts'
import { trackingNameOf } from '#src/domains/records.ts'

/** Null: not said. */
export interface TrackingWish {
  readonly opens: boolean | null
  readonly clicks: boolean | null
}

/** How much of an IP address is kept with an open or a click. */
export type Privacy = 'full' | 'truncated' | 'none'

export interface WorkspaceTracking extends TrackingWish {
  readonly privacy: Privacy
  /** Scheme and host in the links, with no slash at the end. */
  readonly base: string
}

/** Where a mail comes from: the API, an SMTP client, a campaign or automation. */
export type Origin = 'api' | 'submission' | 'marketing'

const USUAL: Readonly<Record<Origin, boolean>> = { api: false, submission: false, marketing: true }

export interface Tracked {
  readonly opens: boolean
  readonly clicks: boolean
}

/** SMTP clients have their mail left as it is: only what the mail itself asks for counts. */
export function judgeTracking(origin: Origin, mail: TrackingWish, workspace: TrackingWish): Tracked {
  const ofWorkspace = origin === 'submission' ? { opens: null, clicks: null } : workspace
  return {
    opens: mail.opens ?? ofWorkspace.opens ?? USUAL[origin],
    clicks: mail.clicks ?? ofWorkspace.clicks ?? USUAL[origin],
  }
}

interface Row {
  readonly opens: boolean | null
  readonly clicks: boolean | null
  readonly privacy: Privacy
  readonly domain: string | null
  readonly status: string | null
}

const LOAD = prepared('tracking-settings-load', `
SELECT w.track_opens AS opens, w.track_clicks AS clicks, w.tracking_privacy AS privacy, d.domain, d.tracking_status AS status
FROM workspaces w LEFT JOIN domains d ON d.id = w.tracking_domain_id AND d.workspace_id = w.id WHERE w.id = $1`)

/** Of a workspace that is gone: nothing is tracked. */
export async function loadTracking(ctx: { readonly db: Queryable; readonly config: Config }, workspaceId: string): Promise<WorkspaceTracking> {
  const { rows: [row] } = await ctx.db.query<Row>(LOAD, [workspaceId])
  if (row === undefined) return { opens: false, clicks: false, privacy: 'none', base: ctx.config.trackingUrl }
  const { opens, clicks, privacy, domain, status } = row
  const hasOwn = domain !== null && status === 'verified'
  return { opens, clicks, privacy, base: hasOwn ? ownBase(ctx.config, domain) : ctx.config.trackingUrl }
}

/** Scheme and port are those of the shared name: whoever answers there answers for all names. */
export function ownBase({ trackingUrl }: Pick<Config, 'trackingUrl'>, domain: string): string {
  const base = new URL(trackingUrl)
  base.hostname = trackingNameOf(domain)
  return base.origin
}

const FRESH_MS = 5000
const MOST_KEPT = 10_000

export interface TrackingCache {
  find(workspaceId: string): Promise<WorkspaceTracking>
}

/** One question to PostgreSQL for each workspace every few seconds. A question that fails is not remembered. */
export function createTrackingCache(ctx: Pick<Context, 'db' | 'config' | 'clock'>): TrackingCache {
  const kept = new Map<string, { readonly found: Promise<WorkspaceTracking>; readonly untilMs: number }>()
  return {
    find: (workspaceId) => {
      const now = ctx.clock.now()
      const known = kept.get(workspaceId)
      if (known !== undefined && now < known.untilMs) return known.found
      const found = loadTracking(ctx, workspaceId)
      found.catch(() => kept.delete(workspaceId))
      if (kept.size >= MOST_KEPT) kept.clear()
      kept.set(workspaceId, { found, untilMs: now + FRESH_MS })
      return found
    },
  }
}
