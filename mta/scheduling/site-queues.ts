/**
 * The scheduler of one outbound process. It claims ready recipients of a site (claimer.ts) when the site's queues can
 * hold more, and starts a delivery (runner.ts) when the process has a session for it (session-budget.ts). Read it
 * from top to bottom: wake, claim, start, finish. Nothing begins without a held lease.
 *
 * Redis away: held deliveries go on, nothing more is claimed. Stopping: nothing more begins, deliveries that have not
 * begun are released immediately, and those under way may end. The process dies: its lease expires, and the worker
 * releases its recipients, uncounted.
 */
import type { ClaimedDelivery, SelectedSource } from '#mta/delivery/session-grant.ts'
import type { Context } from '#src/context.ts'
import type { ClaimedRecipient } from '#src/messages/claim.ts'
import type { Attempt } from '#src/messages/outcome.ts'
import { isSuspendedSite } from '#src/queue/keys.ts'
import type { Lease } from '#src/queue/lease.ts'
import type { ReportedSite } from '#src/queue/site-state.ts'
import { Claimer, type ClaimerDeps, type Postponement } from './claimer.ts'
import { LeasedRecipients, type LeasedRecipient } from './leased-recipients.ts'
import type { ReadyQueue } from './ready-queue.ts'
import { runDelivery, type RunnerDeps } from './runner.ts'
import { SessionBudget } from './session-budget.ts'
import { SiteQueue } from './site-queue.ts'
import { SHORT_WAIT_MS, surplusReason, type SourceQueue } from './source-queue.ts'

const SCAN_MS = 5000
/** An idle site is dropped after this. */
const IDLE_MS = 10_000
const STORE_AWAY_RETRY_MS = 300
const STOP_POLL_MS = 20

export interface SchedulerDeps
  extends Pick<ClaimerDeps, 'claimRecipients' | 'sources' | 'awaitShare' | 'isSuspended'>, Pick<RunnerDeps, 'deliver'> {
  readonly lease: Pick<Lease, 'id' | 'isHeld'>
  readonly readyQueue: Pick<ReadyQueue, 'claim' | 'requeue' | 'listSites' | 'dropSite'>
  /** Handles the result of an attempt; resolves when it is written. */
  readonly handleResult: (claimed: ClaimedRecipient, attempt: Attempt, selected: SelectedSource) => Promise<void>
  /** True while too many results wait to be written. */
  readonly isBehind: () => boolean
  /** Writes the release of recipients that were claimed and did not begin. */
  readonly release: (recipients: readonly LeasedRecipient[], postponement?: Postponement) => Promise<void>
}

export class SiteQueues {
  readonly #ctx: Context
  readonly #deps: SchedulerDeps
  readonly #sites = new Map<string, SiteQueue>()
  readonly #leased = new LeasedRecipients()
  readonly #budget: SessionBudget
  readonly #claimer: Claimer
  readonly #runnerDeps: RunnerDeps
  readonly #scan: NodeJS.Timeout
  /** Results that are being written. */
  #finishing = 0
  #isStopped = false

