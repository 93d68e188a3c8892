import { assert } from 'chai'
import { publicNameOf } from './outcome.ts'

describe('the public name of an outcome', () => {
  it('is the name that stored attempts and metrics had before', () => {
    assert.strictEqual(publicNameOf({ kind: 'relayed' }), 'handed-over')
    assert.strictEqual(publicNameOf({ kind: 'postponed' }), 'held')
  })
  it('is otherwise its name in the code', () => assert.strictEqual(publicNameOf({ kind: 'bounced' }), 'bounced'))
})
