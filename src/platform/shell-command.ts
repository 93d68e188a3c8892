/**
 * Runs a command of the operator by /bin/sh with a time limit. The result is that of the command itself: a program that
 * it leaves in the background and that inherits its output does not delay it. At the time limit the command and all
 * that it started is killed; the promise resolves then in any case, also if nothing is left to kill. It never rejects.
 */
import { spawn } from 'node:child_process'

export interface ShellCommand {
  readonly command: string
  /** $1, $2, ... of the command. They are never a part of the text that the shell reads. */
  readonly args?: readonly string[]
  /** Its standard input; none by default. */
  readonly input?: string
  readonly env: NodeJS.ProcessEnv
  readonly timeoutMs: number
}

export type ShellResult = { readonly ok: true } | { readonly ok: false; readonly why: string }

const MAX_ERROR_BYTES = 2000
const MAX_LINE = 300
/** Its last error output may arrive after its end. */
const OUTPUT_MS = 1000

/** `why` ends with the last line of its error output, and never contains the command: it may contain a password. */
export function runShellCommand({
  command,
  args = [],
  input = '',
  env,
  timeoutMs,
}: ShellCommand): Promise<ShellResult> {
  const { promise, resolve } = Promise.withResolvers<ShellResult>()
  // a group of its own, so that everything the command started can be killed with it
  const child = spawn('/bin/sh', ['-c', command, 'sh', ...args], {
    env,
    detached: true,
    stdio: ['pipe', 'ignore', 'pipe'],
  })
  let errors = ''
  const end = (why: string | null): void => {
    clearTimeout(timer)
    child.stdin.destroy()
    child.stderr.destroy()
    resolve(why === null ? { ok: true } : { ok: false, why })
  }
  const timer = setTimeout(() => {
    killGroup(child.pid)
    end(`did not end within ${timeoutMs / 1000} s`)
  }, timeoutMs)
  // a command that ends without reading its input
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  child.stderr.on('data', (part: Buffer) => (errors = (errors + part.toString()).slice(-MAX_ERROR_BYTES)))
  child.on('error', (error) => end(`did not start: ${error.message}`))
  child.on('exit', (code) => {
    clearTimeout(timer)
    const finish = (): void => {
      clearTimeout(wait)
      end(code === 0 ? null : `ended with ${code ?? 'a signal'}${lastLine(errors)}`)
    }
    const wait = setTimeout(finish, code === 0 ? 0 : OUTPUT_MS)
    child.once('close', finish)
  })
  return promise
}

function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // it ended at the same moment
  }
}

function lastLine(errors: string): string {
  const line = (errors.trim().split('\n').at(-1) ?? '').slice(0, MAX_LINE)
  return line === '' ? '' : `: ${line}`
}
