import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { chooseAccount, canEnter } from './account.ts'

const isRoot = process.getuid?.() === 0
const ROOT_LINE = 'root:x:0:0:root:/root:/bin/bash\n'
const POSTGRES = 'postgres:x:101:104:,,,:/var/lib/postgresql:/bin/bash\n'
const NOBODY = 'nobody:x:65534:65533:nobody:/nonexistent:/usr/sbin/nologin\n'

describe('the user that runs PostgreSQL and Redis', () => {
  const cases: readonly (readonly [string, string, { name: string; uid: number; gid: number }])[] = [
    ['postgres where there is one', ROOT_LINE + NOBODY + POSTGRES, { name: 'postgres', uid: 101, gid: 104 }],
    ['else nobody', ROOT_LINE + NOBODY, { name: 'nobody', uid: 65534, gid: 65533 }],
    ['the usual number of nobody where the list is missing', '', { name: '65534', uid: 65534, gid: 65534 }],
    [
      'never one with the rights of root',
      `postgres:x:0:0::/:/bin/sh\n${NOBODY}`,
      { name: 'nobody', uid: 65534, gid: 65533 },
    ],
  ]
  for (const [what, passwd, account] of cases) {
    it(`started by root: ${what}; by another user: that user`, () => {
      assert.deepEqual(chooseAccount('/nonexistent', passwd), isRoot ? account : null)
    })
  }

  it('is checked for access to a folder', () => {
    const dir = mkdtempSync('/tmp/mailstead-account-')
    mkdirSync(join(dir, 'closed'), { mode: 0o700 })
    chmodSync(dir, 0o755)
    const account = chooseAccount('/nonexistent')
    assert.strictEqual(canEnter(dir, account), true)
    assert.strictEqual(canEnter(join(dir, 'closed'), account), !isRoot)
    assert.strictEqual(canEnter(join(dir, 'missing'), account), false)
    rmSync(dir, { recursive: true })
  })
})
