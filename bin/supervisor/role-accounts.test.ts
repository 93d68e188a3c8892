import { assert } from 'chai'
import { roleAccount, storesGroupId } from './role-accounts.ts'

const ROOT_LINE = 'root:x:0:0:root:/root:/bin/bash\n'

describe('the user of a role', () => {
  it('is a number of its own for each role, without an entry in passwd', () => {
    const ids = (['api', 'outbound', 'submission', 'inbound', 'sandbox', 'worker'] as const).map(
      (role) => roleAccount([role], ROOT_LINE, '').uid,
    )
    assert.strictEqual(new Set([...ids, storesGroupId('')]).size, 7)
    assert.ok(ids.every((id) => id > 60_705 && id < 61_184))
  })

  it('is the user of the system that has the name of the role', () => {
    const passwd = `${ROOT_LINE}mailstead-api:x:201:202::/:/bin/false\n`
    const account = roleAccount(['api'], passwd, 'mailstead:x:300:\n')
    assert.deepEqual(account, { name: 'mailstead-api', uid: 201, gid: 202, storesGroup: 300 })
  })

  it('is never root, and never the number of somebody else', () => {
    const { uid } = roleAccount(['api'], `mailstead-api:x:0:0::/:/bin/sh\n`, '')
    assert.notStrictEqual(uid, 0)
    const eve = `eve:x:${uid}:1::/:/bin/sh\n`
    assert.throws(() => roleAccount(['api'], eve, ''), /belongs to eve.*useradd.*mailstead-api/)
    assert.throws(() => roleAccount(['api'], '', `staff:x:${uid}:\n`), /belongs to staff/)
    assert.throws(() => storesGroupId(`staff:x:${storesGroupId('')}:\n`), /belongs to staff.*groupadd/)
  })
})
