import { assert } from 'chai'
import { readDelay } from './delay-units.ts'

describe('dashboard: units of a wait', () => {
  const CASES: readonly [number | undefined, string][] = [
    [60, '1 minutes'],
    [90, '90 seconds'],
    [5400, '90 minutes'],
    [172_800, '2 days'],
    [1_209_600, '2 weeks'],
    [0, '0 days'],
    [undefined, '0 days'],
  ]
  for (const [seconds, expected] of CASES)
    it(`${seconds} seconds are ${expected}`, () => {
      const { amount, unit } = readDelay(seconds)
      assert.strictEqual(`${amount} ${unit}`, expected)
    })
})
