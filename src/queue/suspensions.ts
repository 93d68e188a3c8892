/**
 * What the operator has stopped: a recipient domain, all mail (`*`), a site, a workspace or a campaign, until it is resumed or for a time.
 * Its recipients stay waiting in PostgreSQL; nothing is tried and nothing counted. Mail to a stopped domain or site is kept aside in
 * Redis; that of a stopped workspace or campaign is not claimed and not put on the schedule (`HELD_BY_OWNER`).
 *
 * What is resumed is noted with it, and the worker puts what it held on the schedule again (worker/resume-suspended.ts), and nothing else; one that runs out
 * is resumed by the worker. An outbound process learns of a change by Redis at once, and by looking every few seconds when Redis was away. What it had claimed before goes out.
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import { createCoalescedRefresh } from '#src/concurrency/coalesced-refresh.ts'
import { sql } from '#src/stores/sql.ts'
import { findSites } from './domain-sites.ts'
import { SUSPENSIONS_CHANNEL } from './keys.ts'

/** What may be stopped. */
export const SUSPENDABLE = ['domain', 'site', 'workspace', 'campaign'] as const
export type SuspendableKind = (typeof SUSPENDABLE)[number]

export interface SuspensionTarget {
  readonly kind: SuspendableKind
  /** A domain in lower case or `*`, a site, or an id. */
  readonly subject: string
}

export interface Suspension extends SuspensionTarget {
  readonly reason: string
  readonly createdAt: Date
  /** Null: until it is resumed. */
  readonly until: Date | null
}

/** Reasons of suspensions that nobody gave by hand begin so. */
export const RATE_PAUSE_PREFIX = 'for its rates: '

/** Their mail is kept aside in Redis. */
const PARKED_KINDS: ReadonlySet<SuspendableKind> = new Set(['domain', 'site'])

/** Every process looks so often at what is stopped. */
export const POLL_MS = 5000

/**
 * In SQL: is a recipient `r` (workspace_id, campaign_id) of a workspace or campaign that is stopped at this time, or of a campaign that was
 * paused or cancelled by its owner? Mail that is of no campaign is asked no further.
 */
export function suspendedByOwner(now: string): string {
  const inForce = `(s.until IS NULL OR s.until > ${now}::timestamptz)`
  const of = (kind: SuspendableKind): string =>
    `SELECT s.subject::uuid FROM suspensions s WHERE s.kind = '${kind}' AND ${inForce}`
  return sql`
    (
      r.workspace_id = ANY (ARRAY(${of('workspace')}))
      OR (
        r.campaign_id IS NOT NULL
        AND (
          r.campaign_id = ANY (ARRAY(${of('campaign')}))
          OR EXISTS (SELECT FROM campaigns p WHERE p.id = r.campaign_id AND p.status IN ('PAUSED', 'CANCELLED'))
        )
      )
    )
  `
}

/** In SQL: is all mail stopped? */
export const ALL_SUSPENDED = sql`
  EXISTS (
    SELECT FROM suspensions s
    WHERE s.kind = 'domain' AND s.subject = '*' AND (s.until IS NULL OR s.until > now())
  )
`

type SuspensionDeps = Pick<Context, 'db' | 'redis'>

/** Those in force. */
export async function listSuspensions(db: Queryable): Promise<Suspension[]> {
  return (
    await db.query<Suspension>(sql`
      SELECT kind, subject, reason, created_at AS "createdAt", until
      FROM suspensions
      WHERE until IS NULL OR until > now()
      ORDER BY kind, subject
    `)
  ).rows
}

/** Stops mail; what is stopped already gets this reason and this time. */
export async function suspend(
  ctx: SuspensionDeps,
  target: SuspensionTarget | string,
  reason: string,
  until: Date | null = null,
): Promise<void> {
  const { kind, subject } = targetOf(target)
  await ctx.db.query(
    sql`
      INSERT INTO suspensions (kind, subject, reason, until)
      VALUES ($1, $2, $3, $4)
      ON CONFLICT (kind, subject)
      DO UPDATE SET reason = excluded.reason, until = excluded.until
    `,
    [kind, subject, reason, until],
  )
  await publishChange(ctx)
}

/** Both in one statement: what is let go is never forgotten. */
function resumeStatement(which: string): string {
  return sql`
    WITH ended AS (
      DELETE FROM suspensions
      WHERE ${which}
      RETURNING kind, subject
    )
    INSERT INTO let_go (kind, subject, at)
    SELECT kind, subject, clock_timestamp()
    FROM ended
    ON CONFLICT (kind, subject)
    DO UPDATE SET at = excluded.at
  `
}

