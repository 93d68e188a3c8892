import { assert } from 'chai'
import * as fc from 'fast-check'
import { newId } from '#src/platform/id.ts'
import { memberOf, workspaceOfMember, parseMember } from './keys.ts'

describe('members of the schedule', () => {
  it('decode to the values that were encoded', () => {
    fc.assert(
      fc.property(fc.nat(49), fc.domain(), (n, domain) => {
        const workspaceId = newId()
        const member = { messageId: newId(), n, workspaceId: workspaceId.slice(-12), domain }
        assert.deepEqual(parseMember(memberOf({ ...member, workspaceId })), member)
        assert.strictEqual(memberOf(member), memberOf({ ...member, workspaceId }), 'the last digits are enough')
        assert.strictEqual(workspaceOfMember(memberOf(member)), member.workspaceId)
      }),
    )
  })
  it('anything else is invalid', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        assert.strictEqual(parseMember(text), null)
      }),
    )
    for (const text of [
      '',
      ':::',
      `${'0'.repeat(32)}:x:d`,
      `${'0'.repeat(31)}:0:d`,
      `${'0'.repeat(32)}:0:`,
      `${'0'.repeat(32)}:0:a.example`,
      `${'0'.repeat(32)}:0:${'0'.repeat(12)}:`,
    ])
      assert.strictEqual(parseMember(text), null)
  })
})
