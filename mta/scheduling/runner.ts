/**
 * Runs one delivery: through the gate of its source queue, to the end of its conversation. The source queue is free
 * for the next delivery as soon as the conversation is over; the caller writes the result meanwhile.
 */
import type { ClaimedDelivery, SessionGate } from '#mta/delivery/session-grant.ts'
import type { ClaimedRecipient } from '#src/messages/claim.ts'
import type { Attempt } from '#src/messages/outcome.ts'
import type { SourceQueue } from './source-queue.ts'

/** A delivery that fails after more than this shows that the site hangs. */
const STUCK_MS = 20_000
/** After more than this since the claim, the data that the claim loaded is loaded again. */
const LATE_MS = 3000

export interface RunnerDeps {
  /** Makes one attempt, to the end of its conversation; null when the gate did not admit it. */
  readonly deliver: (claimed: ClaimedRecipient, gate: SessionGate) => Promise<Attempt | null>
  /** True while this process holds the lease of the claim. */
  readonly isLeased: (claimed: ClaimedRecipient) => boolean
  readonly isStopped: () => boolean
  /** Epoch ms. */
  readonly now: () => number
}

/**
 * Resolves with the attempt; null: no attempt was made. Rejects only for an internal error; the queue's counts are
 * always right.
 */
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
    const isStuck = performance.now() - beganAt > STUCK_MS && attempt?.outcome.kind !== 'delivered'
    queue.finished(tier, deps.now(), isStuck)
  }
}

/**
 * Waiting at the gate takes time, and so does a receiver: a recipient that lost its lease meanwhile must not begin or
 * go on.
 */
function gateFor(deps: RunnerDeps, queue: SourceQueue, delivery: ClaimedDelivery): SessionGate {
  const { claimed, selected, heldSinceMs } = delivery
  const mayProceed = (): boolean => deps.isLeased(claimed)
  let hasEntered = false
  return {
    selected,
    mayProceed,
    enter: async (tier) => {
      queue.atGate.add(delivery)
      hasEntered = await selected.throttle.enter(tier)
      queue.atGate.delete(delivery)
      if (hasEntered) queue.enteredSession(tier)
      return hasEntered && !deps.isStopped() && mayProceed() && selected.isUsable()
    },
    isLate: () => performance.now() - heldSinceMs > LATE_MS,
    leave: (tier) => {
      if (!hasEntered) return
      queue.leftSession(tier)
      selected.throttle.leave(tier)
    },
  }
}