/** What was held back without a suspension, such as a campaign that was paused, or by one that ended before: put on the schedule again. */
export async function rescheduleTargets(tx: Queryable, targets: readonly SuspensionTarget[]): Promise<void> {
  await tx.query(
    sql`
      INSERT INTO let_go (kind, subject, at)
      SELECT kind, subject, clock_timestamp()
      FROM unnest($1::text[], $2::text[]) AS e (kind, subject)
      ON CONFLICT (kind, subject)
      DO UPDATE SET at = excluded.at
    `,
    columnsOf(targets, [({ kind }) => kind, ({ subject }) => subject]),
  )
}

/** False when it was not suspended. */
export async function resume(ctx: SuspensionDeps, target: SuspensionTarget | string): Promise<boolean> {
  const { kind, subject } = targetOf(target)
  const { rowCount } = await ctx.db.query(resumeStatement('kind = $1 AND subject = $2'), [kind, subject])
  if (rowCount === 0) return false
  await publishChange(ctx)
  return true
}

/** Ends those whose time is over; answers how many. */
export async function resumeExpired(ctx: SuspensionDeps): Promise<number> {
  const { rowCount } = await ctx.db.query(resumeStatement('until <= now()'))
  if (rowCount !== null && rowCount > 0) await publishChange(ctx)
  return rowCount ?? 0
}

function targetOf(target: SuspensionTarget | string): SuspensionTarget {
  const { kind, subject } = typeof target === 'string' ? { kind: 'domain' as const, subject: target } : target
  return { kind, subject: subject.toLowerCase() }
}

function publishChange(ctx: SuspensionDeps): Promise<unknown> {
  return ctx.redis.publish(SUSPENSIONS_CHANNEL, '').catch(() => undefined)
}

export interface SuspensionWatch {
  /** Why mail to a domain, or to the site that takes its mail where that is known, is stopped; undefined when it is not. */
  find(domain: string, site?: string): string | undefined
  /** Looks again now. Never rejects: what was known before then holds until the next look. */
  refresh(): Promise<void>
  /** Resolves when what was announced is known: `find` may then be trusted with mail that was accepted after it. */
  settled(): Promise<void>
  stop(): void
}

/** @throws when PostgreSQL is away at the start. */
export async function watchSuspensions(ctx: Context): Promise<SuspensionWatch> {
  let known = new Map<string, Suspension>()
  const ended = new Map<string, SuspensionTarget>()
  async function load(): Promise<void> {
    const found = new Map((await listSuspensions(ctx.db)).map((one) => [`${one.kind} ${one.subject}`, one]))
    for (const [name, one] of known) if (!found.has(name) && PARKED_KINDS.has(one.kind)) ended.set(name, one)
    known = found
    if (ended.size === 0) return
    // until now its mail was kept aside here, and others may have looked for the last time
    await rescheduleTargets(ctx.db, [...ended.values()])
    ended.clear()
  }
  const refresher = createCoalescedRefresh(load, (error) => ctx.log.debug({ err: error }, 'suspensions could not be read'))
  await load()
  const timer = setInterval(() => void refresher.refresh(), POLL_MS)
  return {
    find: (domain, site) =>
      (
        known.get(`domain ${domain}`) ??
        known.get('domain *') ??
        (site === undefined ? undefined : known.get(`site ${site}`))
      )?.reason,
    refresh: () => refresher.refresh(),
    settled: () => refresher.settled(),
    stop: () => clearInterval(timer),
  }
}

/** Whose mail it is. */
interface SuspendableMessage {
  readonly messageId: string
  readonly workspaceId: string
  readonly domains: readonly string[]
}

/** What holds a message's recipients of each domain: the narrowest of what is stopped; null when nothing is. */
export async function findSuspensions(
  db: Queryable,
  { messageId, workspaceId, domains }: SuspendableMessage,
): Promise<(domain: string) => Suspension | null> {
  const suspensions = await listSuspensions(db)
  if (suspensions.length === 0) return () => null
  const [sites, campaigns] = await Promise.all([findSites(db, domains), findCampaigns(db, messageId)])
  const byName = new Map(suspensions.map((one) => [`${one.kind} ${one.subject}`, one]))
  return (domain) => {
    const names = [
      `domain ${domain}`,
      `site ${sites.get(domain)}`,
      ...campaigns.map((id) => `campaign ${id}`),
      `workspace ${workspaceId}`,
      'domain *',
    ]
    return names.map((name) => byName.get(name)).find((one) => one !== undefined) ?? null
  }
}

async function findCampaigns(db: Queryable, messageId: string): Promise<string[]> {
  const { rows } = await db.query<{ campaign_id: string }>(
    'SELECT DISTINCT campaign_id FROM recipients WHERE message_id = $1 AND campaign_id IS NOT NULL',
    [messageId],
  )
  return rows.map((row) => row.campaign_id)
}
