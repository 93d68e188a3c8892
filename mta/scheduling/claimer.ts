/**
 * Claims recipients for a site: takes ready ones from Redis, claims them in PostgreSQL (many sites in one statement), selects a source for
 * each and puts it in the queue of that source.
 *
 * Redis away: nothing more is claimed. PostgreSQL away: what was taken from Redis is put back there, or the worker finds it again. A
 * recipient that PostgreSQL does not return was settled meanwhile, or another process has it: it is dropped.
 */
import type { ClaimedDelivery } from '#mta/delivery/session-grant.ts'
import type { Pace } from '#mta/shaping/throttle.ts'
import { createBatcher } from '#src/concurrency/batcher.ts'
import type { Context } from '#src/context.ts'
import type { Claimed } from '#src/messages/claim.ts'
import type { Attempt } from '#src/messages/outcome.ts'
import { parseMember, type Member } from '#src/queue/member.ts'
import { workspaceStopText, type ReceiverSuspension } from '#src/shaping/receiver-suspensions.ts'
import type { LeasedRecipients } from './leased-recipients.ts'
import type { ReadyEntry, ReadyQueue } from './ready-queue.ts'
import type { SiteQueue } from './site-queue.ts'
import { surplusReason, type ClaimLimit, type SourceQueue } from './source-queue.ts'
import type { Destination, SourceSelection } from './source-selection.ts'

const CLAIM_BATCH = 250
const CONCURRENT_CLAIMS = 2
/** Mail of a workspace that a receiver suspended is tried again after so long, before RETRY_SCALE. */
const SUSPENDED_MS = 600_000

/** Until when released mail waits, and why. */
export interface Postponement {
  readonly until: Date
  readonly reason: string | null
}

export interface ClaimerDeps {
  readonly leased: LeasedRecipients
  readonly readyQueue: Pick<ReadyQueue, 'claim' | 'putBack'>
  /** Claims recipients under our lease in PostgreSQL; resolves with those that are ours now. */
  readonly claimRecipients: (members: readonly Member[]) => Promise<readonly Claimed[]>
  readonly sources: SourceSelection
  /** Resolves when our share of a throttle is known, or cannot be known now. */
  readonly shareKnown: (throttle: Pace) => Promise<void>
  readonly isSuspended: (domain: string) => boolean
  readonly isStopped: () => boolean
  /** Releases what was claimed and has no source yet. */
  readonly releaseClaimed: (claimed: readonly Claimed[], postponement?: Postponement) => Promise<void>
  /** Releases what waits in a queue. */
  readonly release: (deliveries: readonly ClaimedDelivery[], postponement?: Postponement) => Promise<void>
  /** Writes the result of a delivery that ends without a session. */
  readonly finish: (delivery: ClaimedDelivery, attempt: Attempt) => void
}

type ClaimerContext = Pick<Context, 'clock' | 'config' | 'log'>

export class Claimer {
  readonly #ctx: ClaimerContext
  readonly #deps: ClaimerDeps
  readonly #load: (member: Member) => Promise<Claimed | undefined>

  constructor(ctx: ClaimerContext, deps: ClaimerDeps) {
    this.#ctx = ctx
    this.#deps = deps
    const batcher = createBatcher((members: Member[]) => commitClaims(deps, members), {
      max: CLAIM_BATCH,
      lanes: CONCURRENT_CLAIMS,
    })
    this.#load = (member) => batcher.add(member)
  }

  /** Claims up to `limit` recipients that are ready at the site. Rejects when a store is away; nothing is lost. */
  async claim(site: SiteQueue, limit: ClaimLimit): Promise<void> {
    const entries = await this.#takeReady(site, limit)
    const domain = parseMember(entries[0]?.member ?? '')?.domain
    if (domain === undefined) return
    const destination = await this.#deps.sources.destinationOf(domain)
    site.sourceCount = () => this.#deps.sources.count(destination)
    if (!(await this.#mayBegin(site, destination))) return this.#putBack(site, entries)
    const { claimed, failed } = await this.#commit(entries)
    const wanted = await this.#releaseUnwanted(claimed)
    for (const one of wanted) await this.#enqueue(site, destination, one)
    const surplus = await this.#releaseSurplus(site)
    if (claimed.length > 0) site.claimed(claimed.length - surplus, performance.now())
    if (failed.length === 0) return
    await this.#putBack(site, failed)
    throw new Error(`${failed.length} recipients could not be claimed in PostgreSQL`)
  }

  async #takeReady(site: SiteQueue, limit: ClaimLimit): Promise<ReadyEntry[]> {
    const { wakes } = site
    site.hasReadyInstant = false
    const entries = await this.#deps.readyQueue.claim(site.site, limit)
    const instants = entries.filter(({ tier }) => tier === 'instant').length
    if (instants === limit.instant && instants > 0) site.hasReadyInstant = true
    const isAll = instants < limit.instant && entries.length - instants < limit.others
    if (isAll && site.wakes === wakes) site.isEmpty = true
    return entries
  }

  /** False when nothing may begin there now by any source. The source queues hear when that ends. */
  async #mayBegin(site: SiteQueue, destination: Destination): Promise<boolean> {
    const { sources, shareKnown } = this.#deps
    if (sources.isBySystem(destination)) {
      const { throttle } = site.sourceQueue(null, sources.throttleOf(destination, null))
      await shareKnown(throttle)
      return throttle.connections > 0
    }
    const suspended = sources.allSuspended(destination)
    for (const source of suspended ?? []) site.sourceQueue(source, sources.throttleOf(destination, source))
    return suspended === null
  }

