/**
 * The pace of one receiver from one source, as far as this process has a part in it: who may begin, strictly by tier, and how many
 * connections may be open. All lanes of a receiver whose sites go together share one. Pure bookkeeping: no Redis, no clock but what is
 * handed in; the parts of other processes come as a share (`quota-share.ts`), asked for by `throttles.ts`.
 *
 * Suspended, or without any share: nothing begins, and what waits is told so and is given back.
 */
import type { Tier } from '#src/queue/tiers.ts'
import type { Receiver } from '#src/shaping/shaping-file.ts'
import { allowed, type Learned } from '#src/shaping/learned-limits.ts'
import { SURE_MS, type Ask, type Grant } from './quota-share.ts'
import { TierQueue } from './tier-queue.ts'
import { tokensFor } from './token-demand.ts'

/** Wants that are more than any share. */
const PLENTY = 100_000

/** Somebody who sends at this pace. */
export interface User {
  /** Recipients that wait here, of instant mail and of all other. */
  demand(): { readonly instant: number; readonly others: number }
  /** More may begin, or nothing may any more. */
  changed(): void
}

export class Pace {
  readonly key: string
  readonly source: string
  readonly users = new Set<User>()
  receiver: Receiver
  learned: Learned
  /** Of what Redis knows; 0 = it was not asked yet. */
  version = 0
  /** What was learned here and Redis was not told yet. */
  isLearnedHere = false
  /** Taken since they were last counted for the limit. */
  deliveries = 0
  suspendedUntilMs = 0
  processes = 1
  /** Asked of Redis now. */
  isAsking = false
  /** There is something to ask for before the next round. */
  onNeed: () => void = () => undefined
  /** Open connections are more than allowed: idle ones must go. */
  onCrowded: () => void = () => undefined
  #share: { instant: number; others: number } | null = null
  #grantedAtMs = 0
  #isSuspended = false
  #isShut = false
  #sessions = 0
  #others = 0
  #open = 0
  #messages = 0
  #connects = 0
  readonly #entering = new TierQueue()
  #connecting: (() => void)[] = []

  constructor(
    key: string,
    source: string,
    { receiver, learned }: { readonly receiver: Receiver; readonly learned: Learned },
  ) {
    this.key = key
    this.source = source
    this.receiver = receiver
    this.learned = learned
  }

  /** The limit in force, of all processes together. */
  get limit(): number {
    return allowed(this.learned, this.receiver.connections)
  }

  /** Connections that may be open here now. */
  get connections(): number {
    return this.#isClosed || this.#share === null ? 0 : this.#share.instant + this.#share.others
  }

  /** Of them, those that may carry other than instant mail. */
  get forOthers(): number {
    return this.#isClosed || this.#share === null ? 0 : this.#share.others
  }

  /** A share was given, or none is left. */
  get isKnown(): boolean {
    return this.#share !== null
  }

  get isSuspended(): boolean {
    return this.#isSuspended
  }

  /** Recipients that it makes sense to hold. */
  get mostHeld(): number {
    const { messageRate } = this.receiver
    return messageRate === null ? PLENTY : Math.ceil((messageRate.count * 2000) / messageRate.perMs) + 1
  }

  get sessions(): number {
    return this.#sessions
  }

  get open(): number {
    return this.#open
  }

  get isIdle(): boolean {
    return this.#sessions === 0 && this.#open === 0 && this.users.size === 0
  }

  isFull(tier: Tier): boolean {
    return !this.#admits(tier)
  }

