/**
 * Runs deliveries: starts those that may begin, and handles their results. A delivery uses a session of its throttle
 * until its conversation ends; its result is written afterwards, while the next delivery runs.
 *
 * The sessions of the process are shared between sites: some are always left for sites that have none, however many
 * others hang. On a busy process a site gets more sessions as its deliveries finish, but never more than a part of
 * the free ones, and none of the last tenth unless it is idle. A further tenth is for instant mail only: a process
 * that is full of bulk mail can still send a one-time code.
 *
 * At most one delivery of other than instant mail begins in a turn of the event loop (turn-limit.ts).
 *
 * Nothing begins without a held lease. A delivery that fails by an internal error is not written: its recipient is
 * released with the lease.
 */
import type { ClaimedDelivery, SessionGrant } from '#mta/delivery/session-grant.ts'
import type { Context } from '#src/context.ts'
import type { ClaimedRecipient } from '#src/messages/claim.ts'
import type { Attempt } from '#src/messages/outcome.ts'
import type { Lease } from '#src/queue/lease.ts'
import type { LeasedRecipients } from './leased-recipients.ts'
import type { SiteQueue } from './site-queue.ts'
import type { SourceQueue } from './source-queue.ts'
import { TurnLimit } from './turn-limit.ts'

/** The part of the free sessions that one site may use. */
const FREE_SHARE = 0.25
/** While this part of all sessions is free, a site may get more before any of its deliveries has finished. */
const AMPLE_SHARE = 0.8
/**
 * The part of all sessions that is reserved: the last ones for idle sites, and as many again, on top, for instant mail.
 */
const RESERVED_SHARE = 0.1
/** How many starved sites are woken when one session becomes free. */
const MAX_WOKEN = 20
/** A delivery that fails after more than this shows that the site hangs. */
const STUCK_MS = 20_000

export interface RunnerDeps {
  readonly lease: Pick<Lease, 'id' | 'isHeld'>
  readonly leased: Pick<LeasedRecipients, 'drop'>
  /** Makes one attempt, to the end of its conversation; null when no attempt was made. */
  readonly deliver: (delivery: ClaimedDelivery, grant: SessionGrant) => Promise<Attempt | null>
  /** Handles the result of an attempt; resolves when it is written. */
  readonly handleResult: (delivery: ClaimedDelivery, attempt: Attempt) => Promise<void>
  /** Releases a recipient without a result. */
  readonly release: (delivery: ClaimedDelivery) => Promise<void>
  /** True while too many results wait to be written: nothing more may begin. */
  readonly isBehind: () => boolean
  /** The site may start and claim more. */
  readonly onFree: (site: SiteQueue) => void
}

export type RunnerContext = Pick<Context, 'clock' | 'config' | 'log'>

export class Runner {
  readonly #ctx: RunnerContext
  readonly #deps: RunnerDeps
  /** Sites that found no free session, the longest waiting first. */
  readonly #starved = new Set<SiteQueue>()
  readonly #turn = new TurnLimit<SourceQueue>()
  #active = 0
  /** Results that are being written. */
  #finishing = 0

  constructor(ctx: RunnerContext, deps: RunnerDeps) {
    this.#ctx = ctx
    this.#deps = deps
  }

  /** Deliveries under way. */
  get active(): number {
    return this.#active
  }

  /** No delivery is under way, and every result is written. */
  get isIdle(): boolean {
    return this.#active + this.#finishing === 0
  }

  get isBehind(): boolean {
    return this.#deps.isBehind()
  }

  /** Starts the deliveries of the site that may begin. */
  start(site: SiteQueue): void {
    for (const queue of site.sourceQueues.values()) this.#startFrom(site, queue)
  }

  #startFrom(site: SiteQueue, queue: SourceQueue): void {
    while (!site.isStopped && this.#deps.lease.isHeld()) {
      if (!this.mayBegin(site, queue)) return this.addStarved(site)
      if (!this.#turn.isFree && !queue.hasInstant) return this.#waitForTurn(site, queue)
      const delivery = queue.next()
      if (delivery === undefined) return
      if (delivery.claimed.tier !== 'instant') this.#turn.use()
      void this.#run(site, queue, delivery)
    }
  }

