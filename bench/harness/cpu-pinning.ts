/** Restricts processes to some of the machine's cores, with `taskset` (util-linux): all threads, and later children. */
import { execFileSync } from 'node:child_process'
import { UserError } from '#bin/supervisor/user-error.ts'
import { pidsOf } from './cpu.ts'
import { findProgram } from './programs.ts'

const TRIES = 10

/** Restricts the process trees to these cores, numbered from 0. @throws UserError where `taskset` is missing. */
export function pinToCores(roots: readonly number[], cores: readonly number[]): void {
  const program = findProgram('taskset')
  if (program === null) throw UserError.of('processes cannot be bound to cores: install taskset (util-linux)')
  for (const pid of roots.flatMap(pidsOf)) pin(program, pid, cores)
}

/** `taskset` fails if a thread ends while it lists them, and so does it for a process that has ended. */
function pin(program: string, pid: number, cores: readonly number[], tries = TRIES): void {
  try {
    execFileSync(program, ['-a', '-c', '-p', cores.join(','), String(pid)], { stdio: 'ignore' })
  } catch (error) {
    if (pidsOf(pid).length === 0) return
    if (tries === 1) throw error
    pin(program, pid, cores, tries - 1)
  }
}
