import { assert } from 'chai'
import { percentile, spread } from './stats.ts'

describe('spread', () => {
  for (const [values, expected] of [
    [[3], { median: 3, min: 3, max: 3 }],
    [[9, 1, 2], { median: 2, min: 1, max: 9 }],
    [[10, 9, 2, 1], { median: 5.5, min: 1, max: 10 }],
  ] as const) {
    it(`of ${values.join(' ')}`, () => assert.deepEqual(spread(values), expected))
  }

  it('throws for an empty list', () => assert.throws(() => spread([]), RangeError))
})

describe('percentile', () => {
  const hundred = Array.from({ length: 100 }, (_, index) => 100 - index)
  for (const [percent, expected] of [
    [50, 50],
    [99, 99],
    [100, 100],
    [0, 1],
  ] as const) {
    it(`p${percent} of 1 to 100`, () => assert.strictEqual(percentile(hundred, percent), expected))
  }

  it('is a measured value when there are few', () => assert.strictEqual(percentile([1, 1000], 99), 1000))
})
