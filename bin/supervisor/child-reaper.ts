/**
 * Stops a child process when this process dies, even by kill -9. A small shell waits on a pipe, whose other end the
 * kernel closes when this process ends; it then stops the child and removes a folder, if one is given. So a supervisor
 * or test run that is killed leaves nothing running.
 */
import { spawn } from 'node:child_process'
import { join } from 'node:path'

export interface ReaperHandle {
  /** Ends the reaper without action, after the child has stopped. */
  readonly release: () => void
}

const SCRIPT = join(import.meta.dirname, 'child-reaper.sh')

/** When this process dies, sends `signal` to `pid`, SIGKILL after 30 s, and then removes `removeDir`. */
export function attachReaper(pid: number, signal: 'INT' | 'TERM' | 'QUIT', removeDir = ''): ReaperHandle {
  const shell = spawn('/bin/sh', [SCRIPT, String(pid), signal, removeDir], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  shell.on('error', () => {})
  shell.stdin.on('error', () => {})
  shell.unref()
  if ('unref' in shell.stdin && typeof shell.stdin.unref === 'function') shell.stdin.unref()
  return {
    release: () => {
      shell.stdin.end('released\n')
    },
  }
}
