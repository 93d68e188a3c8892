/**
 * A small shell that outlives its master by design: it waits on a pipe whose
 * other end the kernel closes when the master dies, however it dies, and then
 * ends the process on the leash and removes the folder it was given, if any.
 * So a supervisor or a test run that is killed with -9 leaves nothing running.
 */
import { spawn } from 'node:child_process'

export interface Leash {
  /** The process was stopped in order: nothing is to be done any more. */
  readonly release: () => void
}

// `read` succeeds on a line (released) and fails at the end of file (the master died).
// A zombie has no cwd any more: kill -0 would wait for whoever should reap it.
const SCRIPT = `
trap '' INT TERM HUP
read -r _ && exit 0
kill -s "$2" "$1" 2>/dev/null
n=0
while [ -d "/proc/$1/cwd/" ] && [ $n -lt 300 ]; do sleep 0.1; n=$((n + 1)); done
kill -s KILL "$1" 2>/dev/null
[ -z "$3" ] || rm -rf -- "$3"
`

/** Ties `pid` to the life of this process: `signal` when this process is gone, SIGKILL after 30 s, then `removeDir` is removed. */
export function leash(pid: number, signal: 'INT' | 'TERM' | 'QUIT', removeDir = ''): Leash {
  const shell = spawn('/bin/sh', ['-c', SCRIPT, 'mailstead-leash', String(pid), signal, removeDir], {
    cwd: '/', detached: true, stdio: ['pipe', 'ignore', 'ignore'],
  })
  shell.on('error', () => {})
  shell.stdin.on('error', () => {})
  shell.unref()
  if ('unref' in shell.stdin && typeof shell.stdin.unref === 'function') shell.stdin.unref()
  return { release: () => { shell.stdin.end('released\n') } }
}
