import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Claimed } from '#src/messages/claim.ts'
import { TIER_NAMES, type Tier } from '#src/queue/tiers.ts'
import { Lane } from './lane.ts'

const LIMITS = { rule: 'any', connections: 10, messagesPerConnection: 100 }
const mail = (tier: Tier): Claimed => ({ tier }) as Claimed

describe('a lane', () => {
  it('begins strictly by tier', () => {
    const lane = new Lane('s', LIMITS)
    for (const tier of ['bulk', 'normal', 'instant', 'high', 'bulk'] as const) lane.push(mail(tier))
    assert.deepEqual(Array.from({ length: 6 }, () => lane.next()?.tier), ['instant', 'high', 'normal', 'bulk', 'bulk', undefined])
  })
  it('begins no more than two for each session, instant mail counted apart', () => {
    const lane = new Lane('s', LIMITS)
    for (const tier of ['instant', 'bulk'] as const) for (let i = 0; i < 100; i++) lane.push(mail(tier))
    const begun: Tier[] = []
    for (let one = lane.next(); one !== undefined; one = lane.next()) {
      lane.started(one)
      begun.push(one.tier)
    }
    assert.deepEqual(begun, [...Array.from({ length: 20 }, () => 'instant'), ...Array.from({ length: 20 }, () => 'bulk')])
    lane.finished(mail('instant'), 0)
    assert.equal(lane.next()?.tier, 'instant')
  })
  it('keeps sessions for instant mail, however much else waits', async () => {
    const lane = new Lane('s', LIMITS)
    const order: string[] = []
    for (let i = 0; i < 12; i++) void lane.enter('bulk').then(() => order.push('bulk'))
    await Promise.resolve()
    assert.equal(order.length, 8)
    void lane.enter('instant').then(() => order.push('instant'))
    await Promise.resolve()
    assert.equal(order.at(-1), 'instant')
  })
  it('gives a session that comes free to the highest tier that waits', async () => {
    const lane = new Lane('s', { rule: 'any', connections: 1, messagesPerConnection: 1 })
    const order: string[] = []
    await lane.enter('bulk')
    for (const tier of ['bulk', 'normal', 'instant', 'high'] as const) void lane.enter(tier).then(() => order.push(tier))
    for (const tier of ['bulk', 'instant', 'high', 'normal'] as const) {
      lane.leave(tier)
      await Promise.resolve()
    }
    assert.deepEqual(order, ['instant', 'high', 'normal', 'bulk'])
  })
  it('never lends more sessions than the site allows, and strands nobody', async () => {
    const steps = fc.array(fc.oneof(fc.constantFrom(...TIER_NAMES), fc.constant('leave' as const)), { maxLength: 200 })
    await fc.assert(fc.asyncProperty(steps, fc.integer({ min: 1, max: 12 }), async (sequence, connections) => {
      const lane = new Lane('s', { rule: 'any', connections, messagesPerConnection: 1 })
      const inside: Tier[] = []
      let entered = 0
      for (const step of sequence) {
        if (step === 'leave') {
          const one = inside.shift()
          if (one !== undefined) lane.leave(one)
        } else {
          entered++
          void lane.enter(step).then(() => inside.push(step))
        }
        await Promise.resolve()
        assert.ok(inside.length <= connections)
      }
      let served = 0
      for (let one = inside.shift(); one !== undefined; one = inside.shift(), await Promise.resolve()) {
        lane.leave(one)
        served++
        await Promise.resolve()
      }
      assert.ok(served <= entered)
      assert.equal(inside.length, 0)
      await lane.enter('bulk') // everyone has left: the lane is open again
    }))
  })
  it('claims in batches: nothing while half of what it wants is held', () => {
    const lane = new Lane('s', LIMITS)
    assert.equal(lane.room().others, 20)
    for (let i = 0; i < 11; i++) lane.push(mail('bulk'))
    lane.hasInstantNews = false
    assert.deepEqual(lane.room(), { instant: 0, others: 0 })
    lane.hasInstantNews = true
    assert.equal(lane.room().others, 0)
    assert.ok(lane.room().instant > 0, 'full of bulk, there is still room for instant')
  })
})
