import assert from 'node:assert/strict'
import type { Claimed } from '#src/messages/claim.ts'
import type { Tier } from '#src/queue/tiers.ts'
import { paceWith } from '#test/support/pace.ts'
import { Lane } from './lane.ts'

const mail = (tier: Tier): Claimed => ({ tier }) as Claimed
const laneWith = (share: { instant: number; others: number }): Lane => {
  const lane = new Lane('s')
  lane.pace = paceWith({ share })
  return lane
}

describe('a lane', () => {
  it('begins strictly by tier', () => {
    const lane = laneWith({ instant: 2, others: 8 })
    for (const tier of ['bulk', 'normal', 'instant', 'high', 'bulk'] as const) lane.push(mail(tier))
    assert.deepEqual(Array.from({ length: 6 }, () => lane.next()?.tier), ['instant', 'high', 'normal', 'bulk', 'bulk', undefined])
  })
  it('begins no more than two for each session, instant mail counted apart', () => {
    const lane = laneWith({ instant: 2, others: 8 })
    for (const tier of ['instant', 'bulk'] as const) for (let i = 0; i < 100; i++) lane.push(mail(tier))
    const begun: Tier[] = []
    for (let one = lane.next(); one !== undefined; one = lane.next()) {
      lane.started(one)
      begun.push(one.tier)
    }
    assert.deepEqual(begun, [...Array.from({ length: 20 }, () => 'instant'), ...Array.from({ length: 16 }, () => 'bulk')])
    lane.finished(mail('instant'), 0)
    assert.equal(lane.next()?.tier, 'instant')
  })
  it('claims in batches: nothing while half of what it wants is held', () => {
    const lane = laneWith({ instant: 2, others: 10 })
    assert.equal(lane.room().others, 4, 'little of a site that did not show yet what it takes')
    for (let i = 0; i < 10; i++) lane.finished(mail('bulk'), 0)
    assert.equal(lane.room().others, 20)
    for (let i = 0; i < 11; i++) lane.push(mail('bulk'))
    lane.hasInstantNews = false
    assert.deepEqual(lane.room(), { instant: 0, others: 0 })
    lane.hasInstantNews = true
    assert.equal(lane.room().others, 0)
    assert.ok(lane.room().instant > 0, 'full of bulk, there is still room for instant')
  })
  it('claims nothing without a part in the pace, and only instant mail while it may send nothing else', () => {
    assert.deepEqual(laneWith({ instant: 0, others: 0 }).room(), { instant: 0, others: 0 })
    const { instant, others } = laneWith({ instant: 1, others: 0 }).room()
    assert.ok(instant > 0)
    assert.equal(others, 0)
  })
  it('holds no more than a slow receiver takes in moments', () => {
    const lane = new Lane('s')
    lane.pace = paceWith({ share: { instant: 2, others: 8 }, messageRate: { count: 60, perMs: 60_000 } })
    assert.ok(lane.room().others <= 3)
  })
  it('is given more as it finishes, and less when it hangs', () => {
    const lane = laneWith({ instant: 2, others: 8 })
    const first = lane.window
    for (let i = 0; i < 10; i++) lane.finished(mail('bulk'), 0)
    assert.equal(lane.window, first + 10)
    for (let i = 0; i < 10; i++) lane.finished(mail('bulk'), 0, true)
    assert.equal(lane.window, first)
  })
  it('wants what waits and what else may be ready, and nothing when there is nothing', () => {
    const lane = laneWith({ instant: 2, others: 8 })
    assert.ok(lane.demand().others > 1000)
    lane.isDry = true
    assert.deepEqual(lane.demand(), { instant: 0, others: 0 })
    for (const tier of ['instant', 'bulk', 'high'] as const) lane.push(mail(tier))
    assert.deepEqual(lane.demand(), { instant: 1, others: 2 })
    const one = lane.next() ?? mail('bulk')
    lane.started(one)
    assert.deepEqual(lane.demand(), { instant: 1, others: 2 }, 'made ready, it still waits')
    lane.entered(one.tier)
    assert.deepEqual(lane.demand(), { instant: 0, others: 2 }, 'in a session it is the pace that counts it')
  })
})
