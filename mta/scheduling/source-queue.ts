/**
 * The deliveries of this process for one site from one source, under the receiver's throttle for that source. It
 * decides how many recipients to claim, how many to prepare ahead, and which delivery is next, strictly by tier.
 * Sessions come from the throttle, which other sites may share. Pure bookkeeping: no Redis, no network, and no clock
 * except the times passed in.
 *
 * A claim for a site brings recipients of all its sources. A source queue holds no more than a few moments' worth of
 * work. It returns the surplus, the lowest tier first, each with the time when its turn may come. So mail of a slow
 * source neither fills the process nor delays the mail of another source.
 */
import type { ClaimedDelivery } from '#mta/delivery/session-grant.ts'
import type { Throttle, ThrottleUser } from '#mta/shaping/throttle.ts'
import { WAITS_FOR_SOURCE } from '#src/egress/sources.ts'
import type { ClaimLimit } from './ready-queue.ts'
import { LiveSet } from '#src/concurrency/live-set.ts'
import { type Tier, TIER_NAMES } from '#src/queue/tiers.ts'

/** The most that one queue holds: other processes cannot send it. */
export const MAX_HELD = 500
/** A queue holds enough to stay busy for about this long, so that a claim brings a batch instead of one recipient. */
const HELD_MS = 150
const MAX_INSTANT_HELD = 50
const RATE_WINDOW_MS = 250
const MAX_RATE_WINDOW_MS = 4000
/** Concurrent deliveries before any has finished; each that finishes permits one more. */
const FIRST_WINDOW = 2
const NO_CLAIM: ClaimLimit = { instant: 0, others: 0 }
/** A queue with fewer deliveries has no surplus. */
const MIN_SURPLUS_LIMIT = 50
/** More than any share: how much else is ready at the site is not counted. */
const UNLIMITED = 100_000
/** The gap between two turns while the rate is unknown, and the longest gap when the rate is a guess. */
const TURN_MS = 20
const MAX_TURN_MS = 250
export const SHORT_WAIT_MS = 1000
/** How far ahead a turn may be when the rate is a guess, and when a rate limit gives it. */
const MAX_GUESSED_WAIT_MS = 60_000
const MAX_WAIT_MS = 600_000

/** What the site queue knows about ready recipients. */
export interface ReadyHints {
  readonly hasReadyInstant: boolean
  readonly isEmpty: boolean
}

/** A delivery that a source queue does not hold, with the time when its turn may come (epoch ms). */
export interface Surplus {
  readonly delivery: ClaimedDelivery
  readonly turnMs: number
}

export class SourceQueue implements ThrottleUser {
  /** The source's name; null: the system chooses the address. */
  readonly source: string | null
  /** Called when more may begin, or nothing may begin any more. */
  onChange: () => void = () => undefined
  usedAtMs = 0
  readonly #hints: ReadyHints
  readonly #byTier: readonly ClaimedDelivery[][] = TIER_NAMES.map(() => [])
  #throttle: Throttle
  #activeOthers = 0
  /** Deliveries that have begun and not ended. */
  readonly #begun = new LiveSet<ClaimedDelivery>()
  #windowAtMs = 0
  #windowDone = 0
  #rate = 0
  #window = FIRST_WINDOW
  #lastTurnMs = 0

  constructor(hints: ReadyHints, source: string | null, throttle: Throttle) {
    this.#hints = hints
    this.source = source
    this.#throttle = throttle
    throttle.users.add(this)
  }

  get throttle(): Throttle {
    return this.#throttle
  }

