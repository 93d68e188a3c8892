import { existsSync, mkdtempSync, readFileSync, rmSync, utimesSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { until } from '#test/support/until.ts'
import { startHeartbeat } from './heartbeat.ts'

const SILENT = { watchdogMs: null, ready: () => undefined, alive: () => undefined, stopping: () => undefined }

describe('the heartbeat', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync('/tmp/mailstead-heartbeat-')
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  it('touches the file again and again, and removes it', async () => {
    const file = join(folder, 'alive')
    const heartbeat = startHeartbeat(file, SILENT, 1)
    assert.strictEqual(readFileSync(file, 'utf8'), `${process.pid}\n`)
    utimesSync(file, 0, 0)
    await until(() => statSync(file).mtimeMs > 0)
    heartbeat.stop()
    assert.strictEqual(existsSync(file), false)
  })

  it('reports to the watchdog', async () => {
    let reports = 0
    const heartbeat = startHeartbeat(null, { ...SILENT, watchdogMs: 1, alive: () => (reports += 1) })
    await until(() => reports > 1)
    heartbeat.stop()
  })

  it('goes on without a file that cannot be written', () => {
    startHeartbeat(join(folder, 'missing/alive'), SILENT).stop()
  })
})
