import { assert } from 'chai'
import fc from 'fast-check'
import type { ClaimedRecipient } from '#src/messages/claim.ts'
import { TIER_NAMES, type Tier } from '#src/queue/tiers.ts'
import { claimedOf, deliveryOf, selectedSource } from '#test/support/delivery.ts'
import { throttleWith } from '#test/support/throttle.ts'
import { enterSession } from './runner.test-data.ts'
import { SourceQueue, type ReadyHints } from './source-queue.ts'
import type { ClaimedDelivery } from '#mta/delivery/session-grant.ts'

const mail = (tier: Tier): ClaimedDelivery => ({ claimed: { tier } as ClaimedRecipient }) as ClaimedDelivery
interface Case {
  readonly queue: SourceQueue
  readonly site: { -readonly [K in keyof ReadyHints]: ReadyHints[K] }
}
const queueWith = (share: { instant: number; others: number }, source: string | null = null): Case => {
  const site = { hasReadyInstant: true, isEmpty: false }
  return { site, queue: new SourceQueue(site, source, throttleWith({ share })) }
}
const tiersOf = (surplus: readonly { readonly delivery: ClaimedDelivery }[]): Tier[] =>
  surplus.map((one) => one.delivery.claimed.tier)

describe('source queue', () => {
  it('starts deliveries strictly by tier', () => {
    const { queue } = queueWith({ instant: 2, others: 8 })
    for (const tier of ['bulk', 'normal', 'instant', 'high', 'bulk'] as const) queue.push(mail(tier))
    assert.deepEqual(
      Array.from({ length: 6 }, () => queue.next()?.claimed.tier),
      ['instant', 'high', 'normal', 'bulk', 'bulk', undefined],
    )
  })
  it('starts at most two deliveries for each session, counted separately for instant mail', () => {
    const { queue } = queueWith({ instant: 2, others: 8 })
    for (const tier of ['instant', 'bulk'] as const) for (let i = 0; i < 100; i++) queue.push(mail(tier))
    const begun: ClaimedDelivery[] = []
    for (let one = queue.next(); one !== undefined; one = queue.next()) begun.push(one)
    assert.deepEqual(
      begun.map(({ claimed }) => claimed.tier),
      [...Array.from({ length: 20 }, () => 'instant'), ...Array.from({ length: 16 }, () => 'bulk')],
    )
    queue.finished(begun[0] ?? mail('instant'), 0)
    assert.strictEqual(queue.next()?.claimed.tier, 'instant')
  })
  it('claims in batches: nothing while it holds half of its target', () => {
    const { queue, site } = queueWith({ instant: 2, others: 10 })
    assert.strictEqual(queue.claimLimit().others, 4, 'little of a site that did not show yet what it takes')
    for (let i = 0; i < 10; i++) queue.finished(mail('bulk'), 0)
    assert.strictEqual(queue.claimLimit().others, 20)
    for (let i = 0; i < 11; i++) queue.push(mail('bulk'))
    site.hasReadyInstant = false
    assert.deepEqual(queue.claimLimit(), { instant: 0, others: 0 })
    site.hasReadyInstant = true
    assert.strictEqual(queue.claimLimit().others, 0)
    assert.ok(queue.claimLimit().instant > 0, 'full of bulk, there is still room for instant')
  })
  it('claims nothing without a share of the throttle, and only instant mail while it may send nothing else', () => {
    assert.deepEqual(queueWith({ instant: 0, others: 0 }).queue.claimLimit(), { instant: 0, others: 0 })
    const { instant, others } = queueWith({ instant: 1, others: 0 }).queue.claimLimit()
    assert.ok(instant > 0)
    assert.strictEqual(others, 0)
  })
  it('holds no more than a slow receiver accepts in two seconds', () => {
    const throttle = throttleWith({ share: { instant: 2, others: 8 }, messageRate: { count: 60, perMs: 60_000 } })
    assert.ok(new SourceQueue({ hasReadyInstant: true, isEmpty: false }, null, throttle).claimLimit().others <= 3)
  })
  it('permits more deliveries as others finish, and fewer when the site hangs', () => {
    const { queue } = queueWith({ instant: 2, others: 8 })
    const first = queue.window
    for (let i = 0; i < 10; i++) queue.finished(mail('bulk'), 0)
    assert.strictEqual(queue.window, first + 10)
    for (let i = 0; i < 10; i++) queue.finished(mail('bulk'), 0, true)
    assert.strictEqual(queue.window, first)
  })
  it('demands sessions for waiting and ready recipients, and none when the site is empty', async () => {
    const { queue, site } = queueWith({ instant: 2, others: 8 })
    assert.ok(queue.demand().others > 1000)
    site.isEmpty = true
    assert.deepEqual(queue.demand(), { instant: 0, others: 0 })
    const { throttle } = queue
    for (const tier of ['instant', 'bulk', 'high'] as const)
      queue.push(deliveryOf(claimedOf({ tier }), selectedSource({ throttle })))
    assert.deepEqual(queue.demand(), { instant: 1, others: 2 })
    const delivery = queue.next() ?? mail('bulk')
    assert.deepEqual(queue.demand(), { instant: 1, others: 2 }, 'prepared, it still waits')
    assert.strictEqual(await enterSession(delivery), true)
    assert.deepEqual(queue.demand(), { instant: 0, others: 2 }, 'the throttle counts a delivery in a session')
    queue.finished(delivery, 0)
    assert.deepEqual([queue.active, queue.sessions], [0, 0])
  })
})

