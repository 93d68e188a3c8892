import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Claimed } from '#src/messages/claim.ts'
import { TIER_NAMES, type Tier } from '#src/queue/tiers.ts'
import { paceWith } from '#test/support/pace.ts'
import { Track, type News } from './track.ts'
import type { Waiting } from './waiting.ts'

const mail = (tier: Tier): Waiting => ({ claimed: { tier } as Claimed }) as Waiting
interface Case {
  readonly track: Track
  readonly news: { -readonly [K in keyof News]: News[K] }
}
const trackWith = (share: { instant: number; others: number }, source: string | null = null): Case => {
  const news = { hasInstantNews: true, isDry: false }
  return { news, track: new Track(news, source, paceWith({ share })) }
}
const tiersOf = (waiting: readonly { readonly waiting: Waiting }[]): Tier[] =>
  waiting.map((one) => one.waiting.claimed.tier)

describe('a track', () => {
  it('begins strictly by tier', () => {
    const { track } = trackWith({ instant: 2, others: 8 })
    for (const tier of ['bulk', 'normal', 'instant', 'high', 'bulk'] as const) track.push(mail(tier))
    assert.deepEqual(
      Array.from({ length: 6 }, () => track.next()?.claimed.tier),
      ['instant', 'high', 'normal', 'bulk', 'bulk', undefined],
    )
  })
  it('begins no more than two for each session, instant mail counted apart', () => {
    const { track } = trackWith({ instant: 2, others: 8 })
    for (const tier of ['instant', 'bulk'] as const) for (let i = 0; i < 100; i++) track.push(mail(tier))
    const begun: Tier[] = []
    for (let one = track.next(); one !== undefined; one = track.next()) {
      track.started(one.claimed.tier)
      begun.push(one.claimed.tier)
    }
    assert.deepEqual(begun, [
      ...Array.from({ length: 20 }, () => 'instant'),
      ...Array.from({ length: 16 }, () => 'bulk'),
    ])
    track.finished('instant', 0)
    assert.equal(track.next()?.claimed.tier, 'instant')
  })
  it('wants batches: nothing while half of what it wants is held', () => {
    const { track, news } = trackWith({ instant: 2, others: 10 })
    assert.equal(track.room().others, 4, 'little of a site that did not show yet what it takes')
    for (let i = 0; i < 10; i++) track.finished('bulk', 0)
    assert.equal(track.room().others, 20)
    for (let i = 0; i < 11; i++) track.push(mail('bulk'))
    news.hasInstantNews = false
    assert.deepEqual(track.room(), { instant: 0, others: 0 })
    news.hasInstantNews = true
    assert.equal(track.room().others, 0)
    assert.ok(track.room().instant > 0, 'full of bulk, there is still room for instant')
  })
  it('wants nothing without a part in the pace, and only instant mail while it may send nothing else', () => {
    assert.deepEqual(trackWith({ instant: 0, others: 0 }).track.room(), { instant: 0, others: 0 })
    const { instant, others } = trackWith({ instant: 1, others: 0 }).track.room()
    assert.ok(instant > 0)
    assert.equal(others, 0)
  })
  it('holds no more than a slow receiver takes in moments', () => {
    const pace = paceWith({ share: { instant: 2, others: 8 }, messageRate: { count: 60, perMs: 60_000 } })
    assert.ok(new Track({ hasInstantNews: true, isDry: false }, null, pace).room().others <= 3)
  })
  it('is given more as it finishes, and less when it hangs', () => {
    const { track } = trackWith({ instant: 2, others: 8 })
    const first = track.window
    for (let i = 0; i < 10; i++) track.finished('bulk', 0)
    assert.equal(track.window, first + 10)
    for (let i = 0; i < 10; i++) track.finished('bulk', 0, true)
    assert.equal(track.window, first)
  })
  it('wants what waits and what else may be ready, and nothing when there is nothing', () => {
    const { track, news } = trackWith({ instant: 2, others: 8 })
    assert.ok(track.demand().others > 1000)
    news.isDry = true
    assert.deepEqual(track.demand(), { instant: 0, others: 0 })
    for (const tier of ['instant', 'bulk', 'high'] as const) track.push(mail(tier))
    assert.deepEqual(track.demand(), { instant: 1, others: 2 })
    const { tier } = (track.next() ?? mail('bulk')).claimed
    track.started(tier)
    assert.deepEqual(track.demand(), { instant: 1, others: 2 }, 'made ready, it still waits')
    track.entered(tier)
    assert.deepEqual(track.demand(), { instant: 0, others: 2 }, 'in a session it is the pace that counts it')
  })
})

