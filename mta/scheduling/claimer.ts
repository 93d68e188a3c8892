/**
 * Claims recipients for a site: removes ready recipients from Redis, claims them in PostgreSQL (many sites in one
 * statement; instant mail in one of its own), selects a source for each and adds it to that source's queue.
 *
 * Redis away: nothing more is claimed. PostgreSQL away: recipients removed from Redis are requeued there, or the
 * worker finds them again. A recipient that PostgreSQL does not return is finished, or another process has it: it is
 * dropped.
 */
import type { ClaimedDelivery } from '#mta/delivery/session-grant.ts'
import type { Throttle } from '#mta/shaping/throttle.ts'
import { type Batcher, createBatcher } from '#src/concurrency/batcher.ts'
import type { Context } from '#src/context.ts'
import type { ClaimedRecipient } from '#src/messages/claim.ts'
import type { Attempt } from '#src/messages/outcome.ts'
import { parseMember, type ScheduleMember } from '#src/queue/keys.ts'
import type { Tier } from '#src/queue/tiers.ts'
import {
  workspaceSuspensionReason,
  type ReceiverSuspension,
  type ReceiverSuspensionWatch,
} from '#src/shaping/receiver-suspensions.ts'
import type { LeasedRecipients } from './leased-recipients.ts'
import type { ClaimLimit, ReadyEntry, ReadyQueue } from './ready-queue.ts'
import { NO_PAUSE, type SiteQueue } from './site-queue.ts'
import { surplusReason, type SourceQueue } from './source-queue.ts'
import type { SiteDestination, SourceSelection, SourceSelectionResult } from './source-selection.ts'
import { countText } from '#src/platform/plural.ts'

const CLAIM_BATCH = 250
/** How long mail waits at most when the receiver suspended its workspace, before RETRY_SCALE. */
const SUSPENDED_RETRY_MS = 600_000

/** How long it takes until all processes know which sources the others have. */
const REGROUPED_MS = 2000

/** Until when a released recipient waits, and why. */
export interface Postponement {
  readonly until: Date
  readonly reason: string | null
}

export interface ClaimerDeps {
  readonly leased: LeasedRecipients
  readonly readyQueue: Pick<ReadyQueue, 'claim' | 'requeue'>
  /** Claims recipients under this process's lease in PostgreSQL; resolves with those that it got. */
  readonly claimRecipients: (members: readonly ScheduleMember[]) => Promise<readonly ClaimedRecipient[]>
  readonly sources: SourceSelection
  /** Resolves when this process has its first share of a throttle, or cannot get one now. */
  readonly awaitShare: (throttle: Throttle) => Promise<void>
  /** The operator suspended the domain or the site. */
  readonly isSuspended: (domain: string, site: string) => boolean
  readonly receiverSuspensions: Pick<ReceiverSuspensionWatch, 'findForWorkspace'>
  /** Releases claimed recipients that have no source yet. */
  readonly releaseClaimed: (claimed: readonly ClaimedRecipient[], postponement?: Postponement) => Promise<void>
  /** Releases deliveries that wait in a queue. */
  readonly release: (deliveries: readonly ClaimedDelivery[], postponement?: Postponement) => Promise<void>
  /** Writes the result of a delivery that ends without a session. */
  readonly finish: (delivery: ClaimedDelivery, attempt: Attempt) => void
}

type ClaimerContext = Pick<Context, 'clock' | 'config' | 'log'>

export class Claimer {
  readonly #ctx: ClaimerContext
  readonly #deps: ClaimerDeps
  readonly #load: (member: ScheduleMember, tier: Tier) => Promise<ClaimedRecipient | undefined>

  constructor(ctx: ClaimerContext, deps: ClaimerDeps) {
    this.#ctx = ctx
    this.#deps = deps
    const claims = (startsBeforeTurnEnds: boolean): Batcher<ScheduleMember, ClaimedRecipient | undefined> =>
      createBatcher((members) => deps.leased.claim(members, deps.claimRecipients), {
        max: CLAIM_BATCH,
        concurrency: 1,
        startsBeforeTurnEnds,
      })
    // instant mail does not wait for claims of other mail, which load up to 250 messages each
    const [instant, others] = [claims(true), claims(false)]
    this.#load = (member, tier) => (tier === 'instant' ? instant : others).add(member)
  }

