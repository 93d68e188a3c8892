import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { assert } from 'chai'
import { machineCpuMs, parseStat, pidsOf, readUsage } from './cpu.ts'

describe('parseStat', () => {
  const rest = '4 4 0 -1 4194304 100 200 0 0 250 50 7 3 20 0 1 0 99'

  for (const name of ['node', 'postgres: walw', 'a) b (c', ')']) {
    it(`reads the times of a process called "${name}"`, () => {
      assert.deepEqual(parseStat(`123 (${name}) S 45 ${rest}`), { pid: 123, parent: 45, own: 300, reaped: 10 })
    })
  }

  for (const text of ['', '123 (node', '123 (node) S 45']) {
    it(`returns null for "${text}"`, () => assert.strictEqual(parseStat(text), null))
  }
})

describe('the CPU of the machine', () => {
  it('includes the CPU time of this process', () => {
    const before = machineCpuMs()
    const own = process.cpuUsage().user
    while (process.cpuUsage().user - own < 100_000) Math.sqrt(own)
    assert.ok(machineCpuMs() - before >= 80)
  })
})

describe('process trees', () => {
  it('include a process, its children and children that ended', async () => {
    // The first inner shell uses CPU and ends; the second stays, as a child, until its input ends.
    const script = 'sh -c "i=0; while [ \\$i -lt 300000 ]; do i=\\$((i+1)); done"; sh -c "echo up; read x; :"; :'
    const shell = spawn('/bin/sh', ['-c', script], { stdio: ['pipe', 'pipe', 'ignore'] })
    await once(shell.stdout, 'data')
    const { pid = 0 } = shell
    assert.strictEqual(pidsOf(pid).length, 2)
    assert.strictEqual(pidsOf(pid)[0], pid)
    const usage = readUsage({ shell: pid })['shell']
    assert.ok(usage && usage.cpuMs >= 10 && usage.peakKb > 100)
    shell.stdin.end()
    await once(shell, 'exit')
    assert.deepEqual(pidsOf(pid), [])
    assert.deepEqual(readUsage({ shell: pid }), { shell: { cpuMs: 0, peakKb: 0 } })
  })
})
