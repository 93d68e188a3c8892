/**
 * Runs deliveries: through the gate of their track, to the end of their conversation, and hands the result on to be written. A track is free
 * for the next as soon as the conversation is over; the result is written beside it.
 */
import type { Claimed } from '#src/messages/claim.ts'
import type { Attempt } from '#src/messages/outcome.ts'
import type { Lane } from './lane.ts'
import { giveBack, isOurs, type State } from './lane-state.ts'
import { feedStarved } from './sharing.ts'
import type { Track } from './track.ts'
import type { Gate, Waiting } from './waiting.ts'

/** A delivery that fails after so long says that the site hangs. */
const SLOW_MS = 20_000
/** What was known at the claim is looked at again. */
const LATE_MS = 3000

export async function begin(state: State, lane: Lane, track: Track, waiting: Waiting): Promise<void> {
  const { claimed, passage } = waiting
  track.started(claimed.tier)
  state.active++
  const beganAt = performance.now()
  const gate = gateFor(state, track, waiting)
  const attempt = await state.parts.deliver(claimed, gate).catch((error: unknown) => complain(state, claimed, error))
  state.active--
  lane.usedAtMs = state.ctx.clock.now()
  track.finished(
    claimed.tier,
    lane.usedAtMs,
    performance.now() - beganAt > SLOW_MS && attempt?.outcome.kind !== 'delivered',
  )
  if (attempt === undefined) passage.done(null)
  else void settle(state, waiting, attempt)
  feedStarved(state)
  state.pump(lane)
}

/** A wait at the gate can be long, and so can a receiver's: what was stopped, or lost its lease meanwhile, does not begin or go on. */
function gateFor(state: State, track: Track, waiting: Waiting): Gate {
  const { claimed, passage, sinceMs } = waiting
  const mayGo = (): boolean => state.parts.lease.isHeld() && isOurs(state, claimed)
  let isIn = false
  return {
    passage,
    mayGo,
    enter: async (tier) => {
      track.atGate.add(waiting)
      isIn = await passage.pace.enter(tier)
      track.atGate.delete(waiting)
      if (isIn) track.entered(tier)
      return isIn && !state.isStopped && mayGo() && passage.isOpen()
    },
    isLate: () => performance.now() - sinceMs > LATE_MS,
    leave: (tier) => {
      if (!isIn) return
      track.left(tier)
      passage.pace.leave(tier)
    },
  }
}

/** Null: nothing came of it, and it is given back. */
export async function settle(state: State, waiting: Waiting, attempt: Attempt | null): Promise<void> {
  const { claimed, passage } = waiting
  state.settling++
  const write = async (): Promise<void> => {
    if (attempt === null) return giveBack(state, [waiting])
    passage.done(attempt)
    await state.parts.settle(claimed, attempt, passage)
    state.holdings.drop([claimed])
  }
  await write().catch((error: unknown) => complain(state, claimed, error))
  state.settling--
  feedStarved(state)
}

function complain(state: State, claimed: Claimed, error: unknown): undefined {
  const { messageId: id, address: to } = claimed
  state.ctx.log.error({ err: error, id, to }, 'a delivery ended in a way it should not; its lease will bring it back')
}