describe('what is too much for a track', () => {
  it('whatever comes and goes, nothing is lost or twice there, and what is held has a bound', () => {
    const step = fc.oneof(fc.constantFrom(...TIER_NAMES), fc.constantFrom('next', 'surplus'))
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400 }), fc.nat(8), (steps, others) => {
        const { track } = trackWith({ instant: 1, others }, 'a')
        const out: Waiting[] = []
        let pushed = 0
        for (const one of steps) {
          if (one === 'next') out.push(...[track.next()].filter((waiting) => waiting !== undefined))
          else if (one === 'surplus') out.push(...track.takeSurplus(0).map(({ waiting }) => waiting))
          else {
            track.push(mail(one))
            pushed++
          }
        }
        out.push(...track.takeSurplus(0).map(({ waiting }) => waiting))
        assert.ok(track.held <= 150)
        out.push(...track.empty())
        assert.equal(out.length, pushed)
        assert.equal(new Set(out).size, pushed)
      }),
    )
  })
  it("comes out again: the lowest tier first, those that came last, and instant mail not for the others' sake", () => {
    const { track } = trackWith({ instant: 2, others: 8 }, 'a')
    for (const tier of ['high', 'bulk', 'instant', 'normal', 'bulk'] as const)
      for (let i = 0; i < 15; i++) track.push(mail(tier))
    assert.deepEqual(
      tiersOf(track.takeSurplus(0)),
      Array.from({ length: 10 }, () => 'bulk'),
    )
    assert.equal(track.held, 65)
    assert.deepEqual(track.takeSurplus(0), [], 'what is left is not too much')
  })
  it("has its turn one after the other, as fast as the receiver's rate, and within ten minutes", () => {
    const pace = paceWith({ share: { instant: 2, others: 8 }, messageRate: { count: 60, perMs: 60_000 } })
    const track = new Track({ hasInstantNews: true, isDry: false }, 'a', pace)
    const turns = (count: number): number[] => {
      for (let i = 0; i < count; i++) track.push(mail('bulk'))
      return track.takeSurplus(0).map(({ turnMs }) => turnMs)
    }
    assert.deepEqual(turns(54), [2000, 3000, 4000, 5000])
    assert.deepEqual(turns(2), [6000, 7000], 'behind those before')
    assert.equal(turns(1000).at(-1), 600_000)
  })
  it('is all of it where the receiver stopped the source; without a part in the pace it is held, and one is asked for', () => {
    const { track } = trackWith({ instant: 0, others: 0 }, 'a')
    let asked = 0
    track.pace.onNeed = () => {
      asked++
    }
    for (const tier of ['instant', 'bulk'] as const) track.push(mail(tier))
    assert.equal(asked, 2)
    assert.deepEqual(track.takeSurplus(0), [])
    assert.ok(track.demand().instant > 0)
    track.pace.setSuspended(true)
    assert.equal(track.takeSurplus(0).length, 2)
    assert.equal(track.held, 0)
  })
  it('is nothing where the system chooses: all of the site goes by it', () => {
    const { track } = trackWith({ instant: 0, others: 0 })
    for (let i = 0; i < 1000; i++) track.push(mail('bulk'))
    assert.deepEqual(track.takeSurplus(0), [])
  })
})
