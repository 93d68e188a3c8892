/** What needs attention, by facts: each limit just below, near and beyond. */
import { assert } from 'chai'
import { findAttention, type AttentionFacts } from './attention.ts'

const QUIET: AttentionFacts = { objects: [], suspension: null, delivered: 0, hard: 0, complaints: 0, used: 0 }
const LIMITS = { bounceShare: 0.1, complaintShare: 0.01, minimum: 100, quota: 1000 }

describe('what needs attention', () => {
  const cases: readonly (readonly [string, Partial<AttentionFacts>, readonly string[]])[] = [
    ['nothing', {}, []],
    ['a rate of few results says nothing', { delivered: 40, hard: 59 }, []],
    ['a bounce rate below 80 % of the limit', { delivered: 930, hard: 70 }, []],
    ['a bounce rate near its limit', { delivered: 910, hard: 90 }, ['bounce-rate']],
    ['complaints near their limit', { delivered: 1000, complaints: 8 }, ['complaint-rate']],
    ['a quota that is nearly used', { used: 800 }, ['quota-near']],
    ['a quota that is used', { used: 1000 }, ['quota-used']],
    ['a suspension', { suspension: 'for its rates' }, ['workspace-suspended']],
    [
      'the errors first',
      {
        used: 800,
        objects: [
          { kind: 'domain-pending', id: '1', name: 'a.example', detail: '' },
          { kind: 'domain-degraded', id: '2', name: 'b.example', detail: '' },
        ],
      },
      ['domain-degraded', 'quota-near', 'domain-pending'],
    ],
    ['a kind that nobody describes is not shown', { objects: [{ kind: 'x-y', id: '1', name: '', detail: '' }] }, []],
  ]
  for (const [name, facts, kinds] of cases)
    it(name, () =>
      assert.deepEqual(
        findAttention({ ...QUIET, ...facts }, LIMITS).map(({ kind }) => kind),
        kinds,
      ),
    )
  it('has no quota to compare without a limit', () => {
    assert.deepEqual(findAttention({ ...QUIET, used: 1e9 }, { ...LIMITS, quota: null }), [])
  })
})
