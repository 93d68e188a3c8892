import { assert } from 'chai'
import type { Tier } from '#src/queue/tiers.ts'
import { claimedOf, deliveryOf, flushEventLoop } from '#test/support/delivery.ts'
import { throttleWith } from '#test/support/throttle.ts'
import { runnerWith, siteWith, type SiteAndQueue } from './runner.test-data.ts'
import type { Runner } from './runner.ts'

describe('deliveries that begin in a turn of the event loop', () => {
  const push = ({ queue }: SiteAndQueue, tier: Tier, count: number): void => {
    for (let i = 0; i < count; i++) queue.push(deliveryOf(claimedOf({ tier })))
  }
  /** A runner whose deliveries hang, which pumps its sites as the scheduler does. */
  function pumping(isBehind = (): boolean => false): { runner: Runner; began: string[]; woken: string[] } {
    const began: string[] = []
    const woken: string[] = []
    const runner: Runner = runnerWith(100, {
      isBehind,
      deliver: ({ claimed }) => {
        began.push(claimed.tier)
        return new Promise(() => undefined)
      },
      onFree: (site) => {
        woken.push(site.site)
        runner.start(site)
      },
    })
    return { runner, began, woken }
  }

  it('are one for bulk mail, however much is held', async () => {
    const one = siteWith('a')
    const { runner, began } = pumping()
    push(one, 'bulk', 4)
    runner.start(one.site)
    runner.start(one.site)
    const counts = [began.length]
    for (let turn = 0; turn < 4; turn++) {
      await flushEventLoop(1)
      counts.push(began.length)
    }
    assert.deepEqual(counts, [1, 2, 3, 4, 4])
  })
  it('are not limited for instant mail', () => {
    const [bulk, code] = [siteWith('bulk'), siteWith('codes')]
    const { runner, began } = pumping()
    push(bulk, 'bulk', 2)
    push(code, 'instant', 2)
    runner.start(code.site)
    runner.start(bulk.site)
    push(code, 'instant', 2)
    runner.start(code.site)
    assert.deepEqual(began, ['instant', 'instant', 'bulk', 'instant', 'instant'])
  })
  it('include instant mail of a site whose bulk mail waits for the next turn', () => {
    const one = siteWith('a')
    const { runner, began } = pumping()
    push(one, 'bulk', 2)
    runner.start(one.site)
    push(one, 'instant', 1)
    runner.start(one.site)
    assert.deepEqual(began, ['bulk', 'instant'])
  })
  it('come from the sites in turn', async () => {
    const sites = ['a', 'b', 'c'].map((name) => siteWith(name))
    const { runner } = pumping()
    for (const one of sites) push(one, 'normal', 3)
    for (const { site } of sites) runner.start(site)
    await flushEventLoop(3)
    assert.deepEqual(
      sites.map(({ queue }) => queue.active),
      [2, 1, 1],
    )
    await flushEventLoop(5)
    assert.deepEqual(
      sites.map(({ queue }) => queue.active),
      [3, 3, 3],
    )
  })
  it('come from the sources of a site in turn', async () => {
    const one = siteWith('a')
    const second = one.site.queueFor('second', throttleWith({ share: { instant: 20, others: 80 } }))
    const { runner } = pumping()
    push(one, 'bulk', 3)
    push({ site: one.site, queue: second }, 'bulk', 3)
    runner.start(one.site)
    await flushEventLoop(2)
    assert.deepEqual([one.queue.active, second.active], [2, 1])
    await flushEventLoop(2)
    assert.deepEqual([one.queue.active, second.active], [3, 2])
  })
  it('are of the highest tier of all sites', async () => {
    const [bulk, high] = [siteWith('bulk'), siteWith('high')]
    const { runner, began } = pumping()
    push(bulk, 'bulk', 4)
    runner.start(bulk.site)
    await flushEventLoop(1)
    push(high, 'high', 2)
    runner.start(high.site)
    await flushEventLoop(3)
    assert.deepEqual(began, ['bulk', 'bulk', 'high', 'high', 'bulk'])
  })
  it('come from the next site if one has none any more', async () => {
    const [first, stopped, other] = [siteWith('first'), siteWith('stopped'), siteWith('other')]
    const { runner } = pumping()
    for (const one of [first, stopped, other]) {
      push(one, 'bulk', 1)
      runner.start(one.site)
    }
    stopped.site.stop()
    await flushEventLoop(1)
    assert.deepEqual([first.queue.active, stopped.queue.active, other.queue.active], [1, 0, 1])
  })
  it('are looked for at a bounded number of sites that have none', async () => {
    let isBehind = false
    const { runner, woken } = pumping(() => isBehind)
    for (let i = 0; i < 30; i++) {
      const one = siteWith(`site ${i}`)
      push(one, 'bulk', 1)
      runner.start(one.site)
    }
    isBehind = true
    await flushEventLoop(1)
    assert.strictEqual(woken.length, 20)
    await flushEventLoop(1)
    assert.strictEqual(woken.length, 29)
  })
  it('wait while too many results are being written, and no longer', async () => {
    let isBehind = false
    const one = siteWith('a')
    const { runner, began } = pumping(() => isBehind)
    push(one, 'bulk', 2)
    runner.start(one.site)
    isBehind = true
    await flushEventLoop()
    assert.strictEqual(began.length, 1)
    isBehind = false
    await runner.finish(deliveryOf(claimedOf({ tier: 'bulk' })), null)
    await flushEventLoop()
    assert.strictEqual(began.length, 2)
  })
})
