/**
 * The work of this process for one site. It claims recipients for the site as a whole; each claimed recipient waits
 * in the queue of its source. Pure bookkeeping, as in source queues.
 */
import type { ClaimedDelivery } from '#mta/delivery/session-grant.ts'
import type { Throttle } from '#mta/shaping/throttle.ts'
import type { FailureBackoff } from '#src/concurrency/failure-backoff.ts'
import { parseGroupSite } from '#src/queue/keys.ts'
import { recipientName, type ReportedSite } from '#src/queue/site-state.ts'
import type { Tier } from '#src/queue/tiers.ts'
import type { ClaimLimit } from './ready-queue.ts'
import { MAX_HELD, SourceQueue, type ReadyHints } from './source-queue.ts'

/** The first claim of a site: enough to learn which sources its mail needs. */
const FIRST_CLAIM: ClaimLimit = { instant: 10, others: 10 }
/** An occasional claim while every source queue holds enough: it may bring mail of a source that has no queue yet. */
const PROBE_CLAIM: ClaimLimit = { instant: 50, others: 50 }
const PROBE_MS = 1000
const MAX_INSTANT = 100
/** How many waiting recipients the published status names. */
const MAX_NAMED = 50
/** The pause after a claim that brought surplus only; doubled each time. */
const FIRST_PAUSE_MS = 50
const MAX_PAUSE_MS = 2000
/** `untilMs` is of `performance.now()`. */
export const NO_PAUSE = { ms: 0, untilMs: 0 }

export class SiteQueue implements ReadyHints {
  readonly site: string
  /** The site itself, and the group of its mail if only some processes can send it. */
  readonly name: ReturnType<typeof parseGroupSite>
  /** Of its claims: another site's success does not end the pause of this one. */
  readonly claiming: FailureBackoff
  /** By source name. */
  readonly sourceQueues = new Map<string | null, SourceQueue>()
  /** Called when more may begin in a source queue, or nothing may begin any more. */
  onChange: (queue: SourceQueue) => void = () => undefined
  /** Counts wake-ups: if one came during a claim, more may be ready than the claim found. */
  wakes = 0
  hasReadyInstant = true
  /** A claim of ready recipients is under way. */
  isClaiming = false
  /** Recipients that are claimed as soon as they are due, beside other claims. */
  dueClaims = 0
  /** The last claim found all that was ready. */
  isEmpty = false
  isStopped = false
  usedAtMs = 0
  /** The pause between claims, after claims that brought only surplus. */
  pause = NO_PAUSE
  /** A timer is set for the end of the pause. */
  isResumeScheduled = false
  /** How many sources the site's mail may leave from. A source without a queue may have mail here too. */
  sourceCount: () => number = () => 1
  #probedAtMs = 0

  constructor(site: string, claiming: FailureBackoff) {
    this.site = site
    this.name = parseGroupSite(site)
    this.claiming = claiming
  }

  /** The queue of a source. Creates it if there is none, so that its throttle counts as used. */
  queueFor(source: string | null, throttle: Throttle): SourceQueue {
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
    return this.active === 0 && this.held === 0 && !this.hasClaims
  }

  get hasClaims(): boolean {
    return this.isClaiming || this.dueClaims > 0
  }

  /** How much instant mail may be claimed as soon as it is due. None while other instant mail may be ahead of it. */
  get dueRoom(): number {
    if (this.isStopped || (this.hasReadyInstant && !this.isEmpty)) return 0
    return this.#sum((queue) => queue.instantRoom) - this.dueClaims
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
    const isPaused = nowMs < this.pause.untilMs
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

  /** A claim brought only surplus: the next one waits, longer each time. */
  lengthenPause(nowMs: number): void {
    const ms = Math.min(Math.max(this.pause.ms * 2, FIRST_PAUSE_MS), MAX_PAUSE_MS)
    this.pause = { ms, untilMs: nowMs + ms }
  }

  /** Lets nothing more begin, and removes the deliveries that have not begun. */
  stop(): ClaimedDelivery[] {
    this.isStopped = true
    const queues = [...this.sourceQueues.values()]
    for (const queue of queues) queue.throttle.stop()
    return queues.flatMap((queue) => queue.clear())
  }

  /** Recipients are ready but no throttle has a share for them: requests shares. */
  requestShares(): void {
    for (const queue of this.sourceQueues.values()) queue.throttle.onShareNeeded()
  }

  /**
   * Drops source queues that were not used since `sinceMs`, except the last one and those that the receiver suspended.
   * Drops none during a claim: it waits for shares between finding a queue and adding mail to it, and nothing would
   * ever start the mail of a dropped queue.
   */
  dropUnused(sinceMs: number): void {
    if (this.hasClaims) return
    for (const [source, queue] of this.sourceQueues) {
      if (this.sourceQueues.size === 1 || !queue.isIdle || queue.throttle.isSuspended || queue.usedAtMs >= sinceMs)
        continue
      queue.close()
      this.sourceQueues.delete(source)
    }
  }

  /**
   * The status of the sources that have work or are suspended. `hasSession`: the process has a session for one more
   * delivery.
   */
  status(hasSession: (queue: SourceQueue) => boolean): ReportedSite[] {
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

function stateOf(queue: SourceQueue, hasSession: (queue: SourceQueue) => boolean): ReportedSite['state'] {
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
    waitingNames: waiting.slice(0, MAX_NAMED).map(({ claimed }) => recipientName(claimed)),
  }
}
