/**
 * Schedules the mail of ended suspensions again: mail to a domain or site from the suspended site queues in Redis, mail
 * of a workspace or campaign from PostgreSQL. If several suspensions ended, the highest tier of all goes first. A long
 * queue is processed in parts, so that a later release does not wait for it.
 *
 * A process that does not know of the end yet may still move mail to the suspended queue. Therefore destinations are
 * checked again until every process has polled the suspensions; a process that learns of it later releases the mail
 * itself. A crash, or two workers at the same time: the work is repeated, and a duplicate entry in the schedule is
 * harmless. Redis unavailable: the round is retried.
 */
import type { WorkFound } from '#src/concurrency/work-found.ts'
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import { readWaiting, type Cursor, type MailOwner } from '#src/messages/open-recipients.ts'
import { findSites } from '#src/queue/domain-sites.ts'
import {
  domainOfSuspendedSite,
  DUE_CHANNEL,
  dueKey,
  isSuspendedSite,
  readyKey,
  SITES_KEY,
  turnsKey,
} from '#src/queue/keys.ts'
import { addToSchedule } from '#src/queue/due-schedule.ts'
import { clearSuspendedCounts } from '#src/queue/suspended-counts.ts'
import { listSuspensions, POLL_MS, type SuspensionTarget } from '#src/queue/suspensions.ts'
import { TIER_NAMES, type Tier } from '#src/queue/tiers.ts'
import { sql } from '#src/stores/sql.ts'
import type { IdlingRound } from './loop.ts'

type ResumeDeps = Pick<Context, 'db' | 'redis' | 'clock' | 'log'>

interface SuspensionRelease extends SuspensionTarget {
  /** With microseconds, because the same subject may be suspended and resumed again meanwhile. */
  readonly at: string
  readonly ageMs: number
}

const SLICE = 5000
const FOREVER = new Date(Date.UTC(9999, 0))

/** After this time a new round reads further releases and starts with the highest tier again. */
const BUDGET_MS = 400

/**
 * The positions of the walks through an owner's mail of a tier; null: done. A crash loses them, and the walk restarts.
 */
type Walks = Map<string, Cursor | null>

export function createResumeRound(ctx: Context): IdlingRound {
  const walks: Walks = new Map()
  return () => rescheduleReleased(ctx, walks, performance.now() + BUDGET_MS)
}

async function rescheduleReleased(ctx: ResumeDeps, walks: Walks, until: number): Promise<WorkFound> {
  const { rows } = await ctx.db.query<SuspensionRelease>(
    sql`
      SELECT kind, subject, at::text, (extract(epoch FROM clock_timestamp() - at) * 1000)::float AS "ageMs"
      FROM let_go
      ORDER BY at
    `,
  )
  if (rows.length === 0) {
    walks.clear()
    return 'none'
  }
  const owners = rows.flatMap(({ kind, subject, at }) =>
    kind === 'workspace' || kind === 'campaign' ? [{ kind, id: subject, at }] : [],
  )
  const sites = await findReleasedSites(
    ctx,
    rows.filter(({ kind }) => kind === 'domain' || kind === 'site'),
  )
  for (const tier of TIER_NAMES) {
    for (const site of sites) if (!(await rescheduleSite(ctx, site, tier, until))) return 'more'
    for (const owner of owners) if (!(await rescheduleOwner(ctx, walks, { owner, tier }, until))) return 'more'
  }
  await removeEmptySites(ctx, sites)
  if (owners.length > 0) await clearSuspendedCounts(ctx.redis)
  const done = rows.filter(({ kind, ageMs }) => kind === 'workspace' || kind === 'campaign' || ageMs > POLL_MS + 1000)
  for (const { kind, subject, at } of done)
    await ctx.db.query('DELETE FROM let_go WHERE kind = $1 AND subject = $2 AND at = $3', [kind, subject, at])
  return 'some'
}

/** Suspended site queues that no suspension holds any more. */
async function findReleasedSites({ db, redis }: ResumeDeps, ended: readonly SuspensionTarget[]): Promise<string[]> {
  if (ended.length === 0) return []
  const domains = new Set(ended.map(({ kind, subject }) => (kind === 'domain' ? subject : '*')))
  const aside = (await redis.zrange(SITES_KEY, '0', '-1'))
    .filter(isSuspendedSite)
    .filter((site) => domains.has('*') || domains.has(domainOfSuspendedSite(site)))
  const isStopped = await readSuspended(db, aside.map(domainOfSuspendedSite))
  return aside.filter((site) => !isStopped(domainOfSuspendedSite(site)))
}

async function readSuspended(db: Queryable, domains: readonly string[]): Promise<(domain: string) => boolean> {
  const [stopped, sites] = [await listSuspensions(db), await findSites(db, domains)]
  const names = new Set(stopped.map(({ kind, subject }) => `${kind} ${subject}`))
  return (domain) => names.has('domain *') || names.has(`domain ${domain}`) || names.has(`site ${sites.get(domain)}`)
}

/** False when the time was over before all was rescheduled. */
async function rescheduleSite({ redis, clock }: ResumeDeps, site: string, tier: Tier, until: number): Promise<boolean> {
  for (;;) {
    const members = await redis.zrange(readyKey(site, tier), '0', String(SLICE - 1))
    if (members.length === 0) return true
    const now = clock.now()
    // in this order: an entry in both is harmless, an entry in neither would be late
    await redis.zadd(dueKey(tier), ...members.flatMap((member) => [now, member]))
    await redis.zrem(readyKey(site, tier), ...members)
    await redis.publish(DUE_CHANNEL, tier)
    if (performance.now() > until) return false
  }
}

/** Removes empty queues; a queue that got mail meanwhile stays. */
async function removeEmptySites({ redis }: ResumeDeps, sites: readonly string[]): Promise<void> {
  for (const site of sites) {
    const counts = await Promise.all(TIER_NAMES.map((tier) => redis.zcard(readyKey(site, tier))))
    if (counts.some((count) => count > 0)) continue
    for (const tier of TIER_NAMES) await redis.del(turnsKey(site, tier))
    await redis.zrem(SITES_KEY, site)
  }
}

interface Walk {
  readonly owner: MailOwner & Pick<SuspensionRelease, 'at'>
  readonly tier: Tier
}

/** False when the time was over before all was rescheduled. */
async function rescheduleOwner(ctx: ResumeDeps, walks: Walks, { owner, tier }: Walk, until: number): Promise<boolean> {
  const name = `${owner.kind} ${owner.id} ${owner.at} ${tier}`
  for (let cursor = walks.get(name); cursor !== null;) {
    const { due, next } = await readWaiting(ctx.db, tier, FOREVER, { cursor: cursor ?? null, limit: SLICE, owner })
    await addToSchedule(ctx, due)
    cursor = next
    walks.set(name, cursor)
    if (cursor !== null && performance.now() > until) return false
  }
  return true
}
