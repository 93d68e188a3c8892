import { setTimeout } from 'node:timers/promises'
import { assert } from 'chai'
import type { ClaimedDelivery } from '#mta/delivery/session-grant.ts'
import type { ClaimedRecipient } from '#src/messages/claim.ts'
import type { Attempt, Outcome } from '#src/messages/outcome.ts'
import type { ReceiverSuspension } from '#src/shaping/receiver-suspensions.ts'
import { attemptOf, claimedOf, entryOf, selectedSource, silentContext } from '#test/support/delivery.ts'
import { throttleWith } from '#test/support/throttle.ts'
import { Claimer, type ClaimerDeps, type Postponement } from './claimer.ts'
import { LeasedRecipients } from './leased-recipients.ts'
import type { ReadyEntry } from './ready-queue.ts'
import type { SiteQueue } from './site-queue.ts'
import type { SiteDestination, SourceSelection } from './source-selection.ts'
import { siteQueueOf } from './site-queue.test-data.ts'

const LIMIT = { instant: 10, others: 10 }
const POSTPONED: Outcome = { kind: 'postponed', reason: 'no-source', detail: 'no source', untilMs: 0 }
const DESTINATION = { site: 'site', hosts: [], system: null } as unknown as SiteDestination

/** The operator has sources of their own: each message has its source. */
const OWN_SOURCES: Partial<SourceSelection> = { destinationOf: () => Promise.resolve(DESTINATION) }

interface Case {
  readonly claimer: Claimer
  readonly site: SiteQueue
  readonly leased: LeasedRecipients
  readonly released: { readonly ids: readonly string[]; readonly postponement: Postponement | undefined }[]
  readonly finished: { readonly delivery: ClaimedDelivery; readonly attempt: Attempt }[]
  readonly requeued: ReadyEntry[]
  claim(): Promise<void>
}

/** A site where these recipients are ready. */
function siteWith(
  ready: readonly ClaimedRecipient[],
  deps: Partial<Omit<ClaimerDeps, 'sources'>> & { readonly sources?: Partial<SourceSelection> } = {},
): Case {
  const ctx = silentContext()
  const site = siteQueueOf('site')
  const leased = new LeasedRecipients()
  const throttle = throttleWith({ share: { instant: 2, others: 8 } })
  const [released, finished, requeued]: [Case['released'], Case['finished'], ReadyEntry[]] = [[], [], []]
  const release = (claimed: readonly ClaimedRecipient[], postponement?: Postponement): Promise<void> => {
    released.push({ ids: claimed.map(({ messageId }) => messageId), postponement })
    leased.drop(claimed)
    return Promise.resolve()
  }
  const { sources, ...others } = deps
  const claimer = new Claimer(ctx, {
    leased,
    readyQueue: {
      claim: () => Promise.resolve(ready.map(entryOf)),
      requeue: (_, entries) => Promise.resolve(void requeued.push(...entries)),
    },
    claimRecipients: () => Promise.resolve(ready),
    sources: {
      destinationOf: () => Promise.resolve({ ...DESTINATION, system: selectedSource({ throttle }) }),
      choose: () => Promise.resolve({ selected: selectedSource({ throttle }), attempt: null }),
      throttleOf: () => throttle,
      allSuspended: () => null,
      count: () => 1,
      ...sources,
    },
    awaitShare: () => Promise.resolve(),
    isSuspended: () => false,
    receiverSuspensions: { findForWorkspace: () => null },
    releaseClaimed: release,
    release: (deliveries, postponement) =>
      release(
        deliveries.map(({ claimed }) => claimed),
        postponement,
      ),
    finish: (delivery, attempt) => finished.push({ delivery, attempt }),
    ...others,
  })
  return { claimer, site, leased, released, finished, requeued, claim: () => claimer.claim(site, LIMIT) }
}

