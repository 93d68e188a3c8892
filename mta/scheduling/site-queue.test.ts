import { assert } from 'chai'
import type { ClaimedRecipient } from '#src/messages/claim.ts'
import { throttleWith } from '#test/support/throttle.ts'
import type { SiteQueue } from './site-queue.ts'
import type { ClaimedDelivery } from '#mta/delivery/session-grant.ts'
import { siteQueueOf } from './site-queue.test-data.ts'

const bulk = (): ClaimedDelivery => ({ claimed: { tier: 'bulk' } as ClaimedRecipient }) as ClaimedDelivery
const SHARE = { instant: 2, others: 8 }

describe('site queue', () => {
  function siteWith(...sources: (string | null)[]): SiteQueue {
    const site = siteQueueOf('s')
    for (const source of sources) site.queueFor(source, throttleWith({ share: SHARE }))
    return site
  }
  const fillUp = (site: SiteQueue, source: string): void => {
    for (let i = 0; i < 20; i++) site.sourceQueues.get(source)?.push(bulk())
  }

  it('claims a little until it knows a source, then as much as its source queues can hold together', () => {
    assert.deepEqual(siteWith().claimLimit(0), { instant: 10, others: 10 })
    const [one, two] = [siteWith('a'), siteWith('a', 'b')]
    assert.strictEqual(two.claimLimit(0).others, 2 * one.claimLimit(0).others)
  })
  it('a source that has enough mail does not stop claims for another', () => {
    const site = siteWith('a', 'b')
    fillUp(site, 'a')
    assert.ok(site.claimLimit(0).others > 0)
    fillUp(site, 'b')
    assert.strictEqual(site.claimLimit(0).others, 0)
  })
  it('claims now and then for sources that have no queue yet', () => {
    const site = siteWith('a')
    fillUp(site, 'a')
    site.sourceCount = () => 2
    assert.ok(site.claimLimit(5000).others > 0)
    assert.strictEqual(site.claimLimit(5500).others, 0)
    assert.ok(site.claimLimit(6000).others > 0)
  })
  it('pauses, longer each time, after claims of only surplus; instant mail is still claimed', () => {
    const site = siteWith('a', 'b')
    site.lengthenPause(1000)
    assert.strictEqual(site.pause.untilMs, 1050)
    site.lengthenPause(2000)
    assert.strictEqual(site.pause.untilMs, 2100)
    assert.strictEqual(site.claimLimit(2000).others, 0)
    assert.ok(site.claimLimit(2000).instant > 0)
    site.hasReadyInstant = false
    assert.deepEqual(site.claimLimit(2000), { instant: 0, others: 0 })
    assert.ok(site.claimLimit(2100).others > 0)
  })
  it('drops an unused source queue, except the last one and one that the receiver suspended', () => {
    const site = siteWith('a', 'b')
    site.sourceQueues.get('b')?.throttle.setSuspended(true)
    site.dropUnused(1)
    assert.deepEqual([...site.sourceQueues.keys()], ['b'])
    site.sourceQueues.get('b')?.throttle.setSuspended(false)
    site.dropUnused(1)
    assert.deepEqual([...site.sourceQueues.keys()], ['b'])
  })
  it('lets instant mail be claimed when it is due, unless other instant mail may be ahead or room is lacking', () => {
    const site = siteWith('a')
    assert.strictEqual(site.dueRoom, 0, 'what is ready is not known yet')
    site.hasReadyInstant = false
    const room = site.dueRoom
    assert.isAbove(room, 0)
    site.dueClaims = room
    assert.strictEqual(site.dueRoom, 0)
    site.dueClaims = 0
    site.sourceQueues.get('a')?.throttle.setSuspended(true)
    assert.strictEqual(site.dueRoom, 0)
  })
  it('drops no source queue during a claim, which may be about to add mail to an empty one', () => {
    const site = siteWith('a', 'b')
    site.isClaiming = true
    site.dropUnused(1)
    assert.deepEqual([...site.sourceQueues.keys()], ['a', 'b'])
    site.isClaiming = false
    site.dueClaims = 1
    site.dropUnused(1)
    assert.deepEqual([...site.sourceQueues.keys()], ['a', 'b'])
    site.dueClaims = 0
    site.dropUnused(1)
    assert.deepEqual([...site.sourceQueues.keys()], ['b'])
  })
})
