/**
 * What is tracked of a mail: what the mail itself says, else its workspace's switch, else what its kind is used to. And under whose name:
 * the tracking name of the workspace's domain while its CNAME is there, else the one all share.
 */
import type { Config } from '#config/load.ts'
import type { Context } from '#src/context.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { trackingNameOf } from '#src/domains/records.ts'
import { createLoadingCache } from '#src/concurrency/loading-cache.ts'
import { sql } from '#src/stores/sql.ts'

/** Null: not said. */
export interface TrackingPreference {
  readonly opens: boolean | null
  readonly clicks: boolean | null
}

/** How much of an IP address is kept with an open or a click. */
export type Privacy = 'full' | 'truncated' | 'none'

export interface WorkspaceTracking extends TrackingPreference {
  readonly privacy: Privacy
  /** Scheme and host in the links, with no slash at the end. */
  readonly base: string
}

/** Where a mail comes from: the API, an SMTP client, a campaign or automation. */
export type MailOrigin = 'api' | 'submission' | 'marketing'

const DEFAULTS: Readonly<Record<MailOrigin, boolean>> = { api: false, submission: false, marketing: true }

export interface ResolvedTracking {
  readonly opens: boolean
  readonly clicks: boolean
}

/** SMTP clients have their mail left as it is: only what the mail itself asks for counts. */
export function resolveTracking(origin: MailOrigin, mail: TrackingPreference, workspace: TrackingPreference): ResolvedTracking {
  const ofWorkspace = origin === 'submission' ? { opens: null, clicks: null } : workspace
  return {
    opens: mail.opens ?? ofWorkspace.opens ?? DEFAULTS[origin],
    clicks: mail.clicks ?? ofWorkspace.clicks ?? DEFAULTS[origin],
  }
}

interface TrackingRow {
  readonly opens: boolean | null
  readonly clicks: boolean | null
  readonly privacy: Privacy
  readonly replyTo: string | null
  /** Whose tracking name is wished. */
  readonly domain: string | null
  /** It is verified, and its tracking name leads to us. */
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

/** Of a workspace that is gone: nothing is tracked. */
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

/** Scheme and port are those of the shared name: whoever answers there answers for all names. */
export function ownBase({ trackingUrl }: Pick<Config, 'trackingUrl'>, domain: string): string {
  const base = new URL(trackingUrl)
  base.hostname = trackingNameOf(domain)
  return base.origin
}

/** As its owner sees and changes it. */
export interface TrackingSettings extends WorkspaceTracking {
  /** Where `reply_to: true` leads. */
  readonly replyTo: string | null
  readonly trackingDomain: string | null
}

/** Null for a workspace that is gone. */
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

/** What is left out stays as it is. */
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

/** Whether a host is the tracking name of a verified domain and leads to us. */
export async function isTrackingName(db: Queryable, host: string): Promise<boolean> {
  const domain = host.slice(host.indexOf('.') + 1)
  return trackingNameOf(domain) === host && ((await db.query(IS_TRACKING_DOMAIN, [domain])).rowCount ?? 0) > 0
}

const CACHE_LIMITS = { max: 10_000, ttlMs: 5000 }

export interface TrackingCache {
  find(workspaceId: string): Promise<WorkspaceTracking>
}

/** One question to PostgreSQL for each workspace every few seconds. */
export function createTrackingCache(ctx: Pick<Context, 'db' | 'config' | 'clock'>): TrackingCache {
  const cache = createLoadingCache<WorkspaceTracking>(ctx.clock, CACHE_LIMITS)
  return { find: (workspaceId) => cache.get(workspaceId, () => loadTracking(ctx, workspaceId)) }
}