  #waitForTurn(site: SiteQueue, queue: SourceQueue): void {
    const tier = queue.nextTierOfOthers
    if (tier === null) return
    this.#turn.wait(queue, tier, () => {
      this.#startFrom(site, queue)
      this.#deps.onFree(site)
    })
  }

  /**
   * Whether the process has a session for one more delivery. Deliveries that hang at one source do not count against
   * the site's other sources.
   */
  mayBegin(site: SiteQueue, queue: SourceQueue): boolean {
    if (this.isBehind) return false
    const total = this.#ctx.config.outboundSessions
    const free = total - this.#active
    if (queue.active === 0 && free > 0) return true
    const isProven = queue.active < queue.window || free > AMPLE_SHARE * total
    if (isProven && site.active < FREE_SHARE * free && free > RESERVED_SHARE * total) return true
    return (
      queue.hasInstant &&
      queue.activeInstant < queue.window &&
      queue.activeInstant < FREE_SHARE * (free + RESERVED_SHARE * total)
    )
  }

  async #run(site: SiteQueue, queue: SourceQueue, delivery: ClaimedDelivery): Promise<void> {
    const beganAt = performance.now()
    this.#active++
    const attempt = await this.#deliver(site, delivery)
    const isStuck = performance.now() - beganAt > STUCK_MS && attempt?.outcome.kind !== 'delivered'
    if (delivery.phase === 'in-session') delivery.selected.throttle.leave(delivery.claimed.tier)
    queue.finished(delivery, this.#ctx.clock.now(), isStuck)
    this.#active--
    site.usedAtMs = this.#ctx.clock.now()
    if (attempt === undefined) delivery.selected.finish(null)
    else void this.finish(delivery, attempt)
    this.#wakeStarved()
    this.#deps.onFree(site)
  }

  /** Undefined: nothing is to be written. The lease was lost, or an internal error happened. */
  async #deliver(site: SiteQueue, delivery: ClaimedDelivery): Promise<Attempt | null | undefined> {
    const { lease, leased, deliver } = this.#deps
    // with the lease of the claim lost, another process may have the recipient
    const isOurs = (): boolean => delivery.claimed.lease === lease.id
    if (!isOurs()) {
      leased.drop([delivery.claimed])
      return undefined
    }
    const grant: SessionGrant = {
      isStopped: () => site.isStopped,
      mayProceed: () => lease.isHeld() && isOurs(),
    }
    return deliver(delivery, grant).catch((error: unknown) => this.#logFault(delivery.claimed, error))
  }

  /** Writes the result. Null: no attempt was made, and the recipient is released. */
  async finish(delivery: ClaimedDelivery, attempt: Attempt | null): Promise<void> {
    this.#finishing++
    const written = attempt === null ? this.#deps.release(delivery) : this.#write(delivery, attempt)
    await written.catch((error: unknown) => this.#logFault(delivery.claimed, error))
    this.#finishing--
    this.#wakeStarved()
  }

  async #write(delivery: ClaimedDelivery, attempt: Attempt): Promise<void> {
    delivery.selected.finish(attempt)
    await this.#deps.handleResult(delivery, attempt)
    this.#deps.leased.drop([delivery.claimed])
  }

  /** The site is woken when a session becomes free. */
  addStarved(site: SiteQueue): void {
    this.#starved.add(site)
  }

  /** A session became free: wakes starved sites in turn. A site that is starved again waits behind the others. */
  #wakeStarved(): void {
    let left = MAX_WOKEN
    for (const site of this.#starved) {
      if (left-- === 0 || this.#active >= this.#ctx.config.outboundSessions * (1 + RESERVED_SHARE)) return
      this.#starved.delete(site)
      this.#deps.onFree(site)
    }
  }

  #logFault({ requestId, messageId: id, address: to }: ClaimedRecipient, error: unknown): undefined {
    this.#ctx.log.error(
      { err: error, requestId, id, to },
      'a delivery failed by an internal error; its recipient is released with the lease',
    )
  }
}
