/**
 * The scheduler of one outbound process. It claims ready recipients of a site (claimer.ts) when the site's queues can
 * hold more, and has the runner start deliveries (runner.ts) when the process has a session for them. Read it from top
 * to bottom: wake, claim, start, release. Nothing begins without a held lease.
 *
 * Redis away: held deliveries go on, nothing more is claimed. Stopping: nothing more begins, deliveries that have not
 * begun are released immediately, and those under way may end. The process dies: its lease expires, and the worker
 * releases its recipients, uncounted.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ClaimedDelivery } from '#mta/delivery/session-grant.ts'
import { createFailureBackoff } from '#src/concurrency/failure-backoff.ts'
import type { Context } from '#src/context.ts'
import type { ClaimedRecipient } from '#src/messages/claim.ts'
import { isSuspendedSite, parseGroupSite } from '#src/queue/keys.ts'
import type { ReportedSite } from '#src/queue/site-state.ts'
import { Claimer, type ClaimerDeps, type Postponement } from './claimer.ts'
import { LeasedRecipients, type LeasedRecipient } from './leased-recipients.ts'
import type { ReadyEntry, ReadyQueue } from './ready-queue.ts'
import { Runner, type RunnerDeps } from './runner.ts'
import { SiteQueue } from './site-queue.ts'
import { SHORT_WAIT_MS, surplusReason, type SourceQueue } from './source-queue.ts'

const SCAN_MS = 5000
/** An idle site is dropped after this. */
const IDLE_MS = 10_000
/** After a failure of a store, and after the latest of many. */
const FIRST_RETRY_MS = 300
const LONGEST_RETRY_MS = 3000
const STOP_POLL_MS = 20

export interface SchedulerDeps
  extends
    Pick<ClaimerDeps, 'claimRecipients' | 'sources' | 'awaitShare' | 'isSuspended' | 'receiverSuspensions'>,
    Pick<RunnerDeps, 'lease' | 'deliver' | 'handleResult' | 'isBehind'> {
  readonly readyQueue: Pick<ReadyQueue, 'claim' | 'requeue' | 'listSites' | 'dropSite'>
  /** False while this process must not claim: its clock may be wrong. */
  readonly mayClaim: () => boolean
  /** Whether this process has a source for the mail of a group. */
  readonly mayClaimGroup: (group: string) => boolean
  /** Writes the release of recipients that were claimed and did not begin. */
  readonly release: (recipients: readonly LeasedRecipient[], postponement?: Postponement) => Promise<void>
}

export class SiteQueues {
  readonly #ctx: Context
  readonly #deps: SchedulerDeps
  readonly #sites = new Map<string, SiteQueue>()
  readonly #leased = new LeasedRecipients()
  readonly #runner: Runner
  readonly #claimer: Claimer
  readonly #scan: NodeJS.Timeout
  readonly #stopping = new AbortController()

