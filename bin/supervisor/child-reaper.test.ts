import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { assert } from 'chai'
import { identifyProcess, isAlive } from './process-id.ts'

/** A parent that starts a long sleep with a reaper, prints its pid, and releases the reaper at the first input. */
const MASTER = `
import { spawn } from 'node:child_process'
import { attachReaper } from '#bin/supervisor/child-reaper.ts'
const child = spawn('/bin/sleep', ['600'], { detached: true, stdio: 'ignore' })
child.unref()
const reaper = attachReaper(child.pid, 'TERM', process.argv[1])
process.stdin.on('data', () => { reaper.release(); setTimeout(() => process.exit(0), 100) })
process.stdout.write(child.pid + '\\n')
`

async function startMaster(dir: string): Promise<{ master: ReturnType<typeof spawn>; identity: string }> {
  const master = spawn(process.execPath, ['--input-type=module-typescript', '-e', MASTER, dir], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const [chunk] = await once(master.stdout, 'data')
  return { master, identity: identifyProcess(Number(String(chunk))) ?? '' }
}

describe('the reaper of a child process', () => {
  it('ends the process and removes its folder when the parent is killed', async () => {
    const dir = mkdtempSync('/tmp/mailstead-reaper-')
    writeFileSync(join(dir, 'file'), '')
    const { master, identity } = await startMaster(dir)
    assert.ok(isAlive(identity))
    master.kill('SIGKILL')
    while (isAlive(identity) || existsSync(dir)) await sleep(10)
  })

  it('does nothing after it was released', async () => {
    const { master, identity } = await startMaster('')
    master.stdin?.write('release\n')
    await once(master, 'exit')
    // The shell of the reaper exits by itself; a sleep that it had wrongly ended would be gone before the next line.
    await sleep(200)
    assert.ok(isAlive(identity))
    process.kill(Number(identity.split(' ')[0]), 'SIGKILL')
  })
})
