import { assert } from 'chai'
import { describeFilter, sumCounts, toQueueFilter } from './queue-filter.ts'

describe('the filter of the queue', () => {
  it('takes only its own, set parts of an address', () => {
    const search = { view: 'waiting', domain: ' gmail.com ', state: 'deferred', tier: '', explain: 'em_1' }
    assert.deepEqual(toQueueFilter(search), { domain: 'gmail.com', state: 'deferred' })
  })

  it('is described in words', () => {
    assert.strictEqual(describeFilter({ domain: 'gmail.com', older_than: '2h' }), 'domain gmail.com, older than 2h')
    assert.strictEqual(describeFilter({}), '')
  })

  it('counts what it matches', () => {
    assert.strictEqual(sumCounts([{ count: 2 }, { count: 40 }]), 42)
    assert.strictEqual(sumCounts([]), 0)
  })
})
