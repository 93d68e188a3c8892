/** The outbound processes of Mailstead: `mta`, and `mta-2` and so on where there are several. */
import type { ProcessGroups } from './cpu.ts'

export function isOutbound(name: string): boolean {
  return name === 'mta' || name.startsWith('mta-')
}

export function outboundOf(groups: ProcessGroups): number[] {
  return Object.entries(groups).flatMap(([name, pid]) => (isOutbound(name) ? [pid] : []))
}

/** SIGSTOP holds the outbound processes, so that they stay warm while a queue is filled; SIGCONT releases them. */
export function signalOutbound(groups: ProcessGroups, signal: 'SIGSTOP' | 'SIGCONT'): void {
  for (const pid of outboundOf(groups)) process.kill(pid, signal)
}
