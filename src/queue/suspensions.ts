/**
 * Suspensions by the operator: of a recipient domain, all mail (`*`), a site, a workspace or a campaign, until resumed
 * or for a time. Suspended recipients stay in PostgreSQL; no attempt is made or counted. Mail to a suspended domain or
 * site is parked in Redis; mail of a suspended workspace or campaign is not claimed and not scheduled
 * (`suspendedByOwner`). A resume is recorded in the same statement, and the worker schedules exactly the suspended
 * recipients again (worker/resume-suspended.ts); it also resumes expired suspensions. An outbound process learns of a
 * change through Redis at once, or by polling after some seconds if Redis is away. Recipients claimed before are still
 * sent. A suspension of a workspace may cover everything (scope `all`): then its keys, links and pages stop too, within
 * seconds (decision 041).
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import type { Context } from '#src/context.ts'
import { urgent, type Queryable } from '#src/stores/db.ts'
import { createCoalescedRefresh } from '#src/concurrency/coalesced-refresh.ts'
import { sql } from '#src/stores/sql.ts'
import { findSites } from './domain-sites.ts'
import { SUSPENSIONS_CHANNEL } from './keys.ts'

/** What can be suspended. */
export const SUSPENDABLE = ['domain', 'site', 'workspace', 'campaign'] as const
export type SuspendableKind = (typeof SUSPENDABLE)[number]

export interface SuspensionTarget {
  readonly kind: SuspendableKind
  /** A domain in lower case or `*`, a site, or an id. */
  readonly subject: string
}

/** `mail`: the mail waits. `all`, of a workspace only: also its keys, links, pages and hosted mail are closed. */
export const SUSPENSION_SCOPES = ['mail', 'all'] as const
export type SuspendedScope = (typeof SUSPENSION_SCOPES)[number]

export interface Suspension extends SuspensionTarget {
  readonly scope: SuspendedScope
  readonly reason: string
  readonly createdAt: Date
  /** Null: until resumed. */
  readonly until: Date | null
}

/** Prefix of the reasons of automatic suspensions. */
export const RATE_PAUSE_PREFIX = 'for its rates: '

/** Kinds whose mail is parked in Redis. */
const PARKED_KINDS: ReadonlySet<SuspendableKind> = new Set(['domain', 'site'])

/** Interval at which every process reads the suspensions. */
export const POLL_MS = 5000

/**
 * SQL condition: the recipient `r` (workspace_id, campaign_id) belongs to a workspace or campaign that is suspended at
 * this time, or to a campaign that its owner paused or cancelled.
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

/** SQL condition: a suspension of scope `all` covers the workspace with this id. */
export function suspendedEntirely(workspaceId: string): string {
  return sql`
    EXISTS (
      SELECT FROM suspensions stop
      WHERE stop.kind = 'workspace'
        AND stop.subject = ${workspaceId}::text
        AND stop.scope = 'all'
        AND (stop.until IS NULL OR stop.until > now())
    )
  `
}

const IS_SUSPENDED = urgent('workspace-is-suspended', `SELECT ${suspendedEntirely('$1')} AS is_suspended`)

/** Whether a suspension of scope `all` covers the workspace. */
export async function isWorkspaceSuspended(db: Queryable, workspaceId: string): Promise<boolean> {
  const { rows } = await db.query<{ is_suspended: boolean }>(IS_SUSPENDED, [workspaceId])
  return rows[0]?.is_suspended === true
}

/** SQL condition: all mail is suspended. */
export const ALL_SUSPENDED = sql`
  EXISTS (
    SELECT FROM suspensions s
    WHERE s.kind = 'domain' AND s.subject = '*' AND (s.until IS NULL OR s.until > now())
  )
`

type SuspensionDeps = Pick<Context, 'db' | 'redis'>

// the dispatcher waits for it before mail becomes ready
const LIST = urgent(
  'suspensions-list',
  sql`
    SELECT kind, subject, scope, reason, created_at AS "createdAt", until
    FROM suspensions
    WHERE until IS NULL OR until > now()
    ORDER BY kind, subject
  `,
)

/** The suspensions in force. */
export async function listSuspensions(db: Queryable): Promise<Suspension[]> {
  return (await db.query<Suspension>(LIST)).rows
}

