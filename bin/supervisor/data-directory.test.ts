import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { closeStoreDirectory, openStoreDirectory } from './data-directory.ts'

const silent = (): void => {}

describe('the data directory', () => {
  let root: string
  beforeEach(() => {
    root = mkdtempSync('/tmp/mailstead-home-')
    chmodSync(root, 0o755)
  })
  afterEach(() => rmSync(root, { recursive: true }))

  it('is private to the account that runs the stores, also when it is opened again', () => {
    const first = openStoreDirectory(join(root, 'data'), silent)
    const again = openStoreDirectory(join(root, 'data'), silent)
    assert.deepEqual(again, first)
    assert.strictEqual(first.dir, join(root, 'data/stores'))
    for (const dir of [first.dir, first.sockets]) {
      const { mode, uid } = statSync(dir)
      assert.strictEqual(mode & 0o777, 0o700)
      assert.strictEqual(uid, first.account?.uid ?? process.getuid?.())
    }
  })

  it('places sockets in another folder when their path would be too long, and removes that folder', () => {
    const deep = join(root, 'x'.repeat(120))
    const { dir, sockets } = openStoreDirectory(deep, silent)
    assert.ok(Buffer.byteLength(sockets) < 40)
    assert.strictEqual(openStoreDirectory(deep, silent).sockets, sockets)
    closeStoreDirectory({ dir, sockets })
    assert.strictEqual(existsSync(sockets), false)
    assert.strictEqual(lstatSync(join(dir, 'sock'), { throwIfNoEntry: false }), undefined)
  })

  it('does not follow a socket folder that somebody else could have made', () => {
    const deep = join(root, 'x'.repeat(120))
    const { dir, sockets } = openStoreDirectory(deep, silent)
    chmodSync(sockets, 0o777)
    const again = openStoreDirectory(deep, silent)
    assert.notStrictEqual(again.sockets, sockets)
    closeStoreDirectory({ dir, sockets: again.sockets })
    rmSync(sockets, { recursive: true })
  })

  it('does not use a socket folder that another group may enter', function () {
    if (process.getuid?.() !== 0) this.skip()
    const [group, other] = [61_100, 61_199]
    const deep = join(root, 'x'.repeat(120))
    const { dir, sockets } = openStoreDirectory(deep, silent, group)
    assert.strictEqual(openStoreDirectory(deep, silent, group).sockets, sockets)
    chownSync(sockets, statSync(sockets).uid, other)
    chmodSync(sockets, 0o2710)
    const again = openStoreDirectory(deep, silent, group)
    assert.notStrictEqual(again.sockets, sockets)
    assert.strictEqual(statSync(again.sockets).gid, group)
    closeStoreDirectory({ dir, sockets: again.sockets })
    rmSync(sockets, { recursive: true })
  })

  it('is not replaced by an empty one after it was moved away', () => {
    mkdirSync(join(root, 'data'))
    symlinkSync(join(root, 'gone'), join(root, 'data/stores'))
    assert.throws(() => openStoreDirectory(join(root, 'data'), silent), /points to .*gone, which does not exist/)
  })

  it('is in /var/lib when root starts in a folder that others cannot enter', function () {
    if (process.getuid?.() !== 0) this.skip()
    chmodSync(root, 0o700)
    const said: string[] = []
    const { dir } = openStoreDirectory(join(root, 'data'), (line) => said.push(line))
    assert.match(dir, /^\/var\/lib\/mailstead\/[0-9a-f]{12}$/)
    assert.strictEqual(openStoreDirectory(join(root, 'data'), (line) => said.push(line)).dir, dir)
    assert.strictEqual(said.length, 1)
    // Making the folder accessible later must not hide the data.
    chmodSync(root, 0o755)
    assert.strictEqual(openStoreDirectory(join(root, 'data'), silent).dir, dir)
    rmSync(dir, { recursive: true })
  })
})
