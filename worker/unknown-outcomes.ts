/**
 * Ends the state `unknown` after its wait, by the tier's policy: send again, or assume that the message was sent. A
 * receiver that always disconnects gets no more copies than the tier has attempts; after the last attempt the message
 * is assumed to be sent. If a late bounce changed the state meanwhile, the guard of the transition leaves it unchanged.
 */
import type { Context } from '#src/context.ts'
import { applyTransitions, type Transition } from '#src/messages/transition.ts'
import { readUnknown } from '#src/messages/open-recipients.ts'
import { schedule, type DueRecipient } from '#src/queue/due-schedule.ts'
import { tierRow } from '#src/queue/tiers.ts'
import type { Round } from './loop.ts'

const SLICE = 500

type Unknown = DueRecipient & { readonly tries: number }

export function createUnknownOutcomeRound(ctx: Context): Round {
  return async () => {
    const now = ctx.clock.now()
    const over = await readUnknown(ctx.db, new Date(now), SLICE)
    if (over.length === 0) return false
    const moves = over.map((one) => transitionAfterUnknown(one, now))
    const moved = await applyTransitions(ctx.db, moves, new Date(now))
    const again = over.filter((_, i) => moved.done.has(i) && moves[i]?.move === 'try_again')
    schedule(
      ctx,
      again.map((one) => ({ ...one, dueMs: now })),
      moved,
    )
    return over.length === SLICE
  }
}

function transitionAfterUnknown({ messageId, n, tier, tries }: Unknown, nowMs: number): Transition {
  const { afterUnknown, retries } = tierRow(tier)
  const move = tries > retries ? 'assume_sent' : afterUnknown
  return {
    messageId,
    n,
    move,
    lease: null,
    dueAt: move === 'try_again' ? new Date(nowMs) : null,
    isCounted: false,
    attempt: null,
    reason: `connection lost after the final dot; ${move === 'try_again' ? 'it is sent again' : 'assumed to be sent'}`,
    eventData: { reason: 'lost-after-dot', tries },
  }
}
