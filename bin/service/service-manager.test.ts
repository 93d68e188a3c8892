import { assert } from 'chai'
import { connectServiceManager } from './service-manager.ts'

const SOCKET = '/run/systemd/notify'

describe('the reports to systemd', () => {
  const rows: readonly [what: string, env: Record<string, string>, watchdogMs: number | null, reports: string[]][] = [
    ['no systemd', {}, null, []],
    ['no systemd, but its variables', { WATCHDOG_USEC: '60000000' }, null, []],
    ['no watchdog', { NOTIFY_SOCKET: SOCKET }, null, ['READY=1', 'WATCHDOG=1', 'STOPPING=1']],
    [
      'a watchdog: twice as often as it expects',
      { NOTIFY_SOCKET: SOCKET, WATCHDOG_USEC: '60000000', WATCHDOG_PID: String(process.pid) },
      30_000,
      ['READY=1', 'WATCHDOG=1', 'STOPPING=1'],
    ],
    [
      'the watchdog of another process',
      { NOTIFY_SOCKET: SOCKET, WATCHDOG_USEC: '60000000', WATCHDOG_PID: '1' },
      null,
      ['READY=1', 'WATCHDOG=1', 'STOPPING=1'],
    ],
  ]
  for (const [what, env, watchdogMs, expected] of rows) {
    it(`with ${what}`, () => {
      const reports: string[] = []
      const left = { ...env, OTHER: 'stays' }
      const manager = connectServiceManager(left, (report) => reports.push(report))
      assert.strictEqual(manager.watchdogMs, watchdogMs)
      assert.deepEqual(left, { OTHER: 'stays' }, 'a child process could report in place of this one')
      manager.ready()
      manager.alive()
      manager.stopping()
      assert.deepEqual(reports, expected)
    })
  }
})