/** Suspends mail; an existing suspension gets the new scope, reason and time. */
export async function suspend(
  ctx: SuspensionDeps,
  target: (SuspensionTarget & { readonly scope?: SuspendedScope }) | string,
  reason: string,
  until: Date | null = null,
): Promise<void> {
  const scope = typeof target === 'string' ? 'mail' : (target.scope ?? 'mail')
  await storeSuspension(ctx.db, { ...targetOf(target), scope, reason, until })
  await publishSuspensions(ctx)
}

/** Stores a suspension, also in a transaction. Call `publishSuspensions` after the commit. */
export async function storeSuspension(
  db: Queryable,
  { kind, subject, scope, reason, until }: Omit<Suspension, 'createdAt'>,
): Promise<void> {
  await db.query(
    sql`
      INSERT INTO suspensions (kind, subject, reason, until, scope)
      VALUES ($1, $2, $3, $4, $5)
      ON CONFLICT (kind, subject)
      DO UPDATE SET reason = excluded.reason, until = excluded.until, scope = excluded.scope
    `,
    [kind, subject, reason, until, scope],
  )
}

/** Deletes suspensions and records the resume in one statement, so that no resume is lost. */
export function resumeStatement(which: string): string {
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

/** Schedules again what was held without a suspension, such as a paused campaign, or by an earlier suspension. */
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

/** False if it was not suspended. */
export async function resume(ctx: SuspensionDeps, target: SuspensionTarget | string): Promise<boolean> {
  const { kind, subject } = targetOf(target)
  const { rowCount } = await ctx.db.query(resumeStatement('kind = $1 AND subject = $2'), [kind, subject])
  if (rowCount === 0) return false
  await publishSuspensions(ctx)
  return true
}

/** Resumes expired suspensions; returns how many. */
export async function resumeExpired(ctx: SuspensionDeps): Promise<number> {
  const { rowCount } = await ctx.db.query(resumeStatement('until <= now()'))
  if (rowCount !== null && rowCount > 0) await publishSuspensions(ctx)
  return rowCount ?? 0
}

function targetOf(target: SuspensionTarget | string): SuspensionTarget {
  const { kind, subject } = typeof target === 'string' ? { kind: 'domain' as const, subject: target } : target
  return { kind, subject: subject.toLowerCase() }
}

/** Makes all processes read the suspensions now. Never rejects: without Redis they poll. */
export function publishSuspensions(ctx: Pick<Context, 'redis'>): Promise<unknown> {
  return ctx.redis.publish(SUSPENSIONS_CHANNEL, '').catch(() => undefined)
}

export interface SuspensionWatch {
  /** Why mail to a domain, or to its site if known, is suspended; undefined if it is not. */
  find(domain: string, site?: string): string | undefined
  /** Reads the suspensions now. Never rejects: on failure the previous state stays until the next read. */
  refresh(): Promise<void>
  /** Reads the suspensions now. Rejects if they cannot be read. */
  reload(): Promise<void>
  /** Resolves when published changes are loaded: `find` is then correct for mail accepted after them. */
  settled(): Promise<void>
  stop(): void
}

/** @throws if PostgreSQL is unavailable at the start. */
export async function watchSuspensions(ctx: Context): Promise<SuspensionWatch> {
  let known = new Map<string, Suspension>()
  const ended = new Map<string, SuspensionTarget>()
  async function load(): Promise<void> {
    const found = new Map((await listSuspensions(ctx.db)).map((one) => [`${one.kind} ${one.subject}`, one]))
    for (const [name, one] of known) if (!found.has(name) && PARKED_KINDS.has(one.kind)) ended.set(name, one)
    known = found
    if (ended.size === 0) return
    // its mail was parked here until now, and other processes may have scheduled theirs already
    await rescheduleTargets(ctx.db, [...ended.values()])
    ended.clear()
  }
  let failure: unknown
  const refresher = createCoalescedRefresh(
    () => {
      failure = undefined
      return load()
    },
    (error) => {
      failure = error
      ctx.log.debug({ err: error }, 'failed to read the suspensions')
    },
  )
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
    reload: async () => {
      await refresher.refresh()
      if (failure !== undefined) throw new Error('failed to read the suspensions', { cause: failure })
    },
    settled: () => refresher.settled(),
    stop: () => clearInterval(timer),
  }
}

/** A message that may be suspended. */
interface SuspendableMessage {
  readonly messageId: string
  readonly workspaceId: string
  readonly domains: readonly string[]
}

/** Returns the narrowest suspension that holds a message's recipients of a domain; null if none does. */
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
