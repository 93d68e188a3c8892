import { assert } from 'chai'
import fc from 'fast-check'
import { TIER_NAMES, type Tier } from '#src/queue/tiers.ts'
import { throttleWith } from '#test/support/throttle.ts'
import type { Throttle } from './throttle.ts'
import { SHARE_VALID_MS } from './quota-share.ts'

const grant = (
  throttle: Throttle,
  share: { instant: number; others: number },
  more: { messages?: number; connections?: number } = {},
): void =>
  throttle.applyGrant(
    { ...share, processes: 1, learned: throttle.learned, version: 1, messages: 0, connections: 0, waitMs: 0, ...more },
    0,
  )

async function enterMany(throttle: Throttle, tiers: readonly Tier[]): Promise<Tier[]> {
  const inside: Tier[] = []
  for (const tier of tiers)
    void throttle.enter(tier).then((isIn) => {
      if (isIn) inside.push(tier)
    })
  await Promise.resolve()
  return inside
}

/** Lets the admitted deliveries run. */
async function settled(): Promise<void> {
  for (let i = 0; i < 3; i++) await Promise.resolve()
}

describe('throttle', () => {
  it('reserves connections for instant mail, however much other mail waits', async () => {
    const throttle = throttleWith({ share: { instant: 2, others: 8 } })
    const inside = await enterMany(
      throttle,
      Array.from({ length: 12 }, () => 'bulk'),
    )
    assert.strictEqual(inside.length, 8)
    assert.strictEqual(await throttle.enter('instant'), true)
  })
  it('a free connection goes to the highest waiting tier', async () => {
    const throttle = throttleWith({ share: { instant: 0, others: 1 } })
    const order: Tier[] = []
    await throttle.enter('bulk')
    for (const tier of ['bulk', 'normal', 'instant', 'high'] as const)
      void throttle.enter(tier).then(() => order.push(tier))
    for (const tier of ['bulk', 'instant', 'high', 'normal'] as const) {
      throttle.leave(tier)
      await Promise.resolve()
    }
    assert.deepEqual(order, ['instant', 'high', 'normal', 'bulk'])
  })
  it('a suspension refuses waiting deliveries and admits none until it ends', async () => {
    const throttle = throttleWith({ share: { instant: 0, others: 1 } })
    await throttle.enter('bulk')
    const waiting = throttle.enter('bulk')
    throttle.setSuspended(true)
    assert.strictEqual(await waiting, false)
    assert.strictEqual(await throttle.enter('instant'), false)
    throttle.leave('bulk')
    throttle.setSuspended(false)
    assert.strictEqual(await throttle.enter('instant'), true)
  })
  it('messages wait for tokens of the rate limit, and request a share', async () => {
    const throttle = throttleWith({ share: { instant: 0, others: 5 }, messageRate: { count: 60, perMs: 60_000 } })
    let needs = 0
    throttle.onShareNeeded = () => {
      needs++
    }
    const entering = throttle.enter('bulk')
    assert.ok(needs > 0)
    assert.ok(throttle.shareRequest('p').messages.bucket !== null)
    grant(throttle, { instant: 0, others: 5 }, { messages: 1 })
    assert.strictEqual(await entering, true)
    assert.deepEqual(await enterMany(throttle, ['instant']), [])
  })
  it('a lowered connection limit lowers the message rate by the same factor', () => {
    const rate = { count: 1000, perMs: 60_000 }
    const share = { instant: 0, others: 5 }
    const [whole, half] = [
      throttleWith({ share, messageRate: rate }),
      throttleWith({ share, messageRate: rate, learned: { connections: 5, reducedAtMs: 1 } }),
    ]
    assert.strictEqual(
      half.shareRequest('p').messages.bucket?.size,
      (whole.shareRequest('p').messages.bucket?.size ?? 0) / 2,
    )
  })
  it('new connections wait for tokens of their rate limit; one that was never attempted returns its token', () => {
    const throttle = throttleWith({ share: { instant: 0, others: 5 }, connectionRate: { count: 60, perMs: 60_000 } })
    assert.strictEqual(throttle.allowance.reserve(), false)
    grant(throttle, { instant: 0, others: 5 }, { connections: 1 })
    assert.strictEqual(throttle.allowance.reserve(), true)
    assert.strictEqual(throttle.allowance.reserve(), false)
    throttle.allowance.refundToken()
    throttle.allowance.release()
    assert.strictEqual(throttle.allowance.reserve(), true)
  })
  it('a share that is not renewed in time falls back to the even part of the limit, at least one connection', () => {
    const throttle = throttleWith({ share: { instant: 2, others: 8 } })
    throttle.applyGrant(
      {
        instant: 2,
        others: 8,
        processes: 4,
        learned: throttle.learned,
        version: 1,
        messages: 0,
        connections: 0,
        waitMs: 0,
      },
      1000,
    )
    throttle.fallBackToOwnPart(1000 + SHARE_VALID_MS - 1)
    assert.strictEqual(throttle.connections, 10)
    throttle.fallBackToOwnPart(1000 + SHARE_VALID_MS)
    assert.strictEqual(throttle.connections, 2)
  })
  it('never admits or connects more than its share, and admits every waiting delivery in the end', async () => {
    const step = fc.oneof(
      fc.constantFrom(...TIER_NAMES),
      fc.constantFrom('leave', 'connect', 'close'),
      fc.record({ instant: fc.nat(3), others: fc.nat(6) }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 200 }), async (steps) => {
        const throttle = throttleWith({ share: { instant: 1, others: 3 } })
        const inside: Tier[] = []
        let open = 0
        for (const one of steps) {
          const [before, openBefore] = [inside.length, open]
          if (typeof one === 'object') grant(throttle, one)
          else if (one === 'leave') {
            const left = inside.shift()
            if (left !== undefined) throttle.leave(left)
          } else if (one === 'connect') open += throttle.allowance.reserve() ? 1 : 0
          else if (one === 'close') {
            if (open > 0) {
              open--
              throttle.allowance.release()
            }
          } else
            void throttle.enter(one).then((isIn) => {
              if (isIn) inside.push(one)
            })
          await settled()
          // a share that shrank does not end what is under way
          assert.ok(inside.length <= Math.max(before, throttle.connections))
          assert.ok(open <= Math.max(openBefore, throttle.connections) && throttle.allowance.open === open)
        }
        grant(throttle, { instant: 1, others: 1 })
        await settled()
        for (let left = inside.shift(); left !== undefined; left = inside.shift()) {
          throttle.leave(left)
          await settled()
        }
        assert.strictEqual(await throttle.enter('bulk'), true)
      }),
    )
  })
})
