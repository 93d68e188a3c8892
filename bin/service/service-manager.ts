/**
 * Reports the state of this process to systemd (sd_notify(3)): ready, alive, stopping. Node cannot open the Unix
 * datagram socket for it, so the program `systemd-notify` sends each report; units therefore need `NotifyAccess=all`.
 * It waits until systemd has read the report, so that systemd knows which unit it came from.
 *
 * Without NOTIFY_SOCKET nothing is reported. A report that fails is printed; systemd then acts as if this process hung:
 * it ends a start after TimeoutStartSec, and a process with a watchdog after WatchdogSec.
 */
import { spawn } from 'node:child_process'
import { environment } from '#config/environment.ts'

export interface ServiceManager {
  /** How often `alive` must be called; null: never. */
  readonly watchdogMs: number | null
  ready(): void
  alive(): void
  stopping(): void
}

/** Sends one report, such as `READY=1`. */
type SendReport = (report: string) => void

const VARIABLES = ['NOTIFY_SOCKET', 'WATCHDOG_USEC', 'WATCHDOG_PID'] as const

/** Call this once, early. Child processes do not inherit the right to report. */
export function connectServiceManager(
  env: NodeJS.ProcessEnv = environment,
  send: SendReport = sendWith(env['NOTIFY_SOCKET'] ?? ''),
): ServiceManager {
  const { NOTIFY_SOCKET: socket = '', WATCHDOG_USEC: usec = '', WATCHDOG_PID: pid = '' } = env
  for (const name of VARIABLES) delete env[name]
  const report = socket === '' ? (): void => undefined : send
  const isWatched = socket !== '' && Number(usec) > 0 && (pid === '' || Number(pid) === process.pid)
  return {
    // twice as often as systemd expects it (sd_watchdog_enabled(3))
    watchdogMs: isWatched ? Math.floor(Number(usec) / 2000) : null,
    ready: () => report('READY=1'),
    alive: () => report('WATCHDOG=1'),
    stopping: () => report('STOPPING=1'),
  }
}

function sendWith(socket: string): SendReport {
  return (report) => {
    const child = spawn('systemd-notify', [report], {
      env: { NOTIFY_SOCKET: socket, PATH: environment['PATH'] },
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    child.on('error', (error) => process.stderr.write(`mailstead: cannot report ${report}: ${error.message}\n`))
    child.unref()
  }
}
