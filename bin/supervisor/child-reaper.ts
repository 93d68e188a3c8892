/**
 * Stops child processes when this process dies, even by kill -9. A small shell reads their pids from a pipe, whose
 * other end the kernel closes when this process ends; it then stops them and removes their folders, if any are given.
 * So a supervisor or test run that is killed leaves nothing running. One shell serves all children of this process. If
 * it is killed, a new one starts with the next child.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { join } from 'node:path'
import type { Writable } from 'node:stream'

export interface ReaperHandle {
  /** Forgets the child, after it has stopped. */
  readonly release: () => void
}

type Shell = ChildProcessByStdio<Writable, null, null>

const SCRIPT = join(import.meta.dirname, 'child-reaper.sh')
let shell: Shell | null = null
/** The `watch` lines of the children, by pid. */
const watched = new Map<number, string>()

/**
 * When this process dies, sends `signal` to `pid`, SIGKILL after 30 s, and then removes `removeDir`, whose path must
 * not contain a line feed.
 */
export function attachReaper(pid: number, signal: 'INT' | 'TERM' | 'QUIT', removeDir = ''): ReaperHandle {
  if (removeDir.includes('\n')) throw new Error(`the path ${JSON.stringify(removeDir)} contains a line feed`)
  const line = `watch ${pid} ${signal} ${removeDir}\n`
  watched.set(pid, line)
  if (shell === null) shell = startShell()
  else shell.stdin.write(line)
  return {
    release: () => {
      if (watched.get(pid) !== line) return
      watched.delete(pid)
      shell?.stdin.write(`release ${pid}\n`)
    },
  }
}

function startShell(): Shell {
  const started = spawn('/bin/sh', [SCRIPT], { cwd: '/', detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  const forget = (): void => {
    if (shell === started) shell = null
  }
  started.on('error', forget)
  started.on('exit', forget)
  started.stdin.on('error', forget)
  started.unref()
  if ('unref' in started.stdin && typeof started.stdin.unref === 'function') started.stdin.unref()
  for (const line of watched.values()) started.stdin.write(line)
  return started
}