  constructor(ctx: Context, deps: SchedulerDeps) {
    this.#ctx = ctx
    this.#deps = deps
    this.#runner = new Runner(ctx, {
      ...deps,
      leased: this.#leased,
      release: (delivery) => this.#release([delivery]),
      onFree: (site) => this.#pump(site),
    })
    this.#claimer = new Claimer(ctx, {
      ...deps,
      leased: this.#leased,
      releaseClaimed: (claimed, postponement) => this.#releaseClaimed(claimed, postponement),
      release: (deliveries, postponement) => this.#release(deliveries, postponement),
      finish: (delivery, attempt) => void this.#runner.finish(delivery, attempt),
    })
    this.#scan = setInterval(() => void this.#scanSites(), SCAN_MS)
    void this.#scanSites()
  }

  /** Deliveries under way. */
  get active(): number {
    return this.#runner.active
  }

  /** Recipients became ready at the site. */
  wake(site: string, hasInstant: boolean): void {
    if (isSuspendedSite(site) || !this.#hasSourceFor(parseGroupSite(site))) return
    const queue = this.#sites.get(site) ?? this.#open(site)
    queue.wakes++
    queue.isEmpty = false
    queue.usedAtMs = this.#ctx.clock.now()
    if (hasInstant) queue.hasReadyInstant = true
    this.#claim(queue)
  }

  /**
   * Claims instant mail that is due, without making it ready first: that takes two replies of Redis. False if other
   * instant mail may be ahead of it, or the site's queues cannot hold it: it must become ready.
   */
  claimDue(site: string, entries: readonly ReadyEntry[]): boolean {
    const queue = this.#sites.get(site)
    if (queue === undefined || !this.#mayClaim(queue) || this.#runner.isBehind || queue.dueRoom < entries.length)
      return false
    queue.usedAtMs = this.#ctx.clock.now()
    queue.dueClaims += entries.length
    void this.#watchClaim(queue, this.#claimer.claimEntries(queue, entries)).finally(() => {
      queue.dueClaims -= entries.length
      this.#pump(queue)
    })
    return true
  }

  /** Mail that another process must send is not claimed: it waits at its site for that process. */
  #hasSourceFor({ group }: SiteQueue['name']): boolean {
    return group === null || this.#deps.mayClaimGroup(group)
  }

  #open(site: string): SiteQueue {
    const queue = new SiteQueue(
      site,
      createFailureBackoff(this.#ctx.log, {
        message: 'failed to claim recipients; they are claimed when the store responds',
        fields: { site },
        firstMs: FIRST_RETRY_MS,
        longestMs: LONGEST_RETRY_MS,
      }),
    )
    queue.onChange = (sourceQueue) => this.#throttleChanged(queue, sourceQueue)
    this.#sites.set(site, queue)
    return queue
  }

  /** Claims in the background when the site's queues can hold more; one claim at a time for each site. */
  #claim(site: SiteQueue): void {
    if (site.isClaiming || site.isEmpty || !this.#mayClaim(site)) return
    if (this.#runner.isBehind) return this.#runner.addStarved(site)
    const limit = site.claimLimit(performance.now())
    if (limit.instant + limit.others === 0) return this.#claimLater(site)
    site.isClaiming = true
    void this.#watchClaim(site, this.#claimer.claim(site, limit)).finally(() => {
      site.isClaiming = false
      this.#pump(site)
    })
  }

  #mayClaim(site: SiteQueue): boolean {
    const { lease, mayClaim } = this.#deps
    return !this.#stopping.signal.aborted && lease.isHeld() && mayClaim() && this.#hasSourceFor(site.name)
  }

  /** Never rejects; after a failure it resolves when the next claim may begin. */
  #watchClaim(site: SiteQueue, claim: Promise<void>): Promise<void> {
    return claim.then(
      () => site.claiming.succeeded(),
      (error: unknown) => this.#pause(site.claiming.failed(error)),
    )
  }

  /** Ends early when the scheduler stops. */
  async #pause(ms: number): Promise<void> {
    const { signal } = this.#stopping
    await sleep(ms, undefined, { signal }).catch(() => undefined)
  }

  /** Requests a share of a throttle, or waits for the end of a pause: nothing else might wake the site. */
  #claimLater(site: SiteQueue): void {
    const pauseMs = site.pause.untilMs - performance.now()
    if (pauseMs <= 0) return site.requestShares()
    if (site.isResumeScheduled) return
    site.isResumeScheduled = true
    setTimeout(() => {
      site.isResumeScheduled = false
      this.#claim(site)
    }, pauseMs).unref()
  }

  /** Starts the deliveries that may begin, then claims more. */
  #pump(site: SiteQueue): void {
    this.#runner.start(site)
    this.#claim(site)
  }

  /**
   * The share of a throttle changed. Deliveries without a share are released: for immediate retry where another
   * source may send them, and with a short wait where another process has the share.
   */
  #throttleChanged(site: SiteQueue, queue: SourceQueue): void {
    if (queue.throttle.connections !== 0) return this.#pump(site)
    const held = queue.clear()
    if (held.length === 0) return
    const isShareElsewhere = queue.source !== null && !queue.throttle.isSuspended
    const until = new Date(this.#ctx.clock.now() + SHORT_WAIT_MS)
    const postponement = isShareElsewhere ? { until, reason: surplusReason(queue) } : undefined
    this.#release(held, postponement).catch((error: unknown) =>
      this.#ctx.log.error({ err: error }, 'failed to release recipients of a suspended source'),
    )
  }

  /** Releases deliveries for this process at another time, or for another process. */
  async #release(deliveries: readonly ClaimedDelivery[], postponement?: Postponement): Promise<void> {
    for (const { selected } of deliveries) selected.finish(null)
    await this.#releaseClaimed(
      deliveries.map(({ claimed }) => claimed),
      postponement,
    )
  }

  async #releaseClaimed(claimed: readonly ClaimedRecipient[], postponement?: Postponement): Promise<void> {
    await this.#deps.release(claimed, postponement)
    this.#leased.drop(claimed)
  }

  /** Finds sites that a process filled before it died, or whose wake-up was lost; drops sites that stay empty. */
  async #scanSites(): Promise<void> {
    void this.#checkLeased()
    try {
      for (const site of await this.#deps.readyQueue.listSites())
        if (this.#sites.get(site)?.isEmpty !== false) this.#wakeQuietly(site)
      const idleSince = this.#ctx.clock.now() - IDLE_MS
      for (const site of this.#sites.values()) {
        site.dropUnused(idleSince)
        if (!site.isIdle || site.usedAtMs > idleSince) this.#pump(site)
        else await this.#drop(site)
      }
    } catch (error) {
      this.#ctx.log.debug({ err: error }, 'failed to list sites; Redis is away')
    }
  }

  /** A wake-up that does not count as use, so that an empty site is dropped in time. */
  #wakeQuietly(site: string): void {
    const usedAtMs = this.#sites.get(site)?.usedAtMs ?? this.#ctx.clock.now()
    this.wake(site, true)
    const queue = this.#sites.get(site)
    if (queue !== undefined) queue.usedAtMs = usedAtMs
  }

  async #drop(site: SiteQueue): Promise<void> {
    site.close()
    this.#sites.delete(site.site)
    await this.#deps.readyQueue.dropSite(site.site)
  }

  async #checkLeased(): Promise<void> {
    if (!this.#leased.isUncertain) return
    const { db, log } = this.#ctx
    try {
      await this.#leased.check(db, this.#deps.lease.id, async (unknown) => {
        log.warn({ count: unknown.length }, 'releasing recipients whose claim lost its reply')
        await this.#deps.release(unknown)
      })
    } catch (error) {
      log.debug({ err: error }, 'failed to read the recipients under this lease; PostgreSQL is away')
    }
  }

  /** The status of sites with work, by source, for other processes and `explain`. */
  status(): readonly ReportedSite[] {
    return [...this.#sites.values()].flatMap((site) => site.status((queue) => this.#runner.mayBegin(site, queue)))
  }

  /** Claims nothing more, releases deliveries that have not begun, and waits up to `graceMs` for those under way. */
  async stop(graceMs: number): Promise<void> {
    clearInterval(this.#scan)
    this.#stopping.abort()
    const until = performance.now() + graceMs
    const sites = [...this.#sites.values()]
    const held = sites.flatMap((site) => site.stop())
    // written with the other results, which the caller waits for: PostgreSQL may be away
    this.#release(held).catch((error: unknown) =>
      this.#ctx.log.warn({ err: error }, 'failed to release recipients at the stop; their lease ends'),
    )
    const isBusy = (): boolean => !this.#runner.isIdle || sites.some(({ hasClaims }) => hasClaims)
    while (isBusy() && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, STOP_POLL_MS))
  }
}
