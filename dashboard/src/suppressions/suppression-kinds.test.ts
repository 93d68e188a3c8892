import { assert } from 'chai'
import { readAddresses, startOf } from './suppression-kinds.ts'

describe('suppression list', () => {
  it('reads addresses with any separator, each once', () => {
    assert.deepEqual(readAddresses(' a@x.org, b@x.org;\nc@x.org\r\na@x.org '), ['a@x.org', 'b@x.org', 'c@x.org'])
    assert.deepEqual(readAddresses(' \n'), [])
  })

  it('begins a period at midnight', () => {
    const now = Date.parse('2026-11-26T14:00:00Z')
    assert.strictEqual(startOf('week', now), '2026-11-19T00:00:00.000Z')
    assert.isUndefined(startOf('ever', now))
    assert.isUndefined(startOf(undefined, now))
  })
})
