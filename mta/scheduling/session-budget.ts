/**
 * The sessions of the process, shared between sites: some are always left for sites that have none, however many
 * others hang. On a busy process a site gets more sessions as its deliveries finish, but never more than a part of
 * the free ones, and none of the last tenth unless it is idle. A further tenth is for instant mail only: a process
 * that is full of bulk mail can still send a one-time code. Pure bookkeeping.
 */
import type { SiteQueue } from './site-queue.ts'
import type { SourceQueue } from './source-queue.ts'

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

export class SessionBudget {
  readonly #total: number
  readonly #isBehind: () => boolean
  /** Sites that found no free session, the longest waiting first. */
  readonly #starved = new Set<SiteQueue>()
  #active = 0

  /** `isBehind`: too many results wait to be written, so nothing more may begin. */
  constructor(total: number, isBehind: () => boolean) {
    this.#total = total
    this.#isBehind = isBehind
  }

  get active(): number {
    return this.#active
  }

  get isBehind(): boolean {
    return this.#isBehind()
  }

  started(): void {
    this.#active++
  }

  ended(): void {
    this.#active--
  }

  /**
   * Whether one more delivery may begin. Deliveries that hang at one source do not count against the site's other
   * sources.
   */
  mayBegin(site: SiteQueue, queue: SourceQueue): boolean {
    if (this.isBehind) return false
    const free = this.#total - this.#active
    if (queue.active === 0 && free > 0) return true
    const isProven = queue.active < queue.window || free > AMPLE_SHARE * this.#total
    if (isProven && site.active < FREE_SHARE * free && free > RESERVED_SHARE * this.#total) return true
    return (
      queue.hasInstant &&
      queue.activeInstant < queue.window &&
      queue.activeInstant < FREE_SHARE * (free + RESERVED_SHARE * this.#total)
    )
  }

  /** The site is woken when a session becomes free. */
  addStarved(site: SiteQueue): void {
    this.#starved.add(site)
  }

  /** A session became free: wakes starved sites in turn. A site that is starved again waits behind the others. */
  wakeStarved(wake: (site: SiteQueue) => void): void {
    let left = MAX_WOKEN
    for (const site of this.#starved) {
      if (left-- === 0 || this.#active >= this.#total * (1 + RESERVED_SHARE)) return
      this.#starved.delete(site)
      wake(site)
    }
  }
}
