import assert from 'node:assert/strict'
import * as fc from 'fast-check'
import { newId } from '#src/id.ts'
import { memberOf, parseMember } from './member.ts'

describe('members of the schedule', () => {
  it('read back', () => {
    fc.assert(fc.property(fc.nat(49), fc.domain(), (n, domain) => {
      const member = { messageId: newId(), n, domain }
      assert.deepEqual(parseMember(memberOf(member)), member)
    }))
  })
  it('anything else is no member', () => {
    fc.assert(fc.property(fc.string(), (text) => {
      assert.equal(parseMember(text), null)
    }))
    for (const text of ['', ':::', `${'0'.repeat(32)}:x:d`, `${'0'.repeat(31)}:0:d`, `${'0'.repeat(32)}:0:`]) assert.equal(parseMember(text), null)
  })
})
