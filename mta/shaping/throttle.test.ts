import { assert } from 'chai'
import fc from 'fast-check'
import { TIER_NAMES, type Tier } from '#src/queue/tiers.ts'
import { paceWith } from '#test/support/throttle.ts'
import type { Pace } from './throttle.ts'
import { SURE_MS } from './quota-share.ts'

const grant = (
  pace: Pace,
  share: { instant: number; others: number },
  more: { messages?: number; connections?: number } = {},
): void =>
  pace.grant(
    { ...share, processes: 1, learned: pace.learned, version: 1, messages: 0, connections: 0, waitMs: 0, ...more },
    0,
  )

async function enterMany(pace: Pace, tiers: readonly Tier[]): Promise<Tier[]> {
  const inside: Tier[] = []
  for (const tier of tiers)
    void pace.enter(tier).then((isIn) => {
      if (isIn) inside.push(tier)
    })
  await Promise.resolve()
  return inside
}

/** Everything that was let in has heard of it. */
async function settled(): Promise<void> {
  for (let i = 0; i < 3; i++) await Promise.resolve()
}

describe('a pace', () => {
  it('keeps connections for instant mail, however much else waits', async () => {
    const pace = paceWith({ share: { instant: 2, others: 8 } })
    const inside = await enterMany(
      pace,
      Array.from({ length: 12 }, () => 'bulk'),
    )
    assert.strictEqual(inside.length, 8)
    assert.strictEqual(await pace.enter('instant'), true)
  })
  it('gives what comes free to the highest tier that waits', async () => {
    const pace = paceWith({ share: { instant: 0, others: 1 } })
    const order: Tier[] = []
    await pace.enter('bulk')
    for (const tier of ['bulk', 'normal', 'instant', 'high'] as const)
      void pace.enter(tier).then(() => order.push(tier))
    for (const tier of ['bulk', 'instant', 'high', 'normal'] as const) {
      pace.leave(tier)
      await Promise.resolve()
    }
    assert.deepEqual(order, ['instant', 'high', 'normal', 'bulk'])
  })
  it('suspended, it tells those who wait and lets nobody in until it is over', async () => {
    const pace = paceWith({ share: { instant: 0, others: 1 } })
    await pace.enter('bulk')
    const waiting = pace.enter('bulk')
    pace.setSuspended(true)
    assert.strictEqual(await waiting, false)
    assert.strictEqual(await pace.enter('instant'), false)
    pace.leave('bulk')
    pace.setSuspended(false)
    assert.strictEqual(await pace.enter('instant'), true)
  })
  it('messages wait for tokens of the rate, and say that they need some', async () => {
    const pace = paceWith({ share: { instant: 0, others: 5 }, messageRate: { count: 60, perMs: 60_000 } })
    let needs = 0
    pace.onNeed = () => {
      needs++
    }
    const entering = pace.enter('bulk')
    assert.ok(needs > 0)
    assert.ok(pace.ask('p').messages.bucket !== null)
    grant(pace, { instant: 0, others: 5 }, { messages: 1 })
    assert.strictEqual(await entering, true)
    assert.deepEqual(await enterMany(pace, ['instant']), [])
  })
  it('slowed down, its message rate is slower by as much', () => {
    const rate = { count: 1000, perMs: 60_000 }
    const share = { instant: 0, others: 5 }
    const [whole, half] = [
      paceWith({ share, messageRate: rate }),
      paceWith({ share, messageRate: rate, learned: { connections: 5, slowedAtMs: 1 } }),
    ]
    assert.strictEqual(half.ask('p').messages.bucket?.size, (whole.ask('p').messages.bucket?.size ?? 0) / 2)
  })
  it('new connections wait for tokens of their rate; one that was not tried keeps its token', () => {
    const pace = paceWith({ share: { instant: 0, others: 5 }, connectionRate: { count: 60, perMs: 60_000 } })
    assert.strictEqual(pace.tryConnect(), false)
    grant(pace, { instant: 0, others: 5 }, { connections: 1 })
    assert.strictEqual(pace.tryConnect(), true)
    assert.strictEqual(pace.tryConnect(), false)
    pace.keepToken()
    pace.closed()
    assert.strictEqual(pace.tryConnect(), true)
  })
  it('not heard from Redis in time: it goes on with what is surely its own, at least one', () => {
    const pace = paceWith({ share: { instant: 2, others: 8 } })
    pace.grant(
      {
        instant: 2,
        others: 8,
        processes: 4,
        learned: pace.learned,
        version: 1,
        messages: 0,
        connections: 0,
        waitMs: 0,
      },
      1000,
    )
    pace.goAlone(1000 + SURE_MS - 1)
    assert.strictEqual(pace.connections, 10)
    pace.goAlone(1000 + SURE_MS)
    assert.strictEqual(pace.connections, 2)
  })
  it('never more inside than its part, never more open, and nobody is stranded', async () => {
    const step = fc.oneof(
      fc.constantFrom(...TIER_NAMES),
      fc.constantFrom('leave', 'connect', 'close'),
      fc.record({ instant: fc.nat(3), others: fc.nat(6) }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 200 }), async (steps) => {
        const pace = paceWith({ share: { instant: 1, others: 3 } })
        const inside: Tier[] = []
        let open = 0
        for (const one of steps) {
          const [before, openBefore] = [inside.length, open]
          if (typeof one === 'object') grant(pace, one)
          else if (one === 'leave') {
            const left = inside.shift()
            if (left !== undefined) pace.leave(left)
          } else if (one === 'connect') open += pace.tryConnect() ? 1 : 0
          else if (one === 'close') {
            if (open > 0) {
              open--
              pace.closed()
            }
          } else
            void pace.enter(one).then((isIn) => {
              if (isIn) inside.push(one)
            })
          await settled()
          // a part that shrank takes nothing away from what is under way
          assert.ok(inside.length <= Math.max(before, pace.connections))
          assert.ok(open <= Math.max(openBefore, pace.connections) && pace.open === open)
        }
        grant(pace, { instant: 1, others: 1 })
        await settled()
        for (let left = inside.shift(); left !== undefined; left = inside.shift()) {
          pace.leave(left)
          await settled()
        }
        assert.strictEqual(await pace.enter('bulk'), true)
      }),
    )
  })
})
