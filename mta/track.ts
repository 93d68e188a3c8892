/**
 * A track of a lane: what this process holds for one site to be sent by one source, at the pace that the receiver has for that source. It
 * says how many recipients to claim for it, how many to prepare ahead, and who is next, strictly by tier; sessions come from the pace that
 * it may share with other sites. Pure bookkeeping: no Redis, no network, no time but what is handed in.
 *
 * What is claimed for a site is of all its sources. A track takes no more than a few moments' worth: what is too much comes out again, the
 * lowest tier first, with the moment at which it may be its turn. So mail of a slow source neither fills the process nor stands before
 * another's.
 */
import type { Pace, User } from '#mta/limits/pace.ts'
import { ITS_TURN } from '#src/egress/sources.ts'
import { TIER_NAMES, type Tier } from '#src/queue/tiers.ts'
import type { Waiting } from './waiting.ts'

/** Never hold more than this of one track: what is held here, other processes cannot send. */
export const MOST_HELD = 500
/** Enough is held to stay busy for about this long, so that a claim fetches a batch and not one. */
const HELD_MS = 150
const INSTANT_AT_ONCE = 50
const RATE_WINDOW_MS = 250
const LONGEST_WINDOW_MS = 4000
/** Under way at once where nothing was seen to finish; each that ends lets one more begin. */
const FIRST_WINDOW = 2
const NO_ROOM = { instant: 0, others: 0 }
/** Held at least, before any of it is too much. */
const FEW = 50
/** More than anybody may use: what else is ready there. */
const MORE = 100_000
/** Between two turns, while nothing is known of how fast they come, and at most where that is a guess. */
const TURN_MS = 20
const LONGEST_TURN_MS = 250
export const SOON_MS = 1000
/** A guess at a turn goes no further; where the rate is known it is no guess. */
const FAR_MS = 60_000
const FARTHEST_MS = 600_000

/** Of the lane: what may be there to claim. */
export interface News {
  readonly hasInstantNews: boolean
  readonly isDry: boolean
}

export interface Room {
  readonly instant: number
  readonly others: number
}

export class Track implements User {
  /** Null: the system chooses the address. */
  readonly source: string | null
  /** Called when more may begin, or nothing may any more. */
  onChange: () => void = () => undefined
  /** Made ready, waiting for a session. */
  readonly atGate = new Set<Waiting>()
  /** Begun and still before the end of their transaction. */
  active = 0
  usedAtMs = 0
  readonly #news: News
  readonly #waiting: readonly Waiting[][] = TIER_NAMES.map(() => [])
  #pace: Pace
  #activeOthers = 0
  #sessions = 0
  #sessionsOfOthers = 0
  #windowAtMs = 0
  #windowDone = 0
  #rate = 0
  #window = FIRST_WINDOW
  #lastTurnMs = 0

  constructor(news: News, source: string | null, pace: Pace) {
    this.#news = news
    this.source = source
    this.#pace = pace
    pace.users.add(this)
  }

  get pace(): Pace {
    return this.#pace
  }

