/**
 * Makes due recipients ready: removes them from the schedule, the highest tier first, finds the site of each by its
 * domain, and adds them to that site's ready queue. Instant mail is claimed directly where nothing is ahead of it. It
 * wakes when something is scheduled, and by a timer at the next due time. A slow DNS reply delays its own domain only.
 *
 * The process dies between the two steps: in PostgreSQL the recipients still wait, and the worker schedules them
 * again. Redis away, or a script fails: recipients already removed go back on the schedule, and the next round waits,
 * longer after each failure.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Router } from '#mta/route/route.ts'
import { createFailureBackoff, type FailureBackoff } from '#src/concurrency/failure-backoff.ts'
import type { Context } from '#src/context.ts'
import { accountIdOf } from '#src/providers/account-destination.ts'
import { schedule, type DueEntry, type DueRecipient, type DueSchedule } from '#src/queue/due-schedule.ts'
import type { DomainSites } from '#src/queue/domain-sites.ts'
import { EPOCH_KEY, groupSite, isSuspendedSite, suspendedSite, parseMember } from '#src/queue/keys.ts'
import type { SuspensionWatch } from '#src/queue/suspensions.ts'
import { TIER_NAMES, type Tier } from '#src/queue/tiers.ts'
import type { GroupFinder } from './group-finder.ts'
import type { ReadyQueue } from './ready-queue.ts'
import type { SiteQueues } from './site-queues.ts'

const BATCH = 500
/**
 * The most recipients that wait for DNS. Above this no more are removed from the schedule (instant mail: above twice
 * this), so memory stays bounded while DNS is slow.
 */
const MAX_ROUTING = 20_000
/** The most that a wake-up lost with a Redis connection delays. */
const MAX_SLEEP_MS = 2000
/** After a failure of Redis, and after the latest of many. */
const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 5000
/** How often a process that must not claim asks again. */
const CLOSED_MS = 1000

export interface DispatcherDeps {
  readonly dueSchedule: DueSchedule
  readonly readyQueue: Pick<ReadyQueue, 'addReady'>
  /** Never rejects. */
  readonly router: Pick<Router, 'route'>
  /** Remembers the site of each domain. */
  readonly sites: Pick<DomainSites, 'record'>
  /** Mail of a suspended domain or site is set aside. */
  readonly suspensions: Pick<SuspensionWatch, 'find' | 'settled'>
  /** False while this process must not claim: its clock may be wrong. */
  readonly mayClaim: () => boolean
  /** Claims instant mail itself if it can; woken after recipients became ready. */
  readonly queues: Pick<SiteQueues, 'wake' | 'claimDue'>
  /** Where processes have different sources: which of them can send a recipient. */
  readonly groups: GroupFinder
}

interface TieredDueEntry extends DueEntry {
  readonly tier: Tier
}

export class Dispatcher {
  readonly #ctx: Pick<Context, 'redis' | 'clock' | 'log'>
  readonly #deps: DispatcherDeps
  /** Tiers that may have something due. */
  readonly #pending = new Set<Tier>(TIER_NAMES)
  /** When the next recipient of a tier is due, epoch ms. */
  readonly #nextMs = new Map<Tier, number>()
  readonly #running: Promise<void>
  /** By site: entries of this turn of the event loop, which go to Redis together. */
  #collected = new Map<string, TieredDueEntry[]>()
  readonly #stopping = new AbortController()
  readonly #reading: FailureBackoff
  readonly #writing: FailureBackoff
  #routing = 0
  /** How long to wait before the next read of the schedule. */
  #pauseMs = 0
  #wake: () => void = () => undefined

  constructor(ctx: Pick<Context, 'redis' | 'clock' | 'log'>, deps: DispatcherDeps) {
    this.#ctx = ctx
    this.#deps = deps
    const pauses = { firstMs: FIRST_PAUSE_MS, longestMs: LONGEST_PAUSE_MS }
    this.#reading = createFailureBackoff(ctx.log, { message: 'failed to read due recipients from Redis', ...pauses })
    this.#writing = createFailureBackoff(ctx.log, { message: 'failed to make due recipients ready', ...pauses })
    this.#running = this.#run()
  }

  /** Something was scheduled in a tier. Any other text: checks the due times of all tiers. */
  wakeTier(tier: string): void {
    const known = TIER_NAMES.find((name) => name === tier)
    for (const name of known === undefined ? TIER_NAMES : [known]) this.#pending.add(name)
    this.#wake()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#wake()
    await this.#running
    // without the epoch the worker fills the schedule again, including what was removed from it and is not ready yet
    if (this.#routing > 0) await this.#ctx.redis.del(EPOCH_KEY).catch(() => undefined)
  }

  async #run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const tier = this.#nextTier()
      if (tier === undefined) {
        await this.#sleep()
        continue
      }
      if (!this.#deps.mayClaim()) await this.#pause(CLOSED_MS)
      else await this.#dispatchOrPause(tier)
    }
  }

  async #dispatchOrPause(tier: Tier): Promise<void> {
    // what cannot be made ready returns to the schedule, and must not be read again at once
    if (this.#pauseMs > 0) await this.#pause(this.#pauseMs)
    this.#pauseMs = 0
    this.#pending.delete(tier)
    try {
      await this.#dispatch(tier)
      this.#reading.succeeded()
    } catch (error) {
      this.#pending.add(tier)
      this.#pauseMs = this.#reading.failed(error)
    }
  }

