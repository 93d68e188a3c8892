/**
 * Decides pending suppressions, which are held for a second bounce or during a receiver's outage
 * (src/suppression/pending-suppressions.ts), and deletes old counts.
 */
import type { Context } from '#src/context.ts'
import { resolvePending } from '#src/suppression/pending-suppressions.ts'
import type { Round } from './loop.ts'

export function createPendingSuppressionRound(ctx: Context): Round {
  return async () => {
    const now = new Date(ctx.clock.now())
    const written = await resolvePending(ctx.db, now)
    if (written > 0) ctx.log.info({ written }, 'pending suppressions were applied')
    await ctx.db.query(`DELETE FROM receiver_hours WHERE hour < $1::timestamptz - interval '9 days'`, [now])
    return false
  }
}
