import { assert } from 'chai'
import { classifyHits, type DeliveryFacts, type Hit, type EarlierHit } from './hit-classifier.ts'

const SENT = 1_000_000
const LONG_AGO: DeliveryFacts = { sentAtMs: 0, isOpen: false }
/** A hit `ms` milliseconds after SENT. */
const hit = (ms: number, url: string | null = null, machine: string | null = null): Hit => ({
  atMs: SENT + ms,
  url,
  machine,
  address: '192.0.2.1',
  userAgent: 'x',
})
const recorded = (ms: number, url: string | null, isMachine: boolean, isMachineByRequest = isMachine): EarlierHit => ({
  atMs: SENT + ms,
  url,
  isMachine,
  isMachineByRequest,
})
interface Case {
  readonly due: readonly Hit[]
  readonly later?: readonly Hit[]
  readonly past?: readonly EarlierHit[]
  readonly about?: DeliveryFacts
}
/** The hits to record, as [ms, url, rule, first]. */
const classify = ({ due, later = [], past = [], about = LONG_AGO }: Case): unknown[] =>
  classifyHits(due, later, past, about).map(({ atMs, url, machine, isFirst }) => [atMs - SENT, url, machine, isFirst])

describe('classification of opens and clicks', () => {
  it('an open and a click of a person', () => {
    assert.deepEqual(classify({ due: [hit(0), hit(3000, 'a')] }), [
      [0, null, null, true],
      [3000, 'a', null, true],
    ])
  })
  it('the class of the request is kept', () =>
    assert.deepEqual(classify({ due: [hit(0, null, 'head')] }), [[0, null, 'head', false]]))
  const times: readonly (readonly [string, number, DeliveryFacts, string | null])[] = [
    ['before it was sent', -1, { sentAtMs: SENT, isOpen: false }, 'before-delivery'],
    ['right behind it', 1999, { sentAtMs: SENT, isOpen: false }, 'too-soon'],
    ['two seconds after', 2000, { sentAtMs: SENT, isOpen: false }, null],
    ['while it is under way', 0, { sentAtMs: null, isOpen: true }, 'before-delivery'],
    ['when nothing is known of its sending any more', 0, { sentAtMs: null, isOpen: false }, null],
    ['after a first try, while a second is under way', 5000, { sentAtMs: SENT, isOpen: true }, null],
  ]
  for (const [what, ms, about, rule] of times)
    it(`${what}: ${rule ?? 'a person'}`, () =>
      assert.deepEqual(classify({ due: [hit(ms)], about }), [[ms, null, rule, rule === null]]))

  describe('all links followed together', () => {
    const rules = (one: Case): unknown[] =>
      classifyHits(one.due, one.later ?? [], one.past ?? [], LONG_AGO).map(({ machine }) => machine)
    it('three within five seconds are a machine, including the first', () =>
      assert.deepEqual(rules({ due: [hit(0, 'a'), hit(2000, 'b'), hit(4000, 'c')] }), Array(3).fill('all-links')))
    it('two within a second are a machine', () =>
      assert.deepEqual(rules({ due: [hit(0, 'a'), hit(900, 'b')] }), ['all-links', 'all-links']))
    it('two within three seconds are a quick person', () =>
      assert.deepEqual(rules({ due: [hit(0, 'a'), hit(3000, 'b')] }), [null, null]))
    it('three that span more than five seconds are a person, including the one in the middle', () => {
      assert.deepEqual(rules({ due: [hit(0, 'a'), hit(2600, 'b'), hit(5200, 'c')] }), [null, null, null])
      assert.deepEqual(rules({ due: [hit(0, 'a'), hit(4000, 'b'), hit(8000, 'c'), hit(8900, 'd')] }), [
        null,
        'all-links',
        'all-links',
        'all-links',
      ])
    })
    it('the same link twice counts once', () => assert.deepEqual(rules({ due: [hit(0, 'a'), hit(100, 'a')] }), [null]))
    it('later hits count', () => assert.deepEqual(rules({ due: [hit(0, 'a')], later: [hit(500, 'b')] }), ['all-links']))
    it('hits that were recorded before count', () =>
      assert.deepEqual(
        rules({ due: [hit(4000, 'c')], past: [recorded(0, 'a', true, false), recorded(2000, 'b', true, false)] }),
        ['all-links'],
      ))
    it('a hit that its request shows to be a machine does not count against a person', () => {
      assert.deepEqual(rules({ due: [hit(0, 'a', 'head'), hit(1, 'b', 'head'), hit(2, 'c', 'head'), hit(500, 'a')] }), [
        'head',
        'head',
        'head',
        null,
      ])
    })
    it('a person after a scanner is recorded', () => {
      assert.deepEqual(
        classify({ due: [hit(60_000, 'a')], past: [recorded(0, 'a', true, false), recorded(1, 'b', true, false)] }),
        [[60_000, 'a', null, true]],
      )
    })
  })
  it('a repetition within ten seconds is ignored; a later one is recorded, but not as the first', () => {
    assert.deepEqual(classify({ due: [hit(0), hit(9000), hit(10_000), hit(12_000)] }), [
      [0, null, null, true],
      [10_000, null, null, false],
    ])
    assert.deepEqual(classify({ due: [hit(5000, 'a')], past: [recorded(0, 'a', false)] }), [])
  })
  it('a person directly after a machine is recorded', () =>
    assert.deepEqual(classify({ due: [hit(0, null, 'head'), hit(100)] }), [
      [0, null, 'head', false],
      [100, null, null, true],
    ]))
  it('records at most a hundred hits of a person and, separately, twenty of machines', () => {
    const many = (count: number, machine: string | null): Hit[] =>
      Array.from({ length: count }, (_, i) => hit(i * 20_000, null, machine))
    assert.strictEqual(classify({ due: many(150, null) }).length, 100)
    assert.strictEqual(classify({ due: many(150, 'head') }).length, 20)
    const past = many(20, 'head').map(({ atMs }) => ({ atMs, url: null, isMachine: true, isMachineByRequest: true }))
    assert.deepEqual(classify({ due: [hit(9_000_000), hit(9_000_000, null, 'head')], past }), [
      [9_000_000, null, null, true],
    ])
  })
})
