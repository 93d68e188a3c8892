/**
 * Ends the state `unknown` after its wait, by the tier's policy: sent again, or taken as sent. A receiver that breaks off every time gets
 * no more copies than the tier has tries; after the last it is taken as sent. A late bounce that came meanwhile has moved the recipient
 * away, and the guard of the move leaves it alone.
 */
import type { Context } from '#src/context.ts'
import { applyTransitions, type Transition } from '#src/messages/transition.ts'
import { readUnknown } from '#src/messages/open-recipients.ts'
import { schedule, type DueRecipient } from '#src/queue/due-schedule.ts'
import { tierRow } from '#src/queue/tiers.ts'
import type { LoopSpec } from './loop.ts'

const EVERY_MS = 5000
const SLICE = 500

type Unknown = DueRecipient & { readonly tries: number }

export function unknownLoop(ctx: Context): LoopSpec {
  return {
    name: 'unknowns',
    everyMs: Math.min(EVERY_MS, Math.max(100, EVERY_MS * ctx.config.retryScale)),
    round: async () => {
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
    },
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
    reason: `the link was lost after the final dot; ${move === 'try_again' ? 'it is sent again' : 'taken as sent'}`,
    eventData: { reason: 'lost-after-dot', tries },
  }
}
