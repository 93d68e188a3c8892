import { assert } from 'chai'
import { parseHeaderFields } from './header-fields.ts'

describe('header fields', () => {
  it('are unfolded and stay in their order', () => {
    const header =
      'From: Shop <a@b.example>\r\nSubject: one\r\n two\r\n\tthree\r\nX-Empty:\r\nX: a: b\r\nbroken\r\n\r\n'
    assert.deepEqual(parseHeaderFields(header), [
      { name: 'From', value: 'Shop <a@b.example>' },
      { name: 'Subject', value: 'one two three' },
      { name: 'X-Empty', value: '' },
      { name: 'X', value: 'a: b' },
      { name: '', value: 'broken' },
    ])
    assert.deepEqual(parseHeaderFields(''), [])
  })
})
