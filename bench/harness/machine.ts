/**
 * Describes the machine and the versions, for the head of the report and the
 * JSON file. Results of different machines cannot be compared; ratios within
 * one run can.
 */
import { execFileSync } from 'node:child_process'
import { availableParallelism, cpus, loadavg, release, totalmem } from 'node:os'
import { fileURLToPath } from 'node:url'

export interface MachineInfo {
  readonly cpu: string
  readonly cores: number
  readonly memoryGb: number
  readonly kernel: string
  readonly node: string
  /** The measured commit; '' when unknown. */
  readonly commit: string
  /** Load average of the minute before the start; well above 0 means that other processes use the machine. */
  readonly loadBefore: number
  readonly isDiskInMemory: boolean
}

export function describeMachine(isDiskInMemory: boolean): MachineInfo {
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
