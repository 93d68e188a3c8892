/**
 * A lane: what this process holds for one site. Recipients that were claimed wait here by tier, and leave strictly by tier as slots allow.
 * Pure bookkeeping: which one starts next, and how many more to claim. No Redis, no network, no time but what is handed in.
 */
import { reservedForInstant, type SiteLimits } from '#mta/limits/site-limits.ts'
import type { Claimed } from '#src/messages/claim.ts'
import { TIER_NAMES, type Tier } from '#src/queue/tiers.ts'

/** Never hold more than this of one site: what is held here, other processes cannot send. */
const MOST_HELD = 200
/** Enough is held to stay busy for about this long, so that a claim fetches a batch and not one. */
const HELD_MS = 60
const INSTANT_AT_ONCE = 50

export class Lane {
  readonly site: string
  limits: SiteLimits
  active = 0
  /** Counts wake-ups: a claim that was overtaken by one is not the last word. */
  wakes = 0
  hasInstantNews = true
  isClaiming = false
  /** The last claim got all there was. */
  isDry = false
  usedAtMs = 0
  readonly #waiting: readonly Claimed[][] = TIER_NAMES.map(() => [])
  #activeOthers = 0
  #windowAtMs = 0
  #windowDone = 0
  #rate = 0

  constructor(site: string, limits: SiteLimits) {
    this.site = site
    this.limits = limits
  }

  get held(): number {
    return this.#waiting.reduce((sum, list) => sum + list.length, 0)
  }

  get #heldOthers(): number {
    return this.held - (this.#waiting[0]?.length ?? 0)
  }

  get isIdle(): boolean {
    return this.active === 0 && this.held === 0 && !this.isClaiming
  }

  get hasInstant(): boolean {
    return (this.#waiting[0]?.length ?? 0) > 0
  }

  push(claimed: Claimed): void {
    this.#waiting[rankOf(claimed.tier)]?.push(claimed)
  }

  /** The next that may start now, taken out; undefined when no slot is free for what waits. */
  next(): Claimed | undefined {
    if (this.active >= this.limits.connections) return undefined
    const instant = this.#waiting[0]?.shift()
    if (instant !== undefined) return instant
    if (this.#activeOthers >= this.limits.connections - reservedForInstant(this.limits)) return undefined
    return this.#waiting.find((list) => list.length > 0)?.shift()
  }

  started(claimed: Claimed): void {
    this.active++
    if (claimed.tier !== 'instant') this.#activeOthers++
  }

  finished(claimed: Claimed, nowMs: number): void {
    this.active--
    if (claimed.tier !== 'instant') this.#activeOthers--
    this.usedAtMs = nowMs
    this.#windowDone++
    if (nowMs - this.#windowAtMs < 250) return
    this.#rate = this.#windowDone / Math.max(1, nowMs - this.#windowAtMs)
    this.#windowAtMs = nowMs
    this.#windowDone = 0
  }

  /** How many more to claim; nothing while enough is held, so that claims come in batches. */
  room(): { instant: number; others: number } {
    const wanted = Math.min(MOST_HELD, Math.max(this.limits.connections * 2, Math.round(this.#rate * HELD_MS)))
    const others = this.#heldOthers > wanted / 2 ? 0 : wanted - this.#heldOthers
    const instant = this.hasInstantNews || others > 0 ? Math.max(0, INSTANT_AT_ONCE - (this.#waiting[0]?.length ?? 0)) : 0
    return { instant, others }
  }

  /** Takes everything out that has not started. */
  empty(): Claimed[] {
    return this.#waiting.flatMap((list) => list.splice(0))
  }
}

function rankOf(tier: Tier): number {
  return TIER_NAMES.indexOf(tier)
}
