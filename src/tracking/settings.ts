/**
 * Decides what is tracked in a message: the message's own setting, else the workspace's, else the default of its
 * origin. Also decides the host of the links: the tracking name of the workspace's domain while its CNAME is valid,
 * else the shared one.
 */
import type { Config } from '#config/load.ts'
import type { Context } from '#src/context.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { trackingNameOf } from '#src/domains/records.ts'
import { createLoadingCache } from '#src/concurrency/loading-cache.ts'
import { sql } from '#src/stores/sql.ts'

/** Null: not set. */
export interface TrackingPreference {
  readonly opens: boolean | null
  readonly clicks: boolean | null
}

/** How much of an IP address is stored with an open or a click. */
export type Privacy = 'full' | 'truncated' | 'none'

export interface WorkspaceTracking extends TrackingPreference {
  readonly privacy: Privacy
  /** Scheme and host of the links, without a trailing slash. */
  readonly base: string
}

/** Origin of a message: the API, an SMTP client, a campaign or automation. */
export type MailOrigin = 'api' | 'submission' | 'marketing'

const DEFAULTS: Readonly<Record<MailOrigin, boolean>> = { api: false, submission: false, marketing: true }

export interface ResolvedTracking {
  readonly opens: boolean
  /** Opens are tracked because the message or the workspace says so, not by default. */
  readonly areOpensRequested: boolean
  readonly clicks: boolean
}

/** Messages of SMTP clients stay unchanged unless the message itself asks for tracking. */
export function resolveTracking(
  origin: MailOrigin,
  mail: TrackingPreference,
  workspace: TrackingPreference,
): ResolvedTracking {
  const ofWorkspace = origin === 'submission' ? { opens: null, clicks: null } : workspace
  const opens = mail.opens ?? ofWorkspace.opens
  return {
    opens: opens ?? DEFAULTS[origin],
    areOpensRequested: opens === true,
    clicks: mail.clicks ?? ofWorkspace.clicks ?? DEFAULTS[origin],
  }
}

interface TrackingRow {
  readonly opens: boolean | null
  readonly clicks: boolean | null
  readonly privacy: Privacy
  readonly replyTo: string | null
  /** The domain whose tracking name was chosen. */
  readonly domain: string | null
  /** The domain is verified, and its tracking name points to this service. */
  readonly isUsable: boolean
}

const LOAD = prepared(
  'tracking-settings-load',
  sql`
    SELECT w.track_opens AS opens, w.track_clicks AS clicks, w.tracking_privacy AS privacy, w.reply_to AS "replyTo",
      d.domain,
      coalesce(
        d.tracking_status = 'verified' AND d.verification_status IN ('verified', 'degraded'), false
      ) AS "isUsable"
    FROM workspaces w
    LEFT JOIN domains d ON d.id = w.tracking_domain_id AND d.workspace_id = w.id
    WHERE w.id = $1
  `,
)

/** For a deleted workspace nothing is tracked. */
export async function loadTracking(
  ctx: { readonly db: Queryable; readonly config: Config },
  workspaceId: string,
): Promise<WorkspaceTracking> {
  const {
    rows: [row],
  } = await ctx.db.query<TrackingRow>(LOAD, [workspaceId])
  if (row === undefined) return { opens: false, clicks: false, privacy: 'none', base: ctx.config.trackingUrl }
  const { opens, clicks, privacy } = row
  return { opens, clicks, privacy, base: baseOf(ctx.config, row) }
}

function baseOf(config: Config, { domain, isUsable }: TrackingRow): string {
  return domain !== null && isUsable ? ownBase(config, domain) : config.trackingUrl
}

/** Scheme and port are those of the shared name: one server answers for all names. */
export function ownBase({ trackingUrl }: Pick<Config, 'trackingUrl'>, domain: string): string {
  const base = new URL(trackingUrl)
  base.hostname = trackingNameOf(domain)
  return base.origin
}

/** The settings as the workspace sees and changes them. */
export interface TrackingSettings extends WorkspaceTracking {
  /** The address that `reply_to: true` stands for. */
  readonly replyTo: string | null
  readonly trackingDomain: string | null
}

/** Null for a deleted workspace. */
export async function readTrackingSettings(
  ctx: { readonly db: Queryable; readonly config: Config },
  workspaceId: string,
): Promise<TrackingSettings | null> {
  const {
    rows: [row],
  } = await ctx.db.query<TrackingRow>(LOAD, [workspaceId])
  if (row === undefined) return null
  const { opens, clicks, privacy, replyTo, domain } = row
  return { opens, clicks, privacy, replyTo, trackingDomain: domain, base: baseOf(ctx.config, row) }
}

/** Omitted fields stay unchanged. */
export interface TrackingChange {
  readonly opens?: boolean | null | undefined
  readonly clicks?: boolean | null | undefined
  readonly privacy?: Privacy | undefined
  readonly replyTo?: string | null | undefined
  readonly trackingDomainId?: string | null | undefined
}

const COLUMNS: Readonly<Record<keyof TrackingChange, string>> = {
  opens: 'track_opens',
  clicks: 'track_clicks',
  privacy: 'tracking_privacy',
  replyTo: 'reply_to',
  trackingDomainId: 'tracking_domain_id',
}

export async function changeTrackingSettings(
  db: Queryable,
  workspaceId: string,
  change: TrackingChange,
): Promise<void> {
  const given = (Object.keys(COLUMNS) as (keyof TrackingChange)[]).filter((field) => change[field] !== undefined)
  if (given.length === 0) return
  const sets = given.map((field, i) => `${COLUMNS[field]} = $${i + 2}`).join(', ')
  await db.query(`UPDATE workspaces SET ${sets} WHERE id = $1`, [workspaceId, ...given.map((field) => change[field])])
}

const IS_TRACKING_DOMAIN = sql`
  SELECT 1
  FROM domains
  WHERE domain = $1 AND tracking_status = 'verified' AND verification_status IN ('verified', 'degraded')
  LIMIT 1
`

/** Whether a host is the tracking name of a verified domain and points to this service. */
export async function isTrackingName(db: Queryable, host: string): Promise<boolean> {
  const domain = host.slice(host.indexOf('.') + 1)
  return trackingNameOf(domain) === host && ((await db.query(IS_TRACKING_DOMAIN, [domain])).rowCount ?? 0) > 0
}

const CACHE_LIMITS = { max: 10_000, ttlMs: 5000 }

export interface TrackingCache {
  find(workspaceId: string): Promise<WorkspaceTracking>
}

/** One query for each workspace every few seconds. */
export function createTrackingCache(ctx: Pick<Context, 'db' | 'config' | 'clock'>): TrackingCache {
  const cache = createLoadingCache<WorkspaceTracking>(ctx.clock, CACHE_LIMITS)
  return { find: (workspaceId) => cache.get(workspaceId, () => loadTracking(ctx, workspaceId)) }
}
