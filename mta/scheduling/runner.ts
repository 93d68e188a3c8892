/**
 * Runs one delivery: through the gate of its source queue, to the end of its conversation. The source queue is free for the next as soon as
 * the conversation is over; the caller writes the result beside it.
 */
import type { ClaimedDelivery, SessionGate } from '#mta/delivery/session-grant.ts'
import type { Claimed } from '#src/messages/claim.ts'
import type { Attempt } from '#src/messages/outcome.ts'
import type { SourceQueue } from './source-queue.ts'

/** A delivery that fails after so long shows that the site hangs. */
const SLOW_MS = 20_000
/** After so long at the gate, what the claim loaded is loaded again. */
const LATE_MS = 3000

export interface RunnerDeps {
  /** One attempt, to the end of its conversation; null when the gate did not let it begin. */
  readonly deliver: (claimed: Claimed, gate: SessionGate) => Promise<Attempt | null>
  /** True while the lease that it was claimed under is held. */
  readonly isLeased: (claimed: Claimed) => boolean
  readonly isStopped: () => boolean
  /** Epoch ms. */
  readonly now: () => number
}

/** Resolves with the attempt; null: no attempt was made. Rejects only for a fault of ours; the queue's counts are right in each case. */
export async function runDelivery(
  deps: RunnerDeps,
  queue: SourceQueue,
  delivery: ClaimedDelivery,
): Promise<Attempt | null> {
  const { tier } = delivery.claimed
  const beganAt = performance.now()
  let attempt: Attempt | null = null
  queue.started(tier)
  try {
    attempt = await deps.deliver(delivery.claimed, gateFor(deps, queue, delivery))
    return attempt
  } finally {
    const isStuck = performance.now() - beganAt > SLOW_MS && attempt?.outcome.kind !== 'delivered'
    queue.finished(tier, deps.now(), isStuck)
  }
}

/** Waiting at the gate can take long, and so can a receiver: what was suspended or lost its lease meanwhile must not begin or go on. */
function gateFor(deps: RunnerDeps, queue: SourceQueue, delivery: ClaimedDelivery): SessionGate {
  const { claimed, selected, heldSinceMs } = delivery
  const mayProceed = (): boolean => deps.isLeased(claimed)
  let isInside = false
  return {
    selected,
    mayProceed,
    enter: async (tier) => {
      queue.atGate.add(delivery)
      isInside = await selected.throttle.enter(tier)
      queue.atGate.delete(delivery)
      if (isInside) queue.enteredSession(tier)
      return isInside && !deps.isStopped() && mayProceed() && selected.isUsable()
    },
    isLate: () => performance.now() - heldSinceMs > LATE_MS,
    leave: (tier) => {
      if (!isInside) return
      queue.leftSession(tier)
      selected.throttle.leave(tier)
    },
  }
}
