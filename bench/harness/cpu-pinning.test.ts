import { assert } from 'chai'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { pinToCores } from './cpu-pinning.ts'

describe('binding processes to cores', () => {
  const coresOf = (pid: number): string | undefined =>
    /^Cpus_allowed_list:\s+(\S+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]
  const allowed = coresOf(process.pid) ?? ''
  const first = Number.parseInt(allowed, 10)

  it('binds a process and its children, and ignores one that has ended', async () => {
    const parent = spawn('sh', ['-c', 'sleep 60 & echo $!; wait'])
    const [line] = (await once(parent.stdout, 'data')) as [Buffer]
    const child = Number(line.toString())
    pinToCores([parent.pid ?? 0], [first])
    assert.deepEqual([parent.pid ?? 0, child].map(coresOf), [String(first), String(first)])
    process.kill(child)
    await once(parent, 'exit')
    pinToCores([parent.pid ?? 0], [first])
    assert.strictEqual(coresOf(process.pid), allowed)
  })
})
