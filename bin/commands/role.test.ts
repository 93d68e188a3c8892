import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { until } from '#test/support/until.ts'

/** A role that reports its stop, and ends immediately or never. */
const ROLE = `
import { runRole } from '#bin/commands/role.ts'
const timer = setInterval(() => {}, 1000)
const stop = async () => {
  process.stdout.write('stopping\\n')
  if (process.env.HANGS) await new Promise(() => {})
  clearInterval(timer)
}
const files = { dataDir: process.env.DATA_DIR, healthFile: process.env.HEALTH_FILE ?? null }
process.exitCode = await runRole('test', files, async () => {
  process.stdout.write('started\\n')
  return { stop }
})
`

describe('a role', () => {
  let dataDir: string
  beforeEach(() => {
    dataDir = mkdtempSync('/tmp/mailstead-role-')
  })
  afterEach(() => rmSync(dataDir, { recursive: true }))

  const pidFile = (): string => join(dataDir, 'run/test.pid')
  const start = async (
    env: object = {},
  ): Promise<{ child: ChildProcess; said: () => string; exit: Promise<unknown[]> }> => {
    const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', ROLE], {
      env: { ...process.env, DATA_DIR: dataDir, ...env },
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    })
    let said = ''
    child.stdout?.on('data', (chunk: Buffer) => {
      said += chunk.toString()
    })
    const exit = once(child, 'exit')
    assert.deepEqual((await once(child, 'message'))[0], { ready: true, announced: {} })
    return { child, said: () => said, exit }
  }

  const ends: readonly (readonly [string, (child: ChildProcess) => void])[] = [
    [
      'SIGTERM',
      (child) => {
        child.kill('SIGTERM')
      },
    ],
    [
      'SIGINT',
      (child) => {
        child.kill('SIGINT')
      },
    ],
    [
      'two signals at once (npm forwards the one of the terminal)',
      (child) => {
        child.kill('SIGINT')
        child.kill('SIGINT')
      },
    ],
    [
      'the end of its supervisor',
      (child) => {
        child.disconnect()
      },
    ],
  ]
  it('shows that it works by its health file, if it has no supervisor', async () => {
    const healthFile = join(dataDir, 'alive')
    const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', ROLE], {
      env: { ...process.env, DATA_DIR: dataDir, HEALTH_FILE: healthFile },
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    await until(() => existsSync(healthFile))
    child.kill('SIGTERM')
    assert.deepEqual(await once(child, 'exit'), [0, null])
    assert.strictEqual(existsSync(healthFile), false)
  })

  it('leaves the health file to its supervisor', async () => {
    const healthFile = join(dataDir, 'alive')
    const { child, exit } = await start({ HEALTH_FILE: healthFile })
    child.kill('SIGTERM')
    await exit
    assert.strictEqual(existsSync(healthFile), false)
  })

  for (const [what, end] of ends) {
    it(`stops in order at ${what}`, async () => {
      const { child, said, exit } = await start()
      assert.strictEqual(readFileSync(pidFile(), 'utf8'), `${child.pid}\n`)
      end(child)
      assert.deepEqual(await exit, [0, null])
      assert.strictEqual(said(), 'started\nstopping\n')
      assert.strictEqual(existsSync(pidFile()), false)
    })
  }

  it('starts although it cannot write its pid file', async () => {
    writeFileSync(join(dataDir, 'run'), 'a file where the folder should be')
    const { child, exit } = await start()
    child.kill('SIGTERM')
    assert.deepEqual(await exit, [0, null])
  })

  it('ignores SIGHUP, however often', async () => {
    const { child, said, exit } = await start()
    for (let i = 0; i < 5; i++) child.kill('SIGHUP')
    await new Promise((resolve) => {
      setTimeout(resolve, 300)
    })
    assert.deepEqual([child.exitCode, said()], [null, 'started\n'])
    child.kill('SIGTERM')
    assert.deepEqual(await exit, [0, null])
  })

  it('exits at a second signal when its stop hangs', async () => {
    const { child, said, exit } = await start({ HANGS: '1' })
    child.kill('SIGTERM')
    while (!said().includes('stopping')) await once(child.stdout ?? child, 'data')
    // A second signal right after the first one counts as the same request; one of these comes late enough.
    const again = setInterval(() => child.kill('SIGTERM'), 300)
    assert.deepEqual(await exit, [1, null])
    clearInterval(again)
  })
})