  /** Claims up to `limit` ready recipients of the site. Rejects when a store is away; nothing is lost. */
  async claim(site: SiteQueue, limit: ClaimLimit): Promise<void> {
    await this.claimEntries(site, await this.#claimReady(site, limit))
  }

  /** Claims recipients that are in no ready queue. Rejects when PostgreSQL is away, after making them ready. */
  async claimEntries(site: SiteQueue, entries: readonly ReadyEntry[]): Promise<void> {
    const domain = parseMember(entries[0]?.member ?? '')?.domain
    if (domain === undefined) return
    const destination = await this.#deps.sources.destinationOf(domain)
    site.sourceCount = () => this.#deps.sources.count(destination)
    if (!(await this.#mayBegin(site, destination))) return this.#requeue(site, entries)
    const { claimed, failed } = await this.#commit(entries)
    const remaining = await this.#releaseSuspended(site, claimed)
    for (const one of remaining) await this.#enqueue(site, destination, one)
    const surplus = await this.#releaseSurplus(site)
    if (claimed.length > surplus) site.pause = NO_PAUSE
    else if (claimed.length > 0) site.lengthenPause(performance.now())
    if (failed.length === 0) return
    await this.#requeue(site, failed)
    throw new Error(`${countText(failed.length, 'recipient')} could not be claimed in PostgreSQL`)
  }

  async #claimReady(site: SiteQueue, limit: ClaimLimit): Promise<ReadyEntry[]> {
    const { wakes } = site
    site.hasReadyInstant = false
    const entries = await this.#deps.readyQueue.claim(site.site, limit)
    const instants = entries.filter(({ tier }) => tier === 'instant').length
    if (instants === limit.instant && instants > 0) site.hasReadyInstant = true
    const isEverything = instants < limit.instant && entries.length - instants < limit.others
    if (isEverything && site.wakes === wakes) site.isEmpty = true
    return entries
  }

  /** False when no source may send to the site now. Its source queues are notified when that ends. */
  async #mayBegin(site: SiteQueue, destination: SiteDestination): Promise<boolean> {
    const { sources, awaitShare } = this.#deps
    if (destination.system !== null) {
      const { throttle } = destination.system
      if (throttle.connections > 0) return true
      // the queue comes first: its demand decides the share
      site.queueFor(null, throttle)
      await awaitShare(throttle)
      return throttle.connections > 0
    }
    const suspended = sources.allSuspended(destination)
    for (const source of suspended ?? []) site.queueFor(source, sources.throttleOf(destination, source))
    return suspended === null
  }

  async #requeue(site: SiteQueue, entries: readonly ReadyEntry[]): Promise<void> {
    site.isEmpty = false
    site.hasReadyInstant ||= entries.some(({ tier }) => tier === 'instant')
    await this.#deps.readyQueue.requeue(site.site, entries)
  }

  /** `failed`: the entries whose claim in PostgreSQL failed. */
  async #commit(entries: readonly ReadyEntry[]): Promise<{ claimed: ClaimedRecipient[]; failed: ReadyEntry[] }> {
    const loaded = await Promise.allSettled(
      entries.map(async (entry) => {
        const member = parseMember(entry.member)
        return member === null ? undefined : this.#load(member, entry.tier)
      }),
    )
    const claimed = loaded.flatMap((one) => (one.status === 'fulfilled' && one.value !== undefined ? [one.value] : []))
    if (this.#ctx.log.isLevelEnabled('debug')) this.#logClaims(claimed)
    return { claimed, failed: entries.filter((_, i) => loaded[i]?.status === 'rejected') }
  }

