/**
 * Ends the waiting of suppressions that are held for proof or for a receiver's outage (src/suppression/pending-suppressions.ts), and forgets old counts.
 */
import type { Context } from '#src/context.ts'
import { resolvePending } from '#src/suppression/pending-suppressions.ts'
import type { LoopSpec } from './loop.ts'

const EVERY_MS = 5 * 60_000

export function pendingSuppressionLoop(ctx: Context): LoopSpec {
  return {
    name: 'held suppressions',
    everyMs: EVERY_MS,
    round: async () => {
      const now = new Date(ctx.clock.now())
      const written = await resolvePending(ctx.db, now)
      if (written > 0) ctx.log.info({ written }, 'suppressions that were held are written')
      await ctx.db.query(`DELETE FROM receiver_hours WHERE hour < $1::timestamptz - interval '9 days'`, [now])
      return false
    },
  }
}