  async #putBack(site: SiteQueue, entries: readonly ReadyEntry[]): Promise<void> {
    site.isEmpty = false
    site.hasReadyInstant ||= entries.some(({ tier }) => tier === 'instant')
    await this.#deps.readyQueue.putBack(site.site, entries)
  }

  /** `failed`: PostgreSQL could not be asked for these. */
  async #commit(entries: readonly ReadyEntry[]): Promise<{ claimed: Claimed[]; failed: ReadyEntry[] }> {
    const loaded = await Promise.allSettled(
      entries.map(async (entry) => {
        const member = parseMember(entry.member)
        return member === null ? undefined : this.#load(member)
      }),
    )
    const claimed = loaded.flatMap((one) => (one.status === 'fulfilled' && one.value !== undefined ? [one.value] : []))
    return { claimed, failed: entries.filter((_, i) => loaded[i]?.status === 'rejected') }
  }

  /** What was suspended after it became ready goes back; the dispatcher then sets it aside. */
  async #releaseUnwanted(claimed: readonly Claimed[]): Promise<Claimed[]> {
    const { isStopped, isSuspended, releaseClaimed } = this.#deps
    const unwanted = new Set(claimed.filter(({ domain }) => isStopped() || isSuspended(domain)))
    if (unwanted.size > 0) await releaseClaimed([...unwanted])
    return claimed.filter((one) => !unwanted.has(one))
  }

  /** Puts it in the queue of its source. When PostgreSQL goes away while a source is selected, it is released as soon as that can be written. */
  async #enqueue(site: SiteQueue, destination: Destination, claimed: Claimed): Promise<void> {
    try {
      await this.#selectSource(site, destination, claimed)
    } catch (error) {
      this.#ctx.log.debug({ err: error, id: claimed.messageId }, 'no source could be selected; a store is away')
      await this.#deps.releaseClaimed([claimed])
    }
  }

  async #selectSource(site: SiteQueue, destination: Destination, claimed: Claimed): Promise<void> {
    const { sources, releaseClaimed, finish, shareKnown } = this.#deps
    const selecting = sources.select(destination, claimed)
    const selection = selecting instanceof Promise ? await selecting : selecting
    if (selection.kind === 'suspended') return releaseClaimed([claimed], this.#postponementFor(selection.by))
    const delivery: ClaimedDelivery = { claimed, selected: selection.selected, heldSinceMs: performance.now() }
    if (selection.kind === 'postponed') return finish(delivery, selection.attempt)
    const queue = site.sourceQueue(selection.selected.source, selection.selected.throttle)
    if (!queue.throttle.isKnown) await shareKnown(queue.throttle)
    queue.push(delivery)
  }

  /** Not until the end of a long suspension: it may be resumed before. */
  #postponementFor(by: ReceiverSuspension): Postponement {
    const { clock, config } = this.#ctx
    const soon = clock.now() + SUSPENDED_MS * config.retryScale
    return { until: new Date(Math.min(by.until.getTime(), soon)), reason: workspaceStopText(by) }
  }

  /** What is too much for its source queue waits on the schedule for about its turn. Resolves with how many. */
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

/** By whole seconds, so that they are released in few batches. */
function groupByTurn(queue: SourceQueue, nowMs: number): Map<number, ClaimedDelivery[]> {
  const turns = new Map<number, ClaimedDelivery[]>()
  for (const { delivery, turnMs } of queue.removeSurplus(nowMs)) {
    const second = Math.ceil(turnMs / 1000) * 1000
    turns.set(second, [...(turns.get(second) ?? []), delivery])
  }
  return turns
}

/** The claims of many sites in one statement; undefined for what is not ours to send. */
async function commitClaims(
  { leased, claimRecipients }: Pick<ClaimerDeps, 'leased' | 'claimRecipients'>,
  members: readonly Member[],
): Promise<(Claimed | undefined)[]> {
  const asked = members.filter((member) => !leased.isBeingReleased(member))
  leased.add(asked)
  const claimed = await claimRecipients(asked).catch((error: unknown) => {
    leased.drop(asked)
    leased.markUncertain()
    throw error
  })
  const byKey = new Map(claimed.map((one) => [keyOf(one), one]))
  const found = new Map(
    asked.map((member) => {
      const one = byKey.get(keyOf(member))
      byKey.delete(keyOf(member)) // a recipient that is twice in a batch begins once
      return [member, one] as const
    }),
  )
  leased.drop(asked.filter((member) => found.get(member) === undefined))
  return members.map((member) => found.get(member))
}

function keyOf({ messageId, n }: Pick<Member, 'messageId' | 'n'>): string {
  return `${messageId}:${n}`
}
