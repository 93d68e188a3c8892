import {
  chmodSync,
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { giveFolder } from './privileges.ts'

const ROLE = { name: 'mailstead-outbound', uid: 61_102, gid: 61_102 }
const EARLIER_UID = 61_150

describe('a folder that is given to a role', () => {
  let root: string
  let folder: string
  before(function () {
    if (process.getuid?.() !== 0) this.skip()
  })
  beforeEach(() => {
    root = mkdtempSync('/tmp/mailstead-rights-')
    folder = join(root, 'journal')
  })
  afterEach(() => rmSync(root, { recursive: true }))
  const ownerOf = (path: string): number => lstatSync(path).uid

  it('is created, private to the role', () => {
    giveFolder(folder, ROLE)
    const { uid, gid, mode } = statSync(folder)
    assert.deepEqual([uid, gid, mode & 0o7777], [ROLE.uid, ROLE.gid, 0o700])
  })

  for (const owner of [0, EARLIER_UID, ROLE.uid])
    it(`of user ${owner} is handed over with all files of other users`, () => {
      mkdirSync(folder)
      chmodSync(folder, 0o755)
      for (const [name, uid] of [
        ['a', 0],
        ['b', EARLIER_UID],
        ['c', ROLE.uid],
      ] as const) {
        writeFileSync(join(folder, name), '')
        chownSync(join(folder, name), uid, uid)
      }
      chownSync(folder, owner, owner)
      giveFolder(folder, ROLE)
      const owners = ['a', 'b', 'c', '.'].map((name) => ownerOf(join(folder, name)))
      assert.deepEqual(owners, [ROLE.uid, ROLE.uid, ROLE.uid, ROLE.uid])
      assert.strictEqual(statSync(folder).mode & 0o7777, 0o700)
    })

  it('gives away neither the target of a link nor a file that has another name elsewhere', () => {
    mkdirSync(folder)
    const secrets = ['linked', 'target'].map((name) => join(root, name)) as [string, string]
    for (const file of secrets) writeFileSync(file, 'secret')
    linkSync(secrets[0], join(folder, 'hard'))
    symlinkSync(secrets[1], join(folder, 'soft'))
    giveFolder(folder, ROLE)
    assert.deepEqual(secrets.map(ownerOf), [0, 0])
  })
})
