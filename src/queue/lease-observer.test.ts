import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { assert } from 'chai'
import { isAlive } from './lease-observer.ts'

/** As for a process of another user. */
const forbidden = (): never => {
  throw Object.assign(new Error('not permitted'), { code: 'EPERM' })
}

describe('whether a process is alive', () => {
  /**
   * The shell prints the pid of a child, for which the program that replaces it does not wait. That program answers
   * before the child is killed: the shell itself would wait.
   */
  async function withZombie(check: (pid: number) => void): Promise<void> {
    const parent = spawn('/bin/sh', ['-c', 'tail -f /dev/null & echo $!; exec cat'])
    const nextOutput = async (): Promise<string> => String((await once(parent.stdout, 'data'))[0])
    try {
      const pid = Number(await nextOutput())
      parent.stdin.write('replaced\n')
      assert.strictEqual(await nextOutput(), 'replaced\n')
      process.kill(pid, 'SIGKILL')
      while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 5))
      assert.doesNotThrow(() => process.kill(pid, 0), 'its pid is still in use')
      check(pid)
    } finally {
      parent.kill('SIGKILL')
      await once(parent, 'close')
    }
  }

  it('a process of this user and one of another user are', () => {
    assert.isTrue(isAlive(process.pid))
    assert.isTrue(isAlive(process.pid, forbidden))
  })
  it('a killed process that nobody waited for is not, of any user', () =>
    withZombie((pid) => assert.deepEqual([isAlive(pid), isAlive(pid, forbidden)], [false, false])))
  it('a pid without a process is not', async () => {
    const child = spawn('true')
    await once(child, 'close')
    assert.isFalse(isAlive(child.pid ?? 0))
  })
})