  /** Resolves when it is this tier's turn; false when it must not begin now. After true `leave` must follow. */
  enter(tier: Tier): Promise<boolean> {
    if (this.#isClosed) return Promise.resolve(false)
    if (this.#tryAdmit(tier)) return Promise.resolve(true)
    const turn = this.#entering.wait(tier)
    this.onNeed()
    return turn
  }

  leave(tier: Tier): void {
    this.#sessions--
    if (tier !== 'instant') this.#others--
    this.#let()
  }

  /** Takes the right to one new connection; false when there is none now. After true `closed` must follow. */
  tryConnect(): boolean {
    if (this.#open >= this.connections) return false
    if (this.receiver.connectionRate !== null && this.#connects < 1) {
      this.onNeed()
      return false
    }
    this.#open++
    if (this.receiver.connectionRate !== null) this.#connects--
    return true
  }

  closed(): void {
    this.#open--
    this.wakeConnecting()
  }

  /** The connection that was allowed was not tried. */
  keepToken(): void {
    if (this.receiver.connectionRate !== null) this.#connects++
  }

  /** Resolves after the next change that may let a connection be opened or an open one be used. */
  changed(): Promise<void> {
    return new Promise((resolve) => {
      this.#connecting.push(resolve)
    })
  }

  wakeConnecting(): void {
    const waiting = this.#connecting
    this.#connecting = []
    for (const resolve of waiting) resolve()
  }

  setSuspended(isSuspended: boolean): void {
    if (isSuspended === this.#isSuspended) return
    this.#isSuspended = isSuspended
    this.#changed()
  }

  /** The process stops: nothing begins any more, and those who wait are told at once. */
  shut(): void {
    this.#isShut = true
    this.#changed()
  }

  /** A message that entered here leaves by another source after all, or the other way about: its token of the rate is that one's. */
  spend(messages: 1 | -1): void {
    if (this.receiver.messageRate !== null) this.#messages -= messages
  }

  /** Another receiver's row is in force after the file changed. */
  setReceiver(receiver: Receiver): void {
    this.receiver = receiver
    this.onNeed()
  }

  /** What to ask of Redis now; `spare` connections and messages that may be needed before the next ask. */
  ask(process: string): Ask {
    const demand = this.#demand()
    const { limit } = this
    const slowed = limit / this.receiver.connections
    const { messageRate, connectionRate } = this.receiver
    return {
      process,
      limit: this.receiver.connections,
      learned: this.learned,
      replaces: this.isLearnedHere ? this.version : null,
      version: this.version,
      used: { all: Math.max(this.#open, this.#sessions), others: this.#others },
      wanted: { instant: Math.min(limit, demand.instant), others: Math.min(limit, demand.others) },
      messages: tokensFor(messageRate, { demand: demand.instant + demand.others, has: this.#messages, slowed }),
      connections: tokensFor(connectionRate, {
        demand: demand.instant + demand.others > 0 ? limit : 0,
        has: this.#connects,
        slowed: 1,
      }),
    }
  }

  /** All that the limit allows is ours: there is nothing to ask for. */
  get isWhole(): boolean {
    return this.connections >= this.limit && this.receiver.messageRate === null && this.receiver.connectionRate === null
  }

  /** It has a part in the pace, or wants one. */
  get isInNeed(): boolean {
    const { instant, others } = this.#demand()
    return (
      instant + others > 0 ||
      this.#open + this.#sessions > 0 ||
      (this.#share !== null && this.#share.instant + this.#share.others > 0)
    )
  }

  grant({ instant, others, processes, learned, version, messages, connections }: Grant, nowMs: number): void {
    this.#share = { instant, others }
    this.#grantedAtMs = nowMs
    this.processes = processes
    // what was learned here while the ask was under way is told with the next
    if (!this.isLearnedHere) this.learned = learned
    this.version = version
    this.#messages += messages
    this.#connects += connections
    this.#changed()
  }

  /** Not told again in time: others may count what we had as free. A part of the limit is surely ours, and at least one connection. */
  goAlone(nowMs: number): void {
    if (nowMs - this.#grantedAtMs < SURE_MS || this.#share === null) return
    const own = Math.max(1, Math.floor(this.limit / this.processes))
    const others = Math.min(this.#share.others, own)
    const instant = Math.min(this.#share.instant, own - others)
    if (others === this.#share.others && instant === this.#share.instant) return
    this.#share = { instant, others }
    this.#changed()
  }

  get #isClosed(): boolean {
    return this.#isSuspended || this.#isShut
  }

  #changed(): void {
    const isClosed = this.#isShut || (this.connections === 0 && this.#share !== null)
    if (isClosed) this.#entering.refuseAll()
    this.#let()
    this.wakeConnecting()
    if (this.#open > this.connections) this.onCrowded()
    for (const user of this.users) user.changed()
  }

  #demand(): { instant: number; others: number } {
    let [instant, others] = [this.#sessions - this.#others, this.#others]
    for (const user of this.users) {
      const more = user.demand()
      instant += more.instant
      others += more.others
    }
    // an idle connection is worth keeping while nobody else wants it
    return this.#isSuspended ? { instant: 0, others: 0 } : { instant, others: Math.max(others, this.#open - instant) }
  }

  #admits(tier: Tier): boolean {
    if (this.receiver.messageRate !== null && this.#messages < 1) return false
    if (this.#sessions >= this.connections) return false
    return tier === 'instant' || this.#others < this.forOthers
  }

  #tryAdmit(tier: Tier): boolean {
    if (!this.#admits(tier)) return false
    this.#sessions++
    if (tier !== 'instant') this.#others++
    if (this.receiver.messageRate !== null && --this.#messages < 1) this.onNeed()
    return true
  }

  #let(): void {
    this.#entering.admit((tier) => this.#tryAdmit(tier))
  }
}
