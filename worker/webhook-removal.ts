/** What is left of deleted webhook endpoints, their deliveries and logs, goes a slice at a time. Two workers may do it at once. */
import type { Context } from '#src/context.ts'
import { removeDeleted } from '#src/webhooks/endpoints.ts'
import type { LoopSpec } from './loop.ts'

const EVERY_MS = 60_000

export function webhookRemovalLoop(ctx: Context): LoopSpec {
  return { name: 'webhook removal', everyMs: EVERY_MS, round: () => removeDeleted(ctx.db) }
}
