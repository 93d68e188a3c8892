/**
 * The throttle of one receiver for one source, as far as this process has a share in it: which deliveries may begin,
 * strictly by tier, and how many connections may be open. All site queues of a receiver whose sites are counted
 * together share one throttle. Pure bookkeeping: no Redis, and no clock except the times passed in. `throttles.ts`
 * requests this process's share (`quota-share.ts`).
 *
 * While the throttle is suspended or has no share, nothing begins: waiting deliveries are refused, and the scheduler
 * releases them.
 */
import type { Tier } from '#src/queue/tiers.ts'
import type { ShapingReceiver } from '#src/shaping/shaping-file.ts'
import { allowedConnections, type LearnedLimit } from '#src/shaping/learned-limits.ts'
import { ConnectionAllowance } from './connection-allowance.ts'
import { SHARE_VALID_MS, type ShareRequest, type ShareGrant } from './quota-share.ts'
import { TierQueue } from './tier-queue.ts'
import { tokenRequest } from './token-demand.ts'

/** More than any share. */
const UNLIMITED = 100_000

/** A source queue that sends under this throttle. */
export interface ThrottleUser {
  /** Recipients that wait in the queue: instant mail, and all other mail. */
  demand(): { readonly instant: number; readonly others: number }
  /** More deliveries may begin, or none may begin any more. */
  onThrottleChange(): void
}

export class Throttle {
  readonly key: string
  readonly source: string
  readonly users = new Set<ThrottleUser>()
  receiver: ShapingReceiver
  learned: LearnedLimit
  /** The version of the learned limit in Redis; 0: no share was requested yet. */
  version = 0
  /** `learned` changed in this process and Redis does not have it yet. */
  isLearnedHere = false
  /** Messages that the receiver accepted since the limit last recovered. */
  acceptedMessages = 0
  suspendedUntilMs = 0
  processes = 1
  /** The connections of this process. */
  readonly allowance = new ConnectionAllowance({
    allowed: () => this.connections,
    hasRate: () => this.receiver.connectionRate !== null,
    onTokenNeeded: () => this.onShareNeeded(),
  })
  /** A share request is under way. */
  isRequesting = false
  /** Called when a share is needed before the next renewal. */
  onShareNeeded: () => void = () => undefined
  #share: { instant: number; others: number } | null = null
  #grantedAtMs = 0
  #isSuspended = false
  #isStopped = false
  #sessions = 0
  #sessionsOfOthers = 0
  #messageTokens = 0
  readonly #waitingToEnter = new TierQueue()

  constructor(
    key: string,
    source: string,
    { receiver, learned }: { readonly receiver: ShapingReceiver; readonly learned: LearnedLimit },
  ) {
    this.key = key
    this.source = source
    this.receiver = receiver
    this.learned = learned
  }

  /** The connection limit in force for all processes together. */
  get limit(): number {
    return allowedConnections(this.learned, this.receiver.connections)
  }

  /** Connections that this process may have open now. */
  get connections(): number {
    return this.#isClosed || this.#share === null ? 0 : this.#share.instant + this.#share.others
  }

  /** The part of `connections` that may carry mail other than instant mail. */
  get connectionsForOthers(): number {
    return this.#isClosed || this.#share === null ? 0 : this.#share.others
  }

  /** A grant arrived, even if its share is empty. */
  get hasShare(): boolean {
    return this.#share !== null
  }

  get isSuspended(): boolean {
    return this.#isSuspended
  }

  /** The most recipients that a source queue should hold. */
  get maxHeld(): number {
    const { messageRate } = this.receiver
    return messageRate === null ? UNLIMITED : Math.ceil((messageRate.count * 2000) / messageRate.perMs) + 1
  }

  get sessions(): number {
    return this.#sessions
  }

  get isIdle(): boolean {
    return this.#sessions === 0 && this.allowance.open === 0 && this.users.size === 0
  }

  isFull(tier: Tier): boolean {
    return !this.#admits(tier)
  }

