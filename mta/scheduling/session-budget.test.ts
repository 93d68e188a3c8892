import { assert } from 'chai'
import type { Tier } from '#src/queue/tiers.ts'
import { claimedOf, deliveryOf } from '#test/support/delivery.ts'
import { throttleWith } from '#test/support/throttle.ts'
import { SessionBudget } from './session-budget.ts'
import { SiteQueue } from './site-queue.ts'
import type { SourceQueue } from './source-queue.ts'

interface Site {
  readonly site: SiteQueue
  readonly queue: SourceQueue
}

describe('session budget', () => {
  const siteOf = (name: string): Site => {
    const site = new SiteQueue(name)
    return { site, queue: site.queueFor(null, throttleWith({ share: { instant: 20, others: 80 } })) }
  }
  /** Begins deliveries until the budget refuses one; returns how many began. */
  const fill = (budget: SessionBudget, { site, queue }: Site, tier: Tier = 'bulk', most = 1000): number => {
    let begun = 0
    for (; begun < most && budget.mayBegin(site, queue); begun++) {
      queue.started(tier)
      budget.started()
    }
    return begun
  }

  it('leaves sessions for a site that has none, however many sites hang', () => {
    const budget = new SessionBudget(100, () => false)
    for (let i = 0; i < 40; i++) fill(budget, siteOf(`hanging ${i}`))
    const late = siteOf('late')
    assert.strictEqual(fill(budget, late, 'bulk', 1), 1)
  })
  it('gives a site that finished nothing only a part of a busy process', () => {
    const budget = new SessionBudget(100, () => false)
    const begun = fill(budget, siteOf('hanging'))
    assert.ok(begun >= 15 && begun < 30, `${begun} of 100`)
  })
  it('gives a site more as its deliveries finish', () => {
    const [hanging, quick] = [siteOf('hanging'), siteOf('quick')]
    const budget = new SessionBudget(100, () => false)
    for (let i = 0; i < 40; i++) fill(budget, siteOf(`other ${i}`), 'bulk', 1)
    for (let i = 0; i < 20; i++) {
      quick.queue.started('bulk')
      quick.queue.finished('bulk', i)
    }
    assert.ok(fill(budget, quick) > fill(budget, hanging))
  })
  it('has extra sessions for instant mail when bulk mail uses all others', () => {
    const budget = new SessionBudget(20, () => false)
    for (let i = 0; budget.active < 20; i++) fill(budget, siteOf(`bulk ${i}`))
    const bulk = siteOf('more bulk')
    bulk.queue.push(deliveryOf(claimedOf({ tier: 'bulk' })))
    assert.strictEqual(budget.mayBegin(bulk.site, bulk.queue), false)
    const code = siteOf('one-time code')
    code.queue.push(deliveryOf(claimedOf({ tier: 'instant' })))
    assert.strictEqual(budget.mayBegin(code.site, code.queue), true)
  })
  it('starts nothing while too many results wait to be written', () => {
    let isBehind = true
    const budget = new SessionBudget(10, () => isBehind)
    const { site, queue } = siteOf('a')
    assert.strictEqual(budget.mayBegin(site, queue), false)
    isBehind = false
    assert.strictEqual(budget.mayBegin(site, queue), true)
  })
  it('wakes starved sites in turn; a site that is starved again waits behind the others', () => {
    const budget = new SessionBudget(10, () => false)
    for (const name of ['a', 'b', 'c']) budget.addStarved(siteOf(name).site)
    const woken: string[] = []
    budget.wakeStarved((site) => {
      if (!woken.includes(site.site)) budget.addStarved(site)
      woken.push(site.site)
    })
    assert.deepEqual(woken, ['a', 'b', 'c', 'a', 'b', 'c'])
  })
  it('wakes no site while all sessions are in use', () => {
    const budget = new SessionBudget(10, () => false)
    for (let i = 0; i < 11; i++) budget.started()
    budget.addStarved(siteOf('a').site)
    budget.wakeStarved(() => assert.fail('no session is free'))
  })
})
