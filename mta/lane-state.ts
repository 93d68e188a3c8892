/** What the lanes of a process share: their parts, and the state that claiming, sharing and running work on. */
import type { Context } from '#src/context.ts'
import type { Claimed } from '#src/messages/claim.ts'
import type { Attempt } from '#src/messages/outcome.ts'
import type { Lease } from '#src/queue/lease.ts'
import type { Member } from '#src/queue/member.ts'
import type { Pace } from '#mta/limits/pace.ts'
import type { Holdings, Held } from './holdings.ts'
import type { Lane } from './lane.ts'
import type { Passages } from './passage.ts'
import type { Gate, Passage, Waiting } from './waiting.ts'

/** Until when what is given back waits, and for what. */
export interface Wait {
  readonly until: Date
  readonly reason: string | null
}

export interface LaneParts {
  readonly lease: Lease
  readonly passages: Passages
  /** Resolves when our part in a pace is known, or cannot be known now. */
  readonly ready: (pace: Pace) => Promise<void>
  readonly isSuspended: (domain: string) => boolean
  /** One attempt, to the end of its conversation; null when the gate did not let it begin. */
  readonly deliver: (claimed: Claimed, gate: Gate) => Promise<Attempt | null>
  /** Writes the result of an attempt down. */
  readonly settle: (claimed: Claimed, attempt: Attempt, passage: Passage) => Promise<void>
  /** Too many results wait to be written. */
  readonly isBehind: () => boolean
  /** Gives back what was claimed and not begun. */
  readonly release: (held: readonly Held[], wait?: Wait) => Promise<void>
}

export interface State {
  readonly ctx: Context
  readonly parts: LaneParts
  readonly lanes: Map<string, Lane>
  readonly load: (member: Member) => Promise<Claimed | undefined>
  readonly holdings: Holdings
  active: number
  settling: number
  isStopped: boolean
  /** Lanes that found all sessions of the process taken. */
  readonly starved: Set<Lane>
  /** Starts what may start on a lane, then sees whether to claim more. */
  readonly pump: (lane: Lane) => void
}

/** Where another process, or we at another time, may send it. */
export async function giveBack({ parts, holdings }: State, waiting: readonly Waiting[], wait?: Wait): Promise<void> {
  const claimed = waiting.map((one) => one.claimed)
  for (const { passage } of waiting) passage.done(null)
  await parts.release(claimed, wait)
  holdings.drop(claimed)
}

/** Held under a lease that was lost meanwhile, it is another's now. */
export function isOurs({ parts }: State, claimed: Claimed): boolean {
  return claimed.lease === parts.lease.id
}
