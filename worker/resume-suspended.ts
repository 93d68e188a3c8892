/**
 * Puts on the schedule again what a suspension held, after it ended, and nothing else: mail to a domain or site from where it was kept
 * aside in Redis, that of a workspace or campaign from PostgreSQL. Of several that ended, the highest tier of all goes first; a long one is
 * taken a part at a time, so that what is let go after it does not wait for it.
 *
 * A process that has not heard yet keeps mail aside once more, so destinations are looked at again until every process has looked at what is
 * stopped; one that hears later than that lets them go once more itself. Dies in the middle, or two at once: it is done again, and one entry too many on the schedule does no harm. Redis away: later.
 */
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
import { listSuspensions, POLL_MS, type SuspensionTarget } from '#src/queue/suspensions.ts'
import { TIER_NAMES, type Tier } from '#src/queue/tiers.ts'
import type { LoopSpec } from './loop.ts'

type ResumeDeps = Pick<Context, 'db' | 'redis' | 'clock' | 'log'>

interface SuspensionRelease extends SuspensionTarget {
  /** To the last digit, for one may be stopped and let go again meanwhile. */
  readonly at: string
  readonly ageMs: number
}

const SLICE = 5000
const FOREVER = new Date(Date.UTC(9999, 0))

const EVERY_MS = 500
/** Then it is looked whether more was let go, and what goes first. */
const BUDGET_MS = 400

/** How far the walk through an owner's mail of a tier is; null: done. Lost with the process, which begins again. */
type Walks = Map<string, Cursor | null>

export function resumeSuspendedLoop(ctx: Context): LoopSpec {
  const walks: Walks = new Map()
  return {
    name: 'let go',
    everyMs: EVERY_MS,
    round: () => rescheduleReleased(ctx, walks, performance.now() + BUDGET_MS),
  }
}

/** True when there is more to do. */
async function rescheduleReleased(ctx: ResumeDeps, walks: Walks, until: number): Promise<boolean> {
  const { rows } = await ctx.db.query<SuspensionRelease>(
    `SELECT kind, subject, at::text, (extract(epoch FROM clock_timestamp() - at) * 1000)::float AS "ageMs" FROM let_go ORDER BY at`,
  )
  if (rows.length === 0) {
    walks.clear()
    return false
  }
  const owners = rows.flatMap(({ kind, subject, at }) =>
    kind === 'workspace' || kind === 'campaign' ? [{ kind, id: subject, at }] : [],
  )
  const sites = await findReleasedSites(
    ctx,
    rows.filter(({ kind }) => kind === 'domain' || kind === 'site'),
  )
  for (const tier of TIER_NAMES) {
    for (const site of sites) if (!(await rescheduleSite(ctx, site, tier, until))) return true
    for (const owner of owners) if (!(await rescheduleOwner(ctx, walks, { owner, tier }, until))) return true
  }
  await removeEmptySites(ctx, sites)
  const done = rows.filter(({ kind, ageMs }) => kind === 'workspace' || kind === 'campaign' || ageMs > POLL_MS + 1000)
  for (const { kind, subject, at } of done)
    await ctx.db.query('DELETE FROM let_go WHERE kind = $1 AND subject = $2 AND at = $3', [kind, subject, at])
  return false
}

/** Where mail is kept aside that nothing stops any more. */
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

/** False when it was time before all was taken. */
async function rescheduleSite({ redis, clock }: ResumeDeps, site: string, tier: Tier, until: number): Promise<boolean> {
  for (;;) {
    const members = await redis.zrange(readyKey(site, tier), '0', String(SLICE - 1))
    if (members.length === 0) return true
    const now = clock.now()
    // in this order: twice does no harm, and in neither would be late
    await redis.zadd(dueKey(tier), ...members.flatMap((member) => [now, member]))
    await redis.zrem(readyKey(site, tier), ...members)
    await redis.publish(DUE_CHANNEL, tier)
    if (performance.now() > until) return false
  }
}

/** One that mail is put to meanwhile stays. */
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

/** False when it was time before all was read. */
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
