/** A claimed recipient with the way that was chosen for it, while this process holds it, and the gate that it then goes through. */
import type { Pace } from '#mta/limits/pace.ts'
import type { Way } from '#mta/egress/way.ts'
import type { Claimed } from '#src/messages/claim.ts'
import type { Attempt } from '#src/messages/outcome.ts'
import type { Tier } from '#src/queue/tiers.ts'

/** By which source it goes, and at what pace. */
export interface Passage {
  /** Null: the system chooses the address. */
  readonly source: string | null
  readonly pace: Pace
  /** The best of each family of address, the source's own first; none: it is not to be sent, and what becomes of it is said on its way. */
  readonly ways: readonly Way[]
  /** The pace of another of the ways. */
  readonly paceBy: (source: string | null) => Pace
  /** Its source may still send there: neither taken out by the operator nor stopped by the receiver meanwhile. */
  readonly isOpen: () => boolean
  /** Must follow, with what became of it; null: nothing came of it. */
  readonly done: (attempt: Attempt | null) => void
}

export interface Waiting {
  readonly claimed: Claimed
  readonly passage: Passage
  /** Since when it is held here, by `performance.now()`. */
  readonly sinceMs: number
}

/** Hands out the sessions of a track to one delivery. */
export interface Gate {
  readonly passage: Passage
  /** Resolves when it is this tier's turn: false when it must not begin any more. `leave` must follow in any case. */
  enter(tier: Tier): Promise<boolean>
  /** It waited so long that what was known when it was claimed may not be so any more. */
  readonly isLate: () => boolean
  /** Asked again right before the receiver can have it. */
  readonly mayGo: () => boolean
  leave(tier: Tier): void
}