  #logClaims(claimed: readonly ClaimedRecipient[]): void {
    for (const { requestId, messageId: id, n, attempt, lease } of claimed)
      this.#ctx.log.debug({ requestId, id, n, attempt, lease }, 'claimed')
  }

  /** Releases recipients whose domain was suspended after they became ready; the dispatcher then sets them aside. */
  async #releaseSuspended(site: SiteQueue, claimed: readonly ClaimedRecipient[]): Promise<ClaimedRecipient[]> {
    const { isSuspended, releaseClaimed } = this.#deps
    const suspended = new Set(claimed.filter(({ domain }) => site.isStopped || isSuspended(domain, site.name.site)))
    if (suspended.size > 0) await releaseClaimed([...suspended])
    return claimed.filter((one) => !suspended.has(one))
  }

  /**
   * Adds a recipient to the queue of its source. If PostgreSQL goes away meanwhile, it is released as soon as that
   * can be written.
   */
  async #enqueue(site: SiteQueue, destination: SiteDestination, claimed: ClaimedRecipient): Promise<void> {
    try {
      await this.#selectSource(site, destination, claimed)
    } catch (error) {
      const { messageId: id, requestId } = claimed
      this.#ctx.log.debug({ err: error, requestId, id }, 'failed to select a source; a store is away')
      await this.#deps.releaseClaimed([claimed])
    }
  }

  async #selectSource(site: SiteQueue, destination: SiteDestination, claimed: ClaimedRecipient): Promise<void> {
    const { sources, receiverSuspensions, releaseClaimed, finish, awaitShare } = this.#deps
    const suspension = receiverSuspensions.findForWorkspace(destination, claimed.workspaceId)
    if (suspension !== null) return releaseClaimed([claimed], this.#postponementFor(suspension))
    const { system } = destination
    const selection: SourceSelectionResult =
      system === null ? await sources.choose(destination, claimed) : { selected: system, attempt: null }
    const { selected, attempt, isElsewhere } = selection
    if (isElsewhere) return releaseClaimed([claimed], this.#untilRegrouped())
    const delivery: ClaimedDelivery = {
      claimed,
      site: site.name.site,
      selected,
      heldSinceMs: performance.now(),
      phase: 'preparing',
    }
    if (attempt !== null) return finish(delivery, attempt)
    const queue = site.queueFor(selected.source, selected.throttle)
    if (!queue.throttle.hasShare) await awaitShare(queue.throttle)
    queue.push(delivery)
  }

  /** Its group is found when it is due again; until then the processes may have different views of the sources. */
  #untilRegrouped(): Postponement {
    return { until: new Date(this.#ctx.clock.now() + REGROUPED_MS), reason: 'another node has the source for it' }
  }

  /** Does not wait for the end of a long suspension: the operator may resume it before. */
  #postponementFor(by: ReceiverSuspension): Postponement {
    const { clock, config } = this.#ctx
    const soon = clock.now() + SUSPENDED_RETRY_MS * config.retryScale
    return { until: new Date(Math.min(by.until.getTime(), soon)), reason: workspaceSuspensionReason(by) }
  }

  /**
   * Releases the surplus of the source queues; each recipient returns to the schedule until about its turn. Resolves
   * with the count.
   */
  async #releaseSurplus(site: SiteQueue): Promise<number> {
    const now = this.#ctx.clock.now()
    const releases = [...site.sourceQueues.values()].flatMap((queue) =>
      [...groupByTurn(queue, now)].map(async ([turnMs, deliveries]) => {
        await this.#deps.release(deliveries, { until: new Date(turnMs), reason: surplusReason(queue) })
        return deliveries.length
      }),
    )
    return (await Promise.all(releases)).reduce((sum, count) => sum + count, 0)
  }
}

/** Rounds turns up to whole seconds, so that few batches release them. */
function groupByTurn(queue: SourceQueue, nowMs: number): Map<number, ClaimedDelivery[]> {
  const turns = new Map<number, ClaimedDelivery[]>()
  for (const { delivery, turnMs } of queue.removeSurplus(nowMs)) {
    const second = Math.ceil(turnMs / 1000) * 1000
    turns.set(second, [...(turns.get(second) ?? []), delivery])
  }
  return turns
}
