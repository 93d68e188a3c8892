import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { assert } from 'chai'
import { identifyProcess, isAlive } from './process-id.ts'

/** A master that starts a long sleep on a leash, says its pid, and then does what it is told on stdin. */
const MASTER = `
import { spawn } from 'node:child_process'
import { leash } from '#bin/supervisor/child-reaper.ts'
const child = spawn('/bin/sleep', ['600'], { detached: true, stdio: 'ignore' })
child.unref()
const tie = leash(child.pid, 'TERM', process.argv[1])
process.stdin.on('data', () => { tie.release(); setTimeout(() => process.exit(0), 100) })
process.stdout.write(child.pid + '\\n')
`

async function startMaster(dir: string): Promise<{ master: ReturnType<typeof spawn>; identity: string }> {
  const master = spawn(process.execPath, ['--input-type=module-typescript', '-e', MASTER, dir], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const [chunk] = await once(master.stdout, 'data')
  return { master, identity: identifyProcess(Number(String(chunk))) ?? '' }
}

describe('a leash', () => {
  it('ends the process and removes its folder when the master is killed', async () => {
    const dir = mkdtempSync('/tmp/mailstead-leash-')
    writeFileSync(join(dir, 'file'), '')
    const { master, identity } = await startMaster(dir)
    assert.ok(isAlive(identity))
    master.kill('SIGKILL')
    while (isAlive(identity) || existsSync(dir)) await sleep(10)
  })

  it('that was released does nothing', async () => {
    const { master, identity } = await startMaster('')
    master.stdin?.write('release\n')
    await once(master, 'exit')
    // Its shell ends by itself; a sleep that it had wrongly ended would be gone before the next line.
    await sleep(200)
    assert.ok(isAlive(identity))
    process.kill(Number(identity.split(' ')[0]), 'SIGKILL')
  })
})
