import { assert } from 'chai'
import fc from 'fast-check'
import { createContext, type TestContext } from '#test/support/context.ts'
import {
  allowedConnections,
  halve,
  loadLearnedLimits,
  recover,
  startAfterSuspension,
  storeLearnedLimits,
  UNLEARNED,
  type LearnedLimit,
} from './learned-limits.ts'

const MINUTE = 60_000

describe('a learned limit', () => {
  const at = (nowMs: number) => ({ nowMs, scale: 1 })

  it('halves, and a burst of replies counts once', () => {
    const first = halve(UNLEARNED, 10, at(MINUTE))
    assert.strictEqual(allowedConnections(first, 10), 5)
    assert.strictEqual(halve(first, 10, at(MINUTE + 9000)), first)
    assert.strictEqual(allowedConnections(halve(first, 10, at(MINUTE + 10_000)), 10), 2)
  })
  it('rises after a minute by one connection for fifty deliveries, and is dropped at the full limit', () => {
    const low = halve(UNLEARNED, 4, at(MINUTE))
    assert.strictEqual(recover(low, 1000, 4, at(2 * MINUTE - 1)), low)
    assert.strictEqual(allowedConnections(recover(low, 49, 4, at(2 * MINUTE)), 4), 2)
    assert.strictEqual(allowedConnections(recover(low, 50, 4, at(2 * MINUTE)), 4), 3)
    assert.strictEqual(recover(low, 100, 4, at(2 * MINUTE)), UNLEARNED)
  })
  it('does not change where nothing was learned, or nothing was delivered', () => {
    const fromRedis: LearnedLimit = { ...UNLEARNED }
    assert.strictEqual(recover(fromRedis, 0, 4, at(2 * MINUTE)), fromRedis)
    assert.strictEqual(recover(fromRedis, 50, 4, at(2 * MINUTE)), fromRedis)
    const low = halve(UNLEARNED, 4, at(MINUTE))
    assert.strictEqual(recover(low, 0, 4, at(9 * MINUTE)), low)
  })
  it('is dropped when the shaping file no longer allows more', () => {
    const low = halve(UNLEARNED, 4, at(MINUTE))
    assert.strictEqual(recover(low, 0, 2, at(9 * MINUTE)), UNLEARNED)
  })
  it('starts with one connection after a suspension', () => {
    assert.strictEqual(allowedConnections(startAfterSuspension(MINUTE), 10), 1)
  })
  it('stays between one and the limit, and recovers fully without further replies', () => {
    const step = fc.record({
      passMs: fc.nat(200_000),
      what: fc.oneof(fc.constant('slow' as const), fc.constant('over' as const), fc.nat(500)),
    })
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 60 }),
        fc.integer({ min: 1, max: 100 }),
        fc.double({ min: 0.01, max: 1, noNaN: true }),
        (steps, limit, scale) => {
          let learned: LearnedLimit = UNLEARNED
          let nowMs = MINUTE
          for (const { passMs, what } of steps) {
            nowMs += passMs
            const before = allowedConnections(learned, limit)
            if (what === 'over') learned = startAfterSuspension(nowMs)
            else
              learned =
                what === 'slow'
                  ? halve(learned, limit, { nowMs, scale })
                  : recover(learned, what, limit, { nowMs, scale })
            const after = allowedConnections(learned, limit)
            assert.ok(after >= 1 && after <= limit && Number.isInteger(after))
            if (what === 'slow') assert.ok(after <= before)
            if (typeof what === 'number') assert.ok(after >= before)
          }
          for (let i = 0; i <= limit; i++) learned = recover(learned, 50, limit, { nowMs: nowMs + MINUTE, scale })
          assert.strictEqual(learned, UNLEARNED)
        },
      ),
    )
  })
})

describe('stored limits', () => {
  let ctx: TestContext
  before(async () => {
    ctx = await createContext()
  })
  after(() => ctx.close())

  const row = (pace: string, connections: number, reducedAtMs: number) => ({
    pace,
    source: 'default',
    connections,
    reducedAtMs,
    knownAtMs: reducedAtMs,
  })

  it('survive restarts; of two processes the later halving wins; a recovered limit is deleted', async () => {
    const now = Date.now()
    await storeLearnedLimits(ctx.db, [row('google', 2.5, now), row('yahoo', 1, now)])
    await Promise.all([
      storeLearnedLimits(ctx.db, [row('google', 1, now + 1000)]),
      storeLearnedLimits(ctx.db, [row('yahoo', 5, now - 1000)]),
    ])
    const read = async () =>
      (await loadLearnedLimits(ctx.db)).map(({ pace, connections }) => `${pace} ${connections}`).toSorted()
    assert.deepEqual(await read(), ['google 1', 'yahoo 1'])
    const recovered = (knownAtMs: number) => ({ pace: 'google', source: 'default', ...UNLEARNED, knownAtMs })
    await storeLearnedLimits(ctx.db, [recovered(now)])
    assert.deepEqual(await read(), ['google 1', 'yahoo 1'], 'known before the last halving')
    await storeLearnedLimits(ctx.db, [recovered(now + 2000)])
    assert.deepEqual(await read(), ['yahoo 1'])
  })
})