  set pace(pace: Pace) {
    if (pace === this.#pace) return
    this.close()
    this.#pace = pace
    pace.users.add(this)
  }

  close(): void {
    this.#pace.users.delete(this)
  }

  get held(): number {
    return this.#waiting.reduce((sum, list) => sum + list.length, 0)
  }

  /** Those that wait for a session: not begun, or made ready and before the gate. */
  get waiting(): Waiting[] {
    return [...this.atGate, ...this.#waiting.flat()]
  }

  /** Open now. */
  get sessions(): number {
    return this.#sessions
  }

  get isIdle(): boolean {
    return this.active === 0 && this.held === 0
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
    return this.active - this.#activeOthers < this.#pace.connections * 2
  }

  /** One more waits; without a part in the pace, for one to be asked for. */
  push(waiting: Waiting): void {
    this.#waiting[rankOf(waiting.claimed.tier)]?.push(waiting)
    if (this.#pace.connections === 0) this.#pace.onNeed()
  }

  /**
   * Takes out what is too much to hold, of the lowest tier and the last to come first, each with about when it may be its turn (epoch ms).
   * Where the system chooses the address a site has one track, and a claim brings no more than there is room for.
   */
  takeSurplus(nowMs: number): { readonly waiting: Waiting; readonly turnMs: number }[] {
    if (this.source === null) return []
    const others = this.#waiting.slice(1).toReversed()
    const most = this.#pace.isSuspended ? 0 : Math.max(FEW, Math.min(MOST_HELD, this.#wanted * 2))
    const surplus: Waiting[] = []
    for (let over = this.held - this.#instantHeld - most; over > 0; over--) {
      const last = others.find((list) => list.length > 0)?.pop()
      if (last !== undefined) surplus.push(last)
    }
    const instantOver = this.#instantHeld - (this.#pace.isSuspended ? 0 : INSTANT_AT_ONCE * 2)
    const instant = instantOver > 0 ? (this.#waiting[0]?.splice(-instantOver) ?? []) : []
    return [
      ...instant.map((waiting) => ({ waiting, turnMs: nowMs + SOON_MS })),
      ...surplus.toReversed().map((waiting) => ({ waiting, turnMs: this.#nextTurn(nowMs) })),
    ]
  }

  /** Behind all that were given one before. */
  #nextTurn(nowMs: number): number {
    const { messageRate } = this.#pace.receiver
    const known = messageRate === null ? 0 : messageRate.perMs / messageRate.count
    const gap = Math.max(known, this.#rate > 0 ? Math.min(1 / this.#rate, LONGEST_TURN_MS) : TURN_MS)
    const next = Math.max(this.#lastTurnMs, nowMs + SOON_MS) + gap
    this.#lastTurnMs = Math.min(next, nowMs + (known > 0 ? FARTHEST_MS : FAR_MS))
    return this.#lastTurnMs
  }

  /**
   * The next to begin, taken out; undefined when enough is under way. As many are made ready ahead as hold sessions, of instant mail and
   * of all other: more would take the process's room from other sites while they wait here.
   */
  next(): Waiting | undefined {
    const instant = this.#mayBeginInstant ? this.#waiting[0]?.shift() : undefined
    if (instant !== undefined || this.#activeOthers >= this.#pace.forOthers * 2) return instant
    return this.#waiting
      .slice(1)
      .find((list) => list.length > 0)
      ?.shift()
  }

  started(tier: Tier): void {
    this.active++
    if (tier !== 'instant') this.#activeOthers++
  }

  /** `isStuck`: it took long and led to nothing. */
  finished(tier: Tier, nowMs: number, isStuck = false): void {
    this.#window = isStuck
      ? Math.max(FIRST_WINDOW, Math.floor(this.#window / 2))
      : Math.min(this.#window + 1, MOST_HELD)
    this.active--
    if (tier !== 'instant') this.#activeOthers--
    this.usedAtMs = nowMs
    this.#windowDone++
    const sinceMs = nowMs - this.#windowAtMs
    if (sinceMs < RATE_WINDOW_MS) return
    // a pause says nothing of how fast it is
    this.#rate = sinceMs > LONGEST_WINDOW_MS ? 0 : this.#windowDone / sinceMs
    this.#windowAtMs = nowMs
    this.#windowDone = 0
  }

  /** How many more to claim; nothing while enough is held, so that claims come in batches. */
  room(): Room {
    if (this.#pace.connections === 0) return NO_ROOM
    const heldOthers = this.held - this.#instantHeld
    const wanted = this.#wanted
    const others = heldOthers > wanted / 2 ? 0 : Math.max(0, wanted - heldOthers)
    const most = Math.min(INSTANT_AT_ONCE, this.#pace.mostHeld)
    const instant = this.#news.hasInstantNews || others > 0 ? Math.max(0, most - this.#instantHeld) : 0
    return { instant, others }
  }

  get #instantHeld(): number {
    return this.#waiting[0]?.length ?? 0
  }

  /** Other than instant mail. */
  get #wanted(): number {
    const { forOthers, mostHeld } = this.#pace
    const ahead = Math.max(Math.min(forOthers, this.#window) * 2, Math.round(this.#rate * HELD_MS))
    return forOthers === 0 ? 0 : Math.min(MOST_HELD, mostHeld, ahead)
  }

  /** Takes everything out that has not begun. */
  empty(): Waiting[] {
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
    const { hasInstantNews, isDry } = this.#news
    const preparing = { all: this.active - this.#sessions, others: this.#activeOthers - this.#sessionsOfOthers }
    return {
      instant: this.#instantHeld + preparing.all - preparing.others + (hasInstantNews && !isDry ? 1 : 0),
      others: this.held - this.#instantHeld + preparing.others + (isDry ? 0 : MORE),
    }
  }

  changed(): void {
    this.onChange()
  }
}

/** What mail waits for that a track gave back. */
export function turnText({ source }: Pick<Track, 'source'>): string {
  return `${source ?? 'our address'} has more for this receiver than it takes now: ${ITS_TURN}`
}

function rankOf(tier: Tier): number {
  return TIER_NAMES.indexOf(tier)
}
