/**
 * What this process does for one site. It claims for the site as a whole; what it claimed waits in a source queue for each source. Pure
 * bookkeeping, as source queues are.
 */
import type { ClaimedDelivery } from '#mta/delivery/session-grant.ts'
import type { Pace } from '#mta/shaping/throttle.ts'
import { nameOf, type ToldSite } from '#src/queue/site-state.ts'
import type { Tier } from '#src/queue/tiers.ts'
import { MAX_HELD, SourceQueue, type ClaimLimit, type ReadyHints } from './source-queue.ts'

/** The first claim of a site: enough to learn where its mail goes. */
const FIRST_CLAIM: ClaimLimit = { instant: 10, others: 10 }
/** An occasional claim while every source queue has enough: it may bring mail of a source that has no queue yet. */
const PROBE_CLAIM: ClaimLimit = { instant: 50, others: 50 }
const PROBE_MS = 1000
const MAX_INSTANT = 100
/** Recipients that wait here, named in the published status. */
const MAX_NAMED = 50
/** After a claim of which nothing could be held; doubled each time. */
const FIRST_PAUSE_MS = 50
const MAX_PAUSE_MS = 2000

export class SiteQueue implements ReadyHints {
  readonly site: string
  /** By source name. */
  readonly sourceQueues = new Map<string | null, SourceQueue>()
  /** Called when more may begin in a source queue, or nothing may begin any more. */
  onChange: (queue: SourceQueue) => void = () => undefined
  /** Counts wake-ups: a claim during which one came is not the last word on what is ready. */
  wakes = 0
  hasReadyInstant = true
  isClaiming = false
  /** The last claim got all that was ready. */
  isEmpty = false
  usedAtMs = 0
  pausedUntilMs = 0
  /** A timer is set for the end of the pause. */
  isResumeScheduled = false
  /** How many sources its mail may leave by. A source without a queue may have mail here too. */
  sourceCount: () => number = () => 1
  #pauseMs = 0
  #probedAtMs = 0

  constructor(site: string) {
    this.site = site
  }

  /** Makes the queue of a source where there is none, so that its throttle counts as used. */
  sourceQueue(source: string | null, throttle: Pace): SourceQueue {
    const known = this.sourceQueues.get(source)
    if (known !== undefined) {
      known.throttle = throttle
      return known
    }
    const queue = new SourceQueue(this, source, throttle)
    queue.onChange = () => this.onChange(queue)
    this.sourceQueues.set(source, queue)
    return queue
  }

  /** Deliveries under way. */
  get active(): number {
    return this.#sum((queue) => queue.active)
  }

  /** Deliveries that have not begun. */
  get held(): number {
    return this.#sum((queue) => queue.held)
  }

  get isIdle(): boolean {
    return this.active === 0 && this.held === 0 && !this.isClaiming
  }

  /** How many more recipients to claim; `nowMs` is of `performance.now()`. */
  claimLimit(nowMs: number): ClaimLimit {
    if (this.sourceQueues.size === 0) return FIRST_CLAIM
    const limits = [...this.sourceQueues.values()].map((queue) => queue.claimLimit())
    const instant = limits.reduce((sum, limit) => sum + limit.instant, 0)
    const others = limits.reduce((sum, limit) => sum + limit.others, 0)
    if (others === 0 && this.#hasUnknownSources() && nowMs - this.#probedAtMs >= PROBE_MS) {
      this.#probedAtMs = nowMs
      return PROBE_CLAIM
    }
    const isPaused = nowMs < this.pausedUntilMs
    return {
      instant: isPaused && !this.hasReadyInstant ? 0 : Math.min(instant, MAX_INSTANT),
      others: isPaused ? 0 : Math.min(others, MAX_HELD),
    }
  }

  /** Some sources have a queue here and others have none yet. */
  #hasUnknownSources(): boolean {
    const known = [...this.sourceQueues.values()].filter(({ source }) => source !== null).length
    return known > 0 && known < this.sourceCount()
  }

  /** Records how many recipients of a claim were kept. After a claim of only surplus the next one waits. */
  claimed(kept: number, nowMs: number): void {
    this.#pauseMs = kept > 0 ? 0 : Math.min(Math.max(this.#pauseMs * 2, FIRST_PAUSE_MS), MAX_PAUSE_MS)
    this.pausedUntilMs = nowMs + this.#pauseMs
  }

  /** Removes all that has not begun. */
  clear(): ClaimedDelivery[] {
    return [...this.sourceQueues.values()].flatMap((queue) => queue.clear())
  }

  /** There is something to claim and no share of a throttle for it. */
  requestShares(): void {
    for (const queue of this.sourceQueues.values()) queue.throttle.onNeed()
  }

  /** Drops source queues that nothing used since then, except the last one and those that the receiver suspended. */
  dropUnused(sinceMs: number): void {
    for (const [source, queue] of this.sourceQueues) {
      if (this.sourceQueues.size === 1 || !queue.isIdle || queue.throttle.isSuspended || queue.usedAtMs >= sinceMs)
        continue
      queue.close()
      this.sourceQueues.delete(source)
    }
  }

  /** The status of its sources that have work or are suspended. `hasSession`: the process has a session for one more delivery. */
  view(hasSession: (queue: SourceQueue) => boolean): ToldSite[] {
    return [...this.sourceQueues.values()]
      .filter((queue) => !queue.isIdle || queue.throttle.isSuspended)
      .map((queue) => ({ site: this.site, state: stateOf(queue, hasSession) }))
  }

  /** Stops counting as a user of its throttles. */
  close(): void {
    for (const queue of this.sourceQueues.values()) queue.close()
  }

  #sum(of: (queue: SourceQueue) => number): number {
    let sum = 0
    for (const queue of this.sourceQueues.values()) sum += of(queue)
    return sum
  }
}

function stateOf(queue: SourceQueue, hasSession: (queue: SourceQueue) => boolean): ToldSite['state'] {
  const { sessions, waiting, throttle, source } = queue
  const isFull = (tier: Tier): boolean => !throttle.isSuspended && (throttle.isFull(tier) || !hasSession(queue))
  return {
    sessions,
    connections: throttle.limit,
    isFull: { instant: isFull('instant'), others: isFull('bulk') },
    rule: throttle.receiver.title,
    pace: throttle.key,
    paceSource: throttle.source,
    source,
    waiting: waiting.length,
    waitingNames: waiting.slice(0, MAX_NAMED).map(({ claimed }) => nameOf(claimed)),
  }
}
