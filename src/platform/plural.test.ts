import { assert } from 'chai'
import { countText } from './plural.ts'

describe('the text of a count', () => {
  it('counts in words', () => {
    assert.deepEqual(
      [
        countText(0, 'notice'),
        countText(1, 'notice'),
        countText(12_000, 'notice'),
        countText(2, 'address', 'addresses'),
      ],
      ['0 notices', '1 notice', '12,000 notices', '2 addresses'],
    )
    assert.strictEqual(countText(1, 'address', 'addresses'), '1 address')
  })
})
