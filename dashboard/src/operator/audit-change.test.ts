import { assert } from 'chai'
import { changeTexts } from './audit-change.ts'

describe('a change of the audit log', () => {
  it('has one line for each field, in the same order before and after', () => {
    const entry = { before: { name: 'Old', plan: 'LAUNCH' }, after: { plan: 'SCALE', name: 'Old' } }
    assert.deepEqual(changeTexts(entry), { before: 'name: Old\nplan: LAUNCH', after: 'name: Old\nplan: SCALE' })
  })

  it('leaves out what a side does not have', () => {
    assert.deepEqual(changeTexts({ before: null, after: { id: 1 } }), { before: '', after: 'id: 1' })
    assert.deepEqual(changeTexts({ before: { a: null }, after: { b: true } }), { before: 'a: null', after: 'b: true' })
  })

  it('shows lists and objects over several lines', () => {
    assert.strictEqual(changeTexts({ before: null, after: { tags: ['a'] } }).after, 'tags: [\n  "a"\n]')
  })
})