  /** Resolves when it is this tier's turn; false when it must not begin now. After true `leave` must follow. */
  enter(tier: Tier): Promise<boolean> {
    if (this.#isClosed) return Promise.resolve(false)
    if (this.#tryAdmit(tier)) return Promise.resolve(true)
    const turn = this.#waitingToEnter.wait(tier)
    this.onShareNeeded()
    return turn
  }

  leave(tier: Tier): void {
    this.#sessions--
    if (tier !== 'instant') this.#sessionsOfOthers--
    this.#admitWaiting()
  }

  setSuspended(isSuspended: boolean): void {
    if (isSuspended === this.#isSuspended) return
    this.#isSuspended = isSuspended
    this.#notifyChange()
  }

  /** The process stops: nothing begins any more, and waiting deliveries are refused immediately. */
  stop(): void {
    this.#isStopped = true
    this.#notifyChange()
  }

  /**
   * Failover: a message that entered here leaves from another source (-1), or the other way round (1); moves its rate
   * token.
   */
  chargeMessages(messages: 1 | -1): void {
    if (this.receiver.messageRate !== null) this.#messageTokens -= messages
  }

  /** Applies the receiver's new rules after the shaping file changed. */
  setReceiver(receiver: ShapingReceiver): void {
    this.receiver = receiver
    this.onShareNeeded()
  }

  /** The share to request from Redis now. */
  shareRequest(process: string): ShareRequest {
    const demand = this.#demand()
    const { limit } = this
    const remainingRate = limit / this.receiver.connections
    const { messageRate, connectionRate } = this.receiver
    return {
      process,
      limit: this.receiver.connections,
      learned: this.learned,
      replacesVersion: this.isLearnedHere ? this.version : null,
      version: this.version,
      used: { all: Math.max(this.allowance.open, this.#sessions), others: this.#sessionsOfOthers },
      demand: { instant: Math.min(limit, demand.instant), others: Math.min(limit, demand.others) },
      messages: tokenRequest(messageRate, {
        demand: demand.instant + demand.others,
        available: this.#messageTokens,
        remainingRate,
      }),
      connections: tokenRequest(connectionRate, {
        demand: demand.instant + demand.others > 0 ? limit : 0,
        available: this.allowance.tokens,
        remainingRate: 1,
      }),
    }
  }

  /** This process has all that the limit allows: there is nothing to request. */
  get hasWholeLimit(): boolean {
    return this.connections >= this.limit && this.receiver.messageRate === null && this.receiver.connectionRate === null
  }

  /** This process has a share, or needs one. */
  get needsShare(): boolean {
    const { instant, others } = this.#demand()
    return (
      instant + others > 0 ||
      this.allowance.open + this.#sessions > 0 ||
      (this.#share !== null && this.#share.instant + this.#share.others > 0)
    )
  }

  applyGrant({ instant, others, processes, learned, version, messages, connections }: ShareGrant, nowMs: number): void {
    this.#share = { instant, others }
    this.#grantedAtMs = nowMs
    this.processes = processes
    // a limit learned while the request was under way goes with the next request
    if (!this.isLearnedHere) this.learned = learned
    this.version = version
    this.#messageTokens += messages
    this.allowance.addTokens(connections)
    this.#notifyChange()
  }

  /** Reduces a share that was not renewed in time to the even part of the limit: others may count the rest as free. */
  fallBackToOwnPart(nowMs: number): void {
    if (nowMs - this.#grantedAtMs < SHARE_VALID_MS || this.#share === null) return
    const own = Math.max(1, Math.floor(this.limit / this.processes))
    const others = Math.min(this.#share.others, own)
    const instant = Math.min(this.#share.instant, own - others)
    if (others === this.#share.others && instant === this.#share.instant) return
    this.#share = { instant, others }
    this.#notifyChange()
  }

  get #isClosed(): boolean {
    return this.#isSuspended || this.#isStopped
  }

  #notifyChange(): void {
    const isClosed = this.#isStopped || (this.connections === 0 && this.#share !== null)
    if (isClosed) this.#waitingToEnter.refuseAll()
    this.#admitWaiting()
    this.allowance.changed()
    for (const user of this.users) user.onThrottleChange()
  }

  #demand(): { instant: number; others: number } {
    let [instant, others] = [this.#sessions - this.#sessionsOfOthers, this.#sessionsOfOthers]
    for (const user of this.users) {
      const more = user.demand()
      instant += more.instant
      others += more.others
    }
    // an idle connection stays open while no other process needs it
    return this.#isSuspended
      ? { instant: 0, others: 0 }
      : { instant, others: Math.max(others, this.allowance.open - instant) }
  }

  #admits(tier: Tier): boolean {
    if (this.receiver.messageRate !== null && this.#messageTokens < 1) return false
    if (this.#sessions >= this.connections) return false
    return tier === 'instant' || this.#sessionsOfOthers < this.connectionsForOthers
  }

  #tryAdmit(tier: Tier): boolean {
    if (!this.#admits(tier)) return false
    this.#sessions++
    if (tier !== 'instant') this.#sessionsOfOthers++
    if (this.receiver.messageRate !== null && --this.#messageTokens < 1) this.onShareNeeded()
    return true
  }

  #admitWaiting(): void {
    this.#waitingToEnter.admit((tier) => this.#tryAdmit(tier))
  }
}
