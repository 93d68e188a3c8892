/**
 * Where the figures come from: a line about the machine and the versions, for
 * the head of the report and the JSON file. Figures of different machines are
 * not comparable; ratios of one run are.
 */
import { execFileSync } from 'node:child_process'
import { availableParallelism, cpus, loadavg, release, totalmem } from 'node:os'
import { fileURLToPath } from 'node:url'

export interface Machine {
  readonly cpu: string
  readonly cores: number
  readonly memoryGb: number
  readonly kernel: string
  readonly node: string
  /** The commit that is measured; '' when that is not known. */
  readonly commit: string
  /** Load average of the last minute before the start: much above 0, others use the machine. */
  readonly loadBefore: number
  readonly isDiskInMemory: boolean
}

export function describeMachine(isDiskInMemory: boolean): Machine {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGb: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: process.version,
    commit: commitOf(fileURLToPath(new URL('../..', import.meta.url))),
    loadBefore: loadavg()[0] ?? 0,
    isDiskInMemory,
  }
}

function commitOf(dir: string): string {
  try {
    const git = execFileSync('git', ['-C', dir, 'rev-parse', '--short', 'HEAD'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    return git.trim()
  } catch {
    return ''
  }
}
