import { assert } from 'chai'
import { lagSeconds } from './process-metrics.ts'

describe('lagSeconds', () => {
  const MS = 1e6
  for (const { title, sample, lag } of [
    { title: 'no sample yet', sample: 0, lag: 0 },
    { title: 'an idle event loop', sample: 50 * MS, lag: 0 },
    { title: 'a loop that was blocked for 200 ms', sample: 250 * MS, lag: 0.2 },
  ])
    it(`is ${lag} s for ${title}`, () => {
      assert.closeTo(lagSeconds(sample), lag, 1e-9)
    })
})
