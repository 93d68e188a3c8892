import { assert } from 'chai'
import { createRecentCounts } from './recent-counts.ts'

describe('tally', () => {
  it('answers how often a key was counted before', () => {
    const tally = createRecentCounts()
    assert.deepEqual(
      ['a', 'a', 'b', 'a'].map((key) => tally.increment(key)),
      [0, 1, 0, 2],
    )
  })

  it('forgets the least recently counted', () => {
    const tally = createRecentCounts(2)
    assert.deepEqual(
      ['a', 'b', 'a', 'c', 'a', 'b'].map((key) => tally.increment(key)),
      [0, 0, 1, 0, 2, 0],
    )
  })
})