describe('claimer', () => {
  it('adds ready recipients to the queue of their source, and records when the site has no more', async () => {
    const ready = [claimedOf(), claimedOf({ tier: 'instant' })]
    const one = siteWith(ready)
    await one.claim()
    assert.strictEqual(one.site.held, 2)
    assert.strictEqual(one.site.isEmpty, true)
  })
  it('does not record the site as empty when recipients became ready during the claim', async () => {
    const one: Case = siteWith([claimedOf()], {
      readyQueue: {
        claim: () => {
          one.site.wakes++
          return Promise.resolve([])
        },
        requeue: () => Promise.resolve(),
      },
    })
    await one.claim()
    assert.strictEqual(one.site.isEmpty, false)
  })
  it('drops recipients that PostgreSQL does not return: they are finished, or another process has them', async () => {
    const one = siteWith([claimedOf()], { claimRecipients: () => Promise.resolve([]) })
    await one.claim()
    assert.deepEqual([one.site.held, one.released.length, one.requeued.length], [0, 0, 0])
  })
  it('claims a recipient once that was ready twice', async () => {
    const twice = claimedOf()
    const one = siteWith([twice, twice], { claimRecipients: () => Promise.resolve([twice]) })
    await one.claim()
    assert.strictEqual(one.site.held, 1)
  })
  it('claims instant mail while it claims other mail of other sites', async () => {
    const instant = claimedOf({ tier: 'instant' })
    const others = ['a', 'b', 'c'].map((name) => ({ site: siteQueueOf(name), claimed: claimedOf({ tier: 'high' }) }))
    const claims = Promise.withResolvers<void>()
    const one = siteWith([], {
      readyQueue: {
        claim: (name) => Promise.resolve([entryOf(others.find(({ site }) => site.site === name)?.claimed ?? instant)]),
        requeue: () => Promise.resolve(),
      },
      claimRecipients: async (members) => {
        const requested = [instant, ...others.map(({ claimed }) => claimed)].filter(({ messageId }) =>
          members.some((member) => member.messageId === messageId),
        )
        if (requested.some(({ tier }) => tier !== 'instant')) await claims.promise
        return requested
      },
    })
    const running: Promise<void>[] = []
    for (const { site } of others) {
      running.push(one.claimer.claim(site, LIMIT))
      // a batch of its own
      await setTimeout(5)
    }
    await one.claim()
    assert.strictEqual(one.site.held, 1)
    claims.resolve()
    await Promise.all(running)
    assert.deepEqual(
      others.map(({ site }) => site.held),
      [1, 1, 1],
    )
  })
  it('requeues recipients whose claim failed in PostgreSQL, and checks later what was committed', async () => {
    const ready = [claimedOf(), claimedOf({ tier: 'instant' })]
    const one = siteWith(ready, { claimRecipients: () => Promise.reject(new Error('PostgreSQL is away')) })
    await assert.isRejected(one.claim(), /2 recipients could not be claimed/)
    assert.deepEqual(one.requeued, ready.map(entryOf))
    assert.deepEqual([one.site.isEmpty, one.site.hasReadyInstant, one.leased.isUncertain], [false, true, true])
  })
  it('releases mail of a domain that was suspended after it became ready', async () => {
    const [suspended, other] = [claimedOf({ domain: 'suspended.example' }), claimedOf()]
    const one = siteWith([suspended, other], { isSuspended: (domain) => domain === 'suspended.example' })
    await one.claim()
    assert.deepEqual(one.released, [{ ids: [suspended.messageId], postponement: undefined }])
    assert.strictEqual(one.site.held, 1)
  })
  it('requeues mail while the receiver has suspended every source', async () => {
    const ready = [claimedOf()]
    const one = siteWith(ready, {
      sources: { destinationOf: () => Promise.resolve(DESTINATION), allSuspended: () => ['a', 'b'] },
    })
    await one.claim()
    assert.deepEqual(one.requeued, ready.map(entryOf))
    assert.deepEqual([...one.site.sourceQueues.keys()], ['a', 'b'], 'their throttles wake the site later')
  })
  it('postpones the mail of a workspace that the receiver suspended, for ten minutes at most', async () => {
    const ctx = silentContext()
    const by = { until: new Date(ctx.nowMs + 86_400_000), pace: 'yahoo', workspaceId: 'w' }
    const one = siteWith([claimedOf()], {
      receiverSuspensions: { findForWorkspace: () => by as unknown as ReceiverSuspension },
    })
    await one.claim()
    assert.strictEqual(one.released[0]?.postponement?.until.getTime(), ctx.nowMs + 600_000)
    assert.strictEqual(one.site.held, 0)
  })
  it('writes a postponed result when no source may send now', async () => {
    const postponed = { selected: selectedSource(), attempt: attemptOf(POSTPONED) }
    const one = siteWith([claimedOf()], {
      sources: { ...OWN_SOURCES, choose: () => Promise.resolve(postponed) },
    })
    await one.claim()
    assert.deepEqual([one.finished.length, one.finished[0]?.attempt.outcome], [1, POSTPONED])
  })
  it('releases a claimed recipient when a store goes away during source selection', async () => {
    const claimed = claimedOf()
    const one = siteWith([claimed], {
      sources: { ...OWN_SOURCES, choose: () => Promise.reject(new Error('away')) },
    })
    await one.claim()
    assert.deepEqual(one.released, [{ ids: [claimed.messageId], postponement: undefined }])
  })
  it('releases the surplus of a slow source for its later turn, and pauses after a claim of only surplus', async () => {
    const throttle = throttleWith({ share: { instant: 0, others: 0 } })
    throttle.setSuspended(true)
    const selected = selectedSource({ source: 'out1', throttle })
    const one = siteWith([claimedOf(), claimedOf()], {
      sources: { ...OWN_SOURCES, choose: () => Promise.resolve({ selected, attempt: null }) },
    })
    one.site.queueFor('out1', throttle)
    await one.claim()
    assert.strictEqual(one.released.flatMap(({ ids }) => ids).length, 2)
    assert.match(
      one.released[0]?.postponement?.reason ?? '',
      /out1 has more mail for this receiver than it may send now/,
    )
    assert.ok(one.site.pause.untilMs > 0)
  })
})
