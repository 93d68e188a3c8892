/** Continues the erasures of people, a few seconds at a time; any number of workers may do this. */
import type { Context } from '#src/context.ts'
import { continueErasure } from '#src/privacy/erasure.ts'
import type { Round } from './loop.ts'

const BUDGET_MS = 5000

export function createErasureRound(ctx: Context): Round {
  return async () => {
    const until = performance.now() + BUDGET_MS
    while (performance.now() < until) if (!(await continueErasure(ctx))) return false
    return true
  }
}
