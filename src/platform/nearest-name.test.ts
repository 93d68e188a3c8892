import { assert } from 'chai'
import { nearestName } from './nearest-name.ts'

describe('the nearest name', () => {
  const ROWS: readonly (readonly [wanted: string, names: readonly string[], nearest: string | null])[] = [
    ['plan', ['city', 'Plan'], 'Plan'],
    ['first_name', ['Last Name', 'First Name'], 'First Name'],
    ['birthday', ['brithday'], 'brithday'],
    ['country', ['countries', 'county', 'city'], 'county'],
    ['colour', ['color'], 'color'],
    ['plan', ['name', 'span', 'plane'], 'plane'],
    ['plan', ['planet system'], null],
    ['vip', ['via', 'zip'], 'via'],
    ['ab', ['ac', 'AB'], 'AB'],
    ['ab', ['ac'], null],
    ['plan', ['plan'], null],
    ['plan', [], null],
    ['', ['a'], null],
    ['x'.repeat(100), ['x'.repeat(99)], null],
  ]
  for (const [wanted, names, nearest] of ROWS)
    it(`"${wanted.slice(0, 20)}" of ${JSON.stringify(names).slice(0, 50)} is ${nearest}`, () =>
      assert.strictEqual(nearestName(wanted, names), nearest))

  it('a long list costs little', () => {
    const names = Array.from({ length: 100_000 }, (_, i) => `attribute number ${i} ${'x'.repeat(40)}`)
    assert.strictEqual(nearestName('y'.repeat(60), names), null)
  })
})