  constructor(ctx: Context, deps: SchedulerDeps) {
    this.#ctx = ctx
    this.#deps = deps
    this.#budget = new SessionBudget(ctx.config.outboundSessions, deps.isBehind)
    const isStopped = (): boolean => this.#isStopped
    this.#claimer = new Claimer(ctx, {
      ...deps,
      leased: this.#leased,
      isStopped,
      releaseClaimed: (claimed, postponement) => this.#releaseClaimed(claimed, postponement),
      release: (deliveries, postponement) => this.#release(deliveries, postponement),
      finish: (delivery, attempt) => void this.#finish(delivery, attempt),
    })
    this.#runnerDeps = {
      deliver: deps.deliver,
      isLeased: (claimed) => deps.lease.isHeld() && this.#isOurs(claimed),
      isStopped,
      now: () => ctx.clock.now(),
    }
    this.#scan = setInterval(() => void this.#scanSites(), SCAN_MS)
    void this.#scanSites()
  }

  /** Deliveries under way. */
  get active(): number {
    return this.#budget.active
  }

  /** Recipients became ready at the site. */
  wake(site: string, hasInstant: boolean): void {
    if (isSuspendedSite(site)) return
    const queue = this.#sites.get(site) ?? this.#open(site)
    queue.wakes++
    queue.isEmpty = false
    queue.usedAtMs = this.#ctx.clock.now()
    if (hasInstant) queue.hasReadyInstant = true
    this.#claim(queue)
  }

  #open(site: string): SiteQueue {
    const queue = new SiteQueue(site)
    queue.onChange = (sourceQueue) => this.#throttleChanged(queue, sourceQueue)
    this.#sites.set(site, queue)
    return queue
  }

  /** Claims in the background when the site's queues can hold more; one claim at a time for each site. */
  #claim(site: SiteQueue): void {
    if (site.isClaiming || site.isEmpty || this.#isStopped || !this.#deps.lease.isHeld()) return
    if (this.#budget.isBehind) return this.#budget.addStarved(site)
    const limit = site.claimLimit(performance.now())
    if (limit.instant + limit.others === 0) return this.#claimLater(site)
    site.isClaiming = true
    this.#claimer
      .claim(site, limit)
      .catch(async (error: unknown) => {
        this.#ctx.log.debug({ err: error, site: site.site }, 'failed to claim recipients; a store is away')
        await new Promise((resolve) => setTimeout(resolve, STORE_AWAY_RETRY_MS))
      })
      .finally(() => {
        site.isClaiming = false
        this.#pump(site)
      })
  }

  /** Requests a share of a throttle, or waits for the end of a pause: nothing else might wake the site. */
  #claimLater(site: SiteQueue): void {
    const pauseMs = site.pausedUntilMs - performance.now()
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
    for (const queue of site.sourceQueues.values()) this.#start(site, queue)
    this.#claim(site)
  }

  #start(site: SiteQueue, queue: SourceQueue): void {
    while (!this.#isStopped && this.#deps.lease.isHeld()) {
      if (!this.#budget.mayBegin(site, queue)) return this.#budget.addStarved(site)
      const delivery = queue.next()
      if (delivery === undefined) return
      if (this.#isOurs(delivery.claimed)) void this.#run(site, queue, delivery)
      else {
        delivery.selected.finish(null)
        this.#leased.drop([delivery.claimed])
      }
    }
  }

  async #run(site: SiteQueue, queue: SourceQueue, delivery: ClaimedDelivery): Promise<void> {
    this.#budget.started()
    const attempt = await runDelivery(this.#runnerDeps, queue, delivery).catch((error: unknown) =>
      this.#logFault(delivery.claimed, error),
    )
    this.#budget.ended()
    site.usedAtMs = this.#ctx.clock.now()
    // after an internal error nothing is written: the recipient is released when the lease ends
    if (attempt === undefined) delivery.selected.finish(null)
    else void this.#finish(delivery, attempt)
    this.#wakeStarved()
    this.#pump(site)
  }

  /** Writes the result. Null: no attempt was made, and the recipient is released. */
  async #finish(delivery: ClaimedDelivery, attempt: Attempt | null): Promise<void> {
    this.#finishing++
    const written = attempt === null ? this.#release([delivery]) : this.#write(delivery, attempt)
    await written.catch((error: unknown) => this.#logFault(delivery.claimed, error))
    this.#finishing--
    this.#wakeStarved()
  }

  async #write({ claimed, selected }: ClaimedDelivery, attempt: Attempt): Promise<void> {
    selected.finish(attempt)
    await this.#deps.handleResult(claimed, attempt, selected)
    this.#leased.drop([claimed])
  }

  #wakeStarved(): void {
    this.#budget.wakeStarved((site) => this.#pump(site))
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

  /** False when the lease of the claim was lost: another process may have the recipient. */
  #isOurs(claimed: ClaimedRecipient): boolean {
    return claimed.lease === this.#deps.lease.id
  }

  #logFault({ messageId: id, address: to }: ClaimedRecipient, error: unknown): undefined {
    this.#ctx.log.error(
      { err: error, id, to },
      'a delivery failed by an internal error; its recipient is released with the lease',
    )
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
    return [...this.#sites.values()].flatMap((site) => site.status((queue) => this.#budget.mayBegin(site, queue)))
  }

  /** Claims nothing more, releases deliveries that have not begun, and waits up to `graceMs` for those under way. */
  async stop(graceMs: number): Promise<void> {
    clearInterval(this.#scan)
    this.#isStopped = true
    const until = performance.now() + graceMs
    const sites = [...this.#sites.values()]
    for (const site of sites) for (const queue of site.sourceQueues.values()) queue.throttle.stop()
    const held = sites.flatMap((site) => site.clear())
    if (held.length > 0) await this.#release(held)
    const isBusy = (): boolean => this.active + this.#finishing > 0 || sites.some(({ isClaiming }) => isClaiming)
    while (isBusy() && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, STOP_POLL_MS))
  }
}