describe('surplus of a source queue', () => {
  it('loses and duplicates no delivery, and leaves a bounded queue', () => {
    const step = fc.oneof(fc.constantFrom(...TIER_NAMES), fc.constantFrom('next', 'surplus'))
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400 }), fc.nat(8), (steps, others) => {
        const { queue } = queueWith({ instant: 1, others }, 'a')
        const out: ClaimedDelivery[] = []
        let pushed = 0
        for (const one of steps) {
          if (one === 'next') out.push(...[queue.next()].filter((delivery) => delivery !== undefined))
          else if (one === 'surplus') out.push(...queue.removeSurplus(0).map(({ delivery }) => delivery))
          else {
            queue.push(mail(one))
            pushed++
          }
        }
        out.push(...queue.removeSurplus(0).map(({ delivery }) => delivery))
        assert.ok(queue.held <= 150)
        out.push(...queue.clear())
        assert.strictEqual(out.length, pushed)
        assert.strictEqual(new Set(out).size, pushed)
      }),
    )
  })
  it('comes from the lowest tier first, the latest first, and does not count instant mail', () => {
    const { queue } = queueWith({ instant: 2, others: 8 }, 'a')
    for (const tier of ['high', 'bulk', 'instant', 'normal', 'bulk'] as const)
      for (let i = 0; i < 15; i++) queue.push(mail(tier))
    assert.deepEqual(
      tiersOf(queue.removeSurplus(0)),
      Array.from({ length: 10 }, () => 'bulk'),
    )
    assert.strictEqual(queue.held, 65)
    assert.deepEqual(queue.removeSurplus(0), [], 'what is left is not too much')
  })
  it("gets turns one after the other at the receiver's rate, within ten minutes", () => {
    const throttle = throttleWith({ share: { instant: 2, others: 8 }, messageRate: { count: 60, perMs: 60_000 } })
    const queue = new SourceQueue({ hasReadyInstant: true, isEmpty: false }, 'a', throttle)
    const turns = (count: number): number[] => {
      for (let i = 0; i < count; i++) queue.push(mail('bulk'))
      return queue.removeSurplus(0).map(({ turnMs }) => turnMs)
    }
    assert.deepEqual(turns(54), [2000, 3000, 4000, 5000])
    assert.deepEqual(turns(2), [6000, 7000], 'behind those before')
    assert.strictEqual(turns(1000).at(-1), 600_000)
  })
  it('is the whole queue of a suspended source; without a share the queue stays and requests one', () => {
    const { queue } = queueWith({ instant: 0, others: 0 }, 'a')
    let asked = 0
    queue.throttle.onShareNeeded = () => {
      asked++
    }
    for (const tier of ['instant', 'bulk'] as const) queue.push(mail(tier))
    assert.strictEqual(asked, 2)
    assert.deepEqual(queue.removeSurplus(0), [])
    assert.ok(queue.demand().instant > 0)
    queue.throttle.setSuspended(true)
    assert.strictEqual(queue.removeSurplus(0).length, 2)
    assert.strictEqual(queue.held, 0)
  })
  it('is empty where the system chooses the address', () => {
    const { queue } = queueWith({ instant: 0, others: 0 })
    for (let i = 0; i < 1000; i++) queue.push(mail('bulk'))
    assert.deepEqual(queue.removeSurplus(0), [])
  })
})
