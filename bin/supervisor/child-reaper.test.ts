import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { assert } from 'chai'
import { identifyProcess, isAlive } from './process-id.ts'

/**
 * A parent that starts two long sleeps with a reaper, prints their pids, and at the first input releases one and exits.
 */
const MASTER = `
import { spawn } from 'node:child_process'
import { attachReaper } from '#bin/supervisor/child-reaper.ts'
const children = process.argv.slice(1).map((dir) => {
  const child = spawn('/bin/sleep', ['600'], { detached: true, stdio: 'ignore' })
  child.unref()
  return { pid: child.pid, reaper: attachReaper(child.pid, 'TERM', dir) }
})
// the lines of the reaper are written before these
setImmediate(() => process.stdout.write(children.map(({ pid }) => pid + '\\n').join('')))
process.stdin.on('data', () => {
  children[0].reaper.release()
  setTimeout(() => process.exit(0), 100)
})

`

interface Master {
  readonly master: ReturnType<typeof spawn>
  /** Of the two children. */
  readonly identities: readonly [string, string]
}

async function startMaster(...dirs: [string, string]): Promise<Master> {
  const master = spawn(process.execPath, ['--input-type=module-typescript', '-e', MASTER, '--', ...dirs], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const pids: number[] = []
  for await (const line of createInterface(master.stdout)) if (pids.push(Number(line)) === 2) break
  const [first = '', second = ''] = pids.map((pid) => identifyProcess(pid) ?? '')
  return { master, identities: [first, second] }
}

function createFolder(): string {
  const dir = mkdtempSync('/tmp/mailstead reaper-')
  writeFileSync(join(dir, 'file'), '')
  return dir
}

describe('the reaper of child processes', () => {
  it('ends the processes and removes their folders when the parent is killed', async () => {
    const dirs: [string, string] = [createFolder(), createFolder()]
    const { master, identities } = await startMaster(...dirs)
    assert.ok(identities.every(isAlive))
    master.kill('SIGKILL')
    while (identities.some(isAlive) || dirs.some(existsSync)) await sleep(10)
  })

  it('leaves a released process alone, and ends the other one', async () => {
    const dirs: [string, string] = [createFolder(), createFolder()]
    const { master, identities } = await startMaster(...dirs)
    master.stdin?.write('first')
    await once(master, 'exit')
    while (isAlive(identities[1]) || existsSync(dirs[1])) await sleep(10)
    assert.ok(isAlive(identities[0]) && existsSync(dirs[0]))
    process.kill(Number(identities[0].split(' ')[0]), 'SIGKILL')
    rmSync(dirs[0], { recursive: true })
  })
})
