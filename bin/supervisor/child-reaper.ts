/**
 * A small shell that outlives its master by design: it waits on a pipe whose
 * other end the kernel closes when the master dies, however it dies, and then
 * ends the process on the leash and removes the folder it was given, if any.
 * So a supervisor or a test run that is killed with -9 leaves nothing running.
 */
import { spawn } from 'node:child_process'
import { join } from 'node:path'

export interface Leash {
  /** The process was stopped in order: nothing is to be done any more. */
  readonly release: () => void
}

const SCRIPT = join(import.meta.dirname, 'child-reaper.sh')

/** Ties `pid` to the life of this process: `signal` when this process is gone, SIGKILL after 30 s, then `removeDir` is removed. */
export function leash(pid: number, signal: 'INT' | 'TERM' | 'QUIT', removeDir = ''): Leash {
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
