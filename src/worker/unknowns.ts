/**
 * Ends the state `unknown` after its wait, by the tier's policy: sent again, or taken as sent. A late bounce that came meanwhile has moved the
 * recipient away, and the guard of the move leaves it alone.
 */
import type { Context } from '#src/context.ts'
import { moveRecipients, type Moving } from '#src/messages/move.ts'
import { readUnknown } from '#src/messages/waiting.ts'
import { schedule, type Due } from '#src/queue/schedule.ts'
import { rowOf } from '#src/queue/tiers.ts'
import type { LoopSpec } from './loop.ts'

const EVERY_MS = 2000
const SLICE = 500

export function unknownLoop(ctx: Context): LoopSpec {
  return {
    name: 'unknowns', everyMs: Math.min(EVERY_MS, Math.max(100, EVERY_MS * ctx.config.retryScale)),
    round: async () => {
      const now = ctx.clock.now()
      const over = await readUnknown(ctx.db, new Date(now), SLICE)
      if (over.length === 0) return false
      const { done, hasDeliveries } = await moveRecipients(ctx.db, over.map((one) => verdict(one, now)), new Date(now))
      const again = over.filter((one, i) => done.has(i) && rowOf(one.tier).afterUnknown === 'try_again')
      schedule(ctx, again.map((one) => ({ ...one, dueMs: now })), { hasDeliveries })
      return over.length === SLICE
    },
  }
}

function verdict({ messageId, n, tier }: Due, nowMs: number): Moving {
  const move = rowOf(tier).afterUnknown
  return {
    messageId, n, move, lease: null, dueAt: move === 'try_again' ? new Date(nowMs) : null, isCounted: false, attempt: null,
    reason: move === 'try_again' ? 'the link was lost after the final dot; it is sent again' : 'the link was lost after the final dot; taken as sent',
    eventData: { reason: 'lost-after-dot' },
  }
}
