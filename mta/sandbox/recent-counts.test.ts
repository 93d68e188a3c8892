import { assert } from 'chai'
import { createRecentCounts } from './recent-counts.ts'

describe('recent counts', () => {
  it('return the previous count of a key', () => {
    const tally = createRecentCounts()
    assert.deepEqual(
      ['a', 'a', 'b', 'a'].map((key) => tally.increment(key)),
      [0, 1, 0, 2],
    )
  })

  it('evict the least recently counted key', () => {
    const tally = createRecentCounts(2)
    assert.deepEqual(
      ['a', 'b', 'a', 'c', 'a', 'b'].map((key) => tally.increment(key)),
      [0, 0, 1, 0, 2, 0],
    )
  })
})
