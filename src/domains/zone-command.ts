/**
 * Runs DKIM_ZONE_COMMAND with changes of the zone on its standard input, one a line. It succeeded if it ends with 0
 * within 30 seconds; otherwise it and what it started is killed. It gets no secret of this process: only PATH, HOME and
 * the locale. Its error output is kept in part, to say why it failed.
 */
import { spawn } from 'node:child_process'
import { environment } from '#config/environment.ts'
import { quotedValue, type ZoneChange } from './dkim-zone.ts'
import { sanitizeText } from './record-finding.ts'

export type CommandResult = { readonly ok: true } | { readonly ok: false; readonly problem: string }

const TIMEOUT_MS = 30_000
const MAX_ERROR_BYTES = 2000
const PASSED = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR']

/** `set NAME TTL "VALUE"…` or `remove NAME`. Names are absolute, with a final dot. */
export function changeLine({ name, value }: Pick<ZoneChange, 'name' | 'value'>, ttlSeconds: number): string {
  return value === null ? `remove ${name}.` : `set ${name}. ${ttlSeconds} ${quotedValue(value)}`
}

export function runZoneCommand(
  command: string,
  changes: readonly ZoneChange[],
  ttlSeconds: number,
  timeoutMs = TIMEOUT_MS,
): Promise<CommandResult> {
  const env = Object.fromEntries(PASSED.map((name) => [name, environment[name]]))
  const input = changes.map((change) => `${changeLine(change, ttlSeconds)}\n`).join('')
  return new Promise((resolve) => {
    // a group of its own, so that everything the command started ends with it
    const child = spawn('/bin/sh', ['-c', command], { env, detached: true, stdio: ['pipe', 'ignore', 'pipe'] })
    let [errors, isLate] = ['', false]
    const timer = setTimeout(() => {
      isLate = true
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    }, timeoutMs)
    const end = (problem: string | null): void => {
      clearTimeout(timer)
      resolve(problem === null ? { ok: true } : { ok: false, problem: sanitizeText(problem) })
    }
    child.stderr.on('data', (part: Buffer) => (errors = (errors + part.toString()).slice(-MAX_ERROR_BYTES)))
    // a command that ends without reading its input
    child.stdin.on('error', () => undefined)
    child.stdin.end(input)
    child.on('error', (error) => end(`the command did not start: ${error.message}`))
    child.on('close', (code) => {
      if (isLate) return end(`the command did not end within ${timeoutMs / 1000} s`)
      const last = errors.trim().split('\n').at(-1) ?? ''
      return end(code === 0 ? null : `the command ended with ${code ?? 'a signal'}${last === '' ? '' : `: ${last}`}`)
    })
  })
}
