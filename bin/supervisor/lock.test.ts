import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { lockHolder, acquireLock } from './lock.ts'
import { identifyProcess, isAlive } from './process-id.ts'

describe('the lock of a data folder', () => {
  let dir: string
  let file: string
  beforeEach(() => {
    dir = mkdtempSync('/tmp/mailstead-lock-')
    file = join(dir, 'lock')
  })
  afterEach(() => rmSync(dir, { recursive: true }))

  it('is refused while its holder lives, with the pid of the holder', () => {
    const lock = acquireLock(file)
    assert.strictEqual(typeof lock, 'object')
    assert.strictEqual(acquireLock(file), process.pid)
    if (typeof lock === 'object') lock.release()
    assert.strictEqual(lockHolder(file), null)
  })

  it('of a process that was killed is taken over', async () => {
    const child = spawn('/bin/sleep', ['60'])
    await once(child, 'spawn')
    writeFileSync(file, identifyProcess(child.pid ?? 0) ?? '')
    assert.strictEqual(acquireLock(file), child.pid)
    child.kill('SIGKILL')
    await once(child, 'exit')
    assert.strictEqual(typeof acquireLock(file), 'object')
    assert.strictEqual(readFileSync(file, 'utf8'), identifyProcess(process.pid))
    assert.deepEqual(readdirSync(dir), ['lock'])
  })

  const leftovers: readonly (readonly [string, string])[] = [
    ["whose pid is somebody else's by now", `${process.pid} 1`],
    ['with a pid that was never there', '4194400 17'],
    ['that is empty (the disk was full)', ''],
    ['that holds nonsense', 'x\0y'],
  ]
  for (const [what, content] of leftovers) {
    it(`${what} does not block`, () => {
      writeFileSync(file, content)
      assert.strictEqual(typeof acquireLock(file), 'object')
    })
  }
})

describe('the identity of a process', () => {
  it('stays the same while it lives, whatever its name', async () => {
    const child = spawn('/bin/sleep', ['60'], { argv0: 'a) Z 1 (b' })
    await once(child, 'spawn')
    const identity = identifyProcess(child.pid ?? 0) ?? ''
    assert.ok(isAlive(identity))
    child.kill('SIGKILL')
    await once(child, 'exit')
    assert.ok(!isAlive(identity))
  })
})