  /** Ends early when the dispatcher stops. */
  async #pause(ms: number): Promise<void> {
    const { signal } = this.#stopping
    await sleep(ms, undefined, { signal }).catch(() => undefined)
  }

  /** The highest tier that may have something due and may route it. */
  #nextTier(): Tier | undefined {
    const mayRoute = (tier: Tier): boolean => this.#routing < (tier === 'instant' ? 2 : 1) * MAX_ROUTING
    return TIER_NAMES.find((tier) => this.#pending.has(tier) && mayRoute(tier))
  }

  /** Dispatches one batch of a tier; then the highest tier is served again. */
  async #dispatch(tier: Tier): Promise<void> {
    const { due, nextMs } = await this.#deps.dueSchedule.popDue(tier, this.#ctx.clock.now(), BATCH)
    if (nextMs === null) this.#nextMs.delete(tier)
    else this.#nextMs.set(tier, nextMs)
    if (due.length === BATCH) this.#pending.add(tier)
    // beside the lookup of the sites
    const groups =
      this.#deps.groups.isNeeded && due.length > 0 ? this.#deps.groups.find(due.map(({ member }) => member)) : null
    for (const [domain, entries] of groupByDomain(due)) {
      this.#routing += entries.length
      const withTier = entries.map((entry) => ({ ...entry, tier }))
      void this.#siteFor(domain).then(async (site) => {
        if (groups === null || isSuspendedSite(site) || accountIdOf(domain) !== null) this.#collect(site, withTier)
        else this.#collectGrouped(site, withTier, await groups)
      })
    }
  }

  /** Where mail for a domain goes: to its site, or aside while it is suspended. */
  async #siteFor(domain: string): Promise<string> {
    const { suspensions, router, sites } = this.#deps
    // a suspension that was stored before this mail was accepted must hold it
    await suspensions.settled()
    // a suspended domain is not looked up in DNS
    if (suspensions.find(domain) !== undefined) return suspendedSite(domain)
    const site = await findSite(router, domain)
    if (accountIdOf(domain) === null) sites.record(domain, site)
    return suspensions.find(domain, site) === undefined ? site : suspendedSite(domain)
  }

  #collectGrouped(site: string, entries: readonly TieredDueEntry[], groups: ReadonlyMap<string, string>): void {
    const bySite = Map.groupBy(entries, ({ member }) => {
      const group = groups.get(member)
      return group === undefined ? site : groupSite(site, group)
    })
    for (const [name, some] of bySite) this.#collect(name, some)
  }

  #collect(site: string, entries: readonly TieredDueEntry[]): void {
    if (this.#claimInstants(site, entries)) return this.#routed(entries.length)
    if (this.#collected.size === 0) setImmediate(() => void this.#makeReady())
    this.#collected.set(site, [...(this.#collected.get(site) ?? []), ...entries])
  }

  async #makeReady(): Promise<void> {
    const bySite = this.#collected
    this.#collected = new Map()
    const entries = [...bySite.values()].flat()
    try {
      await this.#deps.readyQueue.addReady(bySite)
      this.#writing.succeeded()
      for (const [site, ready] of bySite)
        this.#deps.queues.wake(
          site,
          ready.some(({ tier }) => tier === 'instant'),
        )
    } catch (error) {
      // Redis went away between the two steps, or refuses the second
      this.#pauseMs = this.#writing.failed(error)
      schedule(this.#ctx, entries.flatMap(dueOf))
    }
    this.#routed(entries.length)
  }

  #routed(count: number): void {
    this.#routing -= count
    if (this.#pending.size > 0) this.#wake()
  }

  /** False if these are not instant mail, or must wait at their site. They are claimed at once: a turn takes long. */
  #claimInstants(site: string, entries: readonly TieredDueEntry[]): boolean {
    return entries.every(({ tier }) => tier === 'instant') && this.#deps.queues.claimDue(site, entries)
  }

  /** Sleeps until the next due time, a wake-up, or the longest sleep. */
  async #sleep(): Promise<void> {
    const next = Math.min(...this.#nextMs.values(), Infinity)
    const ms = Math.max(0, Math.min(next - this.#ctx.clock.now(), MAX_SLEEP_MS))
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.#wake = () => undefined
    const now = this.#ctx.clock.now()
    for (const tier of TIER_NAMES)
      if (ms === MAX_SLEEP_MS || (this.#nextMs.get(tier) ?? Infinity) <= now) this.#pending.add(tier)
  }
}

/** The site that accepts mail for a domain; a connected account is a site of its own. */
export async function findSite(router: Pick<Router, 'route'>, domain: string): Promise<string> {
  return accountIdOf(domain) === null ? (await router.route(domain)).site : domain
}

function groupByDomain(entries: readonly DueEntry[]): Map<string, DueEntry[]> {
  const groups = new Map<string, DueEntry[]>()
  for (const entry of entries) {
    const domain = parseMember(entry.member)?.domain
    if (domain === undefined) continue
    const group = groups.get(domain)
    if (group === undefined) groups.set(domain, [entry])
    else group.push(entry)
  }
  return groups
}

function dueOf({ member, tier, dueMs }: TieredDueEntry): DueRecipient[] {
  const parsed = parseMember(member)
  return parsed === null ? [] : [{ ...parsed, tier, dueMs }]
}
