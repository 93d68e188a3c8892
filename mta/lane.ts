/**
 * A lane: what this process does for one site. It says how many recipients to claim, how many to prepare ahead, and who is next, strictly
 * by tier; sessions come from the pace that it may share with other sites. Pure bookkeeping: no Redis, no network, no time but what is
 * handed in.
 */
import type { Pace, User } from '#mta/limits/pace.ts'
import type { Claimed } from '#src/messages/claim.ts'
import { TIER_NAMES, type Tier } from '#src/queue/tiers.ts'

/** Never hold more than this of one site: what is held here, other processes cannot send. */
const MOST_HELD = 500
/** Enough is held to stay busy for about this long, so that a claim fetches a batch and not one. */
const HELD_MS = 150
const INSTANT_AT_ONCE = 50
const RATE_WINDOW_MS = 250
/** Under way at once at a site that was not seen to finish anything; each that ends lets one more begin. */
const FIRST_WINDOW = 2
/** Claimed of a site that is not known yet: enough to learn where its mail goes. */
const FIRST_ROOM = { instant: 10, others: 10 }
const NO_ROOM = { instant: 0, others: 0 }
/** More than anybody may use: what else is ready there. */
const MORE = 100_000

/** Hands out the sessions of a site to one delivery. */
export interface Gate {
  readonly pace: Pace
  /** Resolves when it is this tier's turn: false when it must not begin any more. `leave` must follow in any case. */
  enter(tier: Tier): Promise<boolean>
  /** Asked again right before the receiver can have it. */
  readonly mayGo: () => boolean
  leave(tier: Tier): void
}

export class Lane implements User {
  readonly site: string
  /** Called when more may begin, or nothing may any more. */
  onChange: () => void = () => undefined
  /** Counts wake-ups: a claim that was overtaken by one is not the last word. */
  wakes = 0
  hasInstantNews = true
  isClaiming = false
  /** The last claim got all there was. */
  isDry = false
  usedAtMs = 0
  /** Made ready, waiting for a session. */
  readonly atGate = new Set<Claimed>()
  /** Begun and still before the end of their transaction. */
  active = 0
  readonly #waiting: readonly Claimed[][] = TIER_NAMES.map(() => [])
  #pace: Pace | null = null
  #activeOthers = 0
  #sessions = 0
  #sessionsOfOthers = 0
  #windowAtMs = 0
  #windowDone = 0
  #rate = 0
  #window = FIRST_WINDOW

  constructor(site: string) {
    this.site = site
  }

  /** Null until something was claimed here: a site does not say who receives there. */
  get pace(): Pace | null {
    return this.#pace
  }

  set pace(pace: Pace | null) {
    if (pace === this.#pace) return
    this.#pace?.users.delete(this)
    this.#pace = pace
    pace?.users.add(this)
  }

  get held(): number {
    return this.#waiting.reduce((sum, list) => sum + list.length, 0)
  }

  /** Those that wait for a session: not begun, or made ready and before the gate. */
  get waiting(): Claimed[] {
    return [...this.atGate, ...this.#waiting.flat()]
  }

  /** Open now. */
  get sessions(): number {
    return this.#sessions
  }

  get isIdle(): boolean {
    return this.active === 0 && this.held === 0 && !this.isClaiming
  }

  /** An instant mail waits that may begin now. */
  get hasInstant(): boolean {
    return (this.#waiting[0]?.length ?? 0) > 0 && this.#mayBeginInstant
  }

  /** How many may be under way, by how those before them ended: a site that hangs is not given what others could use. */
  get window(): number {
    return this.#window
  }

  get activeInstant(): number {
    return this.active - this.#activeOthers
  }

  get #mayBeginInstant(): boolean {
    return this.active - this.#activeOthers < (this.#pace?.connections ?? 0) * 2
  }

  push(claimed: Claimed): void {
    this.#waiting[rankOf(claimed.tier)]?.push(claimed)
  }

  /**
   * The next to begin, taken out; undefined when enough is under way. As many are made ready ahead as hold sessions, of instant mail and
   * of all other: more would take the process's room from other sites while they wait here.
   */
  next(): Claimed | undefined {
    const instant = this.#mayBeginInstant ? this.#waiting[0]?.shift() : undefined
    if (instant !== undefined || this.#activeOthers >= (this.#pace?.forOthers ?? 0) * 2) return instant
    return this.#waiting.slice(1).find((list) => list.length > 0)?.shift()
  }

  started(claimed: Claimed): void {
    this.active++
    if (claimed.tier !== 'instant') this.#activeOthers++
  }

  /** `isStuck`: it took long and led to nothing. */
  finished(claimed: Claimed, nowMs: number, isStuck = false): void {
    this.#window = isStuck ? Math.max(FIRST_WINDOW, Math.floor(this.#window / 2)) : Math.min(this.#window + 1, MOST_HELD)
    this.active--
    if (claimed.tier !== 'instant') this.#activeOthers--
    this.usedAtMs = nowMs
    this.#windowDone++
    if (nowMs - this.#windowAtMs < RATE_WINDOW_MS) return
    this.#rate = this.#windowDone / Math.max(1, nowMs - this.#windowAtMs)
    this.#windowAtMs = nowMs
    this.#windowDone = 0
  }

  /** How many more to claim; nothing while enough is held, so that claims come in batches. */
  room(): { instant: number; others: number } {
    const pace = this.#pace
    if (pace === null) return FIRST_ROOM
    if (pace.connections === 0) return NO_ROOM
    const instantHeld = this.#waiting[0]?.length ?? 0
    const heldOthers = this.held - instantHeld
    const ahead = Math.max(Math.min(pace.forOthers, this.#window) * 2, Math.round(this.#rate * HELD_MS))
    const wanted = pace.forOthers === 0 ? 0 : Math.min(MOST_HELD, pace.mostHeld, ahead)
    const others = heldOthers > wanted / 2 ? 0 : Math.max(0, wanted - heldOthers)
    const instant = this.hasInstantNews || others > 0 ? Math.max(0, Math.min(INSTANT_AT_ONCE, pace.mostHeld) - instantHeld) : 0
    return { instant, others }
  }

  /** Takes everything out that has not begun. */
  empty(): Claimed[] {
    return this.#waiting.flatMap((list) => list.splice(0))
  }

  entered(tier: Tier): void {
    this.#sessions++
    if (tier !== 'instant') this.#sessionsOfOthers++
  }

  left(tier: Tier): void {
    this.#sessions--
    if (tier !== 'instant') this.#sessionsOfOthers--
  }

  /** Those that wait for a session here, and what is ready for us to claim. */
  demand(): { instant: number; others: number } {
    const instantHeld = this.#waiting[0]?.length ?? 0
    const preparing = { all: this.active - this.#sessions, others: this.#activeOthers - this.#sessionsOfOthers }
    return {
      instant: instantHeld + preparing.all - preparing.others + (this.hasInstantNews && !this.isDry ? 1 : 0),
      others: this.held - instantHeld + preparing.others + (this.isDry ? 0 : MORE),
    }
  }

  changed(): void {
    this.onChange()
  }
}

function rankOf(tier: Tier): number {
  return TIER_NAMES.indexOf(tier)
}