  set throttle(throttle: Throttle) {
    if (throttle === this.#throttle) return
    this.close()
    this.#throttle = throttle
    throttle.users.add(this)
  }

  close(): void {
    this.#throttle.users.delete(this)
  }

  /** Deliveries that have not begun. */
  get held(): number {
    return this.#byTier.reduce((sum, list) => sum + list.length, 0)
  }

  /** Deliveries that wait for a session: not begun, or prepared and at the gate. */
  get waiting(): ClaimedDelivery[] {
    return [...this.#inPhase('waiting'), ...this.#byTier.flat()]
  }

  /** Deliveries that have begun and are before the end of their transaction. */
  get active(): number {
    return this.#begun.size
  }

  /** Sessions in use now. */
  get sessions(): number {
    return this.#inPhase('in-session').length
  }

  #inPhase(phase: ClaimedDelivery['phase']): ClaimedDelivery[] {
    return [...this.#begun].filter((delivery) => delivery.phase === phase)
  }

  get isIdle(): boolean {
    return this.active === 0 && this.held === 0
  }

  /** True when instant mail waits here and may begin now. */
  get hasInstant(): boolean {
    return this.#instantHeld > 0 && this.#mayBeginInstant
  }

  /**
   * How many deliveries may be under way. It grows as they finish and halves when one hangs, so that others keep
   * their sessions.
   */
  get window(): number {
    return this.#window
  }

  get activeInstant(): number {
    return this.active - this.#activeOthers
  }

  get #mayBeginInstant(): boolean {
    return this.activeInstant < this.#throttle.connections * 2
  }

  /** Adds a delivery. Without a share of the throttle it requests one. */
  push(delivery: ClaimedDelivery): void {
    this.#byTier[TIER_NAMES.indexOf(delivery.claimed.tier)]?.push(delivery)
    if (this.#throttle.connections === 0) this.#throttle.onShareNeeded()
  }

  /**
   * Removes the next delivery and counts it as begun; undefined when enough are under way. `finished` must follow. As
   * many are prepared ahead as hold sessions, counted for instant mail and for all other mail: more would use sessions
   * of the process that other sites need while they wait here.
   */
  next(): ClaimedDelivery | undefined {
    const instant = this.#mayBeginInstant ? this.#byTier[0]?.shift() : undefined
    const delivery = instant ?? this.#nextOther()
    if (delivery === undefined) return undefined
    this.#begun.add(delivery)
    if (instant === undefined) this.#activeOthers++
    return delivery
  }

  #nextOther(): ClaimedDelivery | undefined {
    const tier = this.nextTierOfOthers
    return tier === null ? undefined : this.#byTier[TIER_NAMES.indexOf(tier)]?.shift()
  }

  /** The highest tier apart from instant mail that has a delivery which may begin now; null if there is none. */
  get nextTierOfOthers(): Tier | null {
    if (this.#activeOthers >= this.#throttle.connectionsForOthers * 2) return null
    return TIER_NAMES.find((tier, rank) => tier !== 'instant' && (this.#byTier[rank]?.length ?? 0) > 0) ?? null
  }

  /** Removes all deliveries that have not begun. */
  clear(): ClaimedDelivery[] {
    return this.#byTier.flatMap((list) => list.splice(0))
  }

  /** A delivery ended. `isStuck`: it ran long and delivered nothing. */
  finished(delivery: ClaimedDelivery, nowMs: number, isStuck = false): void {
    this.#begun.delete(delivery)
    this.#window = isStuck ? Math.max(FIRST_WINDOW, Math.floor(this.#window / 2)) : Math.min(this.#window + 1, MAX_HELD)
    if (delivery.claimed.tier !== 'instant') this.#activeOthers--
    this.usedAtMs = nowMs
    this.#windowDone++
    const sinceMs = nowMs - this.#windowAtMs
    if (sinceMs < RATE_WINDOW_MS) return
    // after a pause the rate is unknown
    this.#rate = sinceMs > MAX_RATE_WINDOW_MS ? 0 : this.#windowDone / sinceMs
    this.#windowAtMs = nowMs
    this.#windowDone = 0
  }

  /** How many more recipients to claim. None while the queue holds enough, so that claims come in batches. */
  claimLimit(): ClaimLimit {
    if (this.#throttle.connections === 0) return NO_CLAIM
    const target = this.#targetOfOthers
    const others = this.#othersHeld > target / 2 ? 0 : Math.max(0, target - this.#othersHeld)
    const isInstantLikely = this.#hints.hasReadyInstant || others > 0
    return { instant: isInstantLikely ? this.instantRoom : 0, others }
  }

  /** How much more instant mail the queue can hold. */
  get instantRoom(): number {
    if (this.#throttle.connections === 0) return 0
    return Math.max(0, Math.min(MAX_INSTANT_HELD, this.#throttle.maxHeld) - this.#instantHeld)
  }

  /**
   * Removes the surplus, the lowest tier and the latest deliveries first. Where the system chooses the address, a
   * site has one source queue, and a claim brings no more than it can hold.
   */
  removeSurplus(nowMs: number): Surplus[] {
    if (this.source === null) return []
    const { isSuspended } = this.#throttle
    const limit = isSuspended ? 0 : Math.max(MIN_SURPLUS_LIMIT, Math.min(MAX_HELD, this.#targetOfOthers * 2))
    const lowestFirst = this.#byTier.slice(1).toReversed()
    const surplus: ClaimedDelivery[] = []
    for (let over = this.#othersHeld - limit; over > 0; over--) {
      const last = lowestFirst.find((list) => list.length > 0)?.pop()
      if (last !== undefined) surplus.push(last)
    }
    const instantOver = this.#instantHeld - (isSuspended ? 0 : MAX_INSTANT_HELD * 2)
    const instant = instantOver > 0 ? (this.#byTier[0]?.splice(-instantOver) ?? []) : []
    return [
      ...instant.map((delivery) => ({ delivery, turnMs: nowMs + SHORT_WAIT_MS })),
      ...surplus.toReversed().map((delivery) => ({ delivery, turnMs: this.#nextTurn(nowMs) })),
    ]
  }

  /** The turn after all turns assigned before. */
  #nextTurn(nowMs: number): number {
    const { messageRate } = this.#throttle.receiver
    const knownGap = messageRate === null ? 0 : messageRate.perMs / messageRate.count
    const guessedGap = this.#rate > 0 ? Math.min(1 / this.#rate, MAX_TURN_MS) : TURN_MS
    const next = Math.max(this.#lastTurnMs, nowMs + SHORT_WAIT_MS) + Math.max(knownGap, guessedGap)
    this.#lastTurnMs = Math.min(next, nowMs + (knownGap > 0 ? MAX_WAIT_MS : MAX_GUESSED_WAIT_MS))
    return this.#lastTurnMs
  }

  /** The deliveries that wait for a session here, and the recipients that are ready to claim. */
  demand(): { instant: number; others: number } {
    const { hasReadyInstant, isEmpty } = this.#hints
    const inSession = this.#inPhase('in-session')
    const inSessionOthers = inSession.filter(({ claimed }) => claimed.tier !== 'instant').length
    const preparing = this.active - inSession.length
    const preparingOthers = this.#activeOthers - inSessionOthers
    return {
      instant: this.#instantHeld + preparing - preparingOthers + (hasReadyInstant && !isEmpty ? 1 : 0),
      others: this.#othersHeld + preparingOthers + (isEmpty ? 0 : UNLIMITED),
    }
  }

  onThrottleChange(): void {
    this.onChange()
  }

  get #instantHeld(): number {
    return this.#byTier[0]?.length ?? 0
  }

  get #othersHeld(): number {
    return this.held - this.#instantHeld
  }

  /** How many deliveries other than instant mail to hold. */
  get #targetOfOthers(): number {
    const { connectionsForOthers, maxHeld } = this.#throttle
    const ahead = Math.max(Math.min(connectionsForOthers, this.#window) * 2, Math.round(this.#rate * HELD_MS))
    return connectionsForOthers === 0 ? 0 : Math.min(MAX_HELD, maxHeld, ahead)
  }
}

/** The reason stored with a recipient that a source queue released because it holds enough. */
export function surplusReason({ source }: Pick<SourceQueue, 'source'>): string {
  return `${source ?? 'our address'} has more mail for this receiver than it may send now: ${WAITS_FOR_SOURCE}`
}
