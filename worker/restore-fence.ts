/**
 * Detects an older database also while no outbound process runs: messages may have been accepted meanwhile, and the
 * operator must learn that they are missing. Any number of workers may do this; a store away: the round is repeated.
 */
import type { Context } from '#src/context.ts'
import { createRestoreFence } from '#src/queue/restore-fence.ts'
import type { Round } from './loop.ts'

export function createRestoreFenceRound(ctx: Context): Round {
  const fence = createRestoreFence(ctx)
  return async () => {
    await fence.beat()
    return false
  }
}
