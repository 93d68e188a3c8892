/**
 * What grows old: partitions are made ahead of time, idempotency keys and the delivery log go after their time.
 * Each step can be repeated, and a step that fails is done in the next round.
 */
import type { Context } from '#src/context.ts'
import { ensurePartitions } from '#src/stores/partitions.ts'
import type { LoopSpec } from './loop.ts'

const EVERY_MS = 10 * 60 * 1000

/** The smallest UUIDv7 of that long ago, in SQL. */
function idOfAge(interval: string): string {
  return `(lpad(to_hex((extract(epoch FROM now() - interval '${interval}') * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid`
}

const OLD = [
  `DELETE FROM idempotency_keys WHERE created_at < now() - interval '24 hours'`,
  `DELETE FROM webhook_attempts WHERE at < now() - interval '30 days'`,
  `DELETE FROM imports WHERE is_cleared AND finished_at < now() - interval '30 days'`, // its row errors quote cells
  `DELETE FROM webhook_deliveries WHERE state <> 'pending' AND created_at < now() - interval '30 days'`,
  `DELETE FROM inbound_reports WHERE id < ${idOfAge('30 days')} AND due_at IS NULL`,
  `DELETE FROM tls_report_arrivals WHERE id < ${idOfAge('7 days')}`, // nobody reads them
  `DELETE FROM received_tls_reports WHERE id < ${idOfAge('90 days')}`,
  // what anybody may have written
  `DELETE FROM received_tls_reports WHERE signer = ''
     AND id < (SELECT id FROM received_tls_reports WHERE signer = '' ORDER BY id DESC OFFSET 2000 LIMIT 1)`,
  // letters that nobody's token is in
  `DELETE FROM inbound_reports WHERE message_id IS NULL
     AND id < (SELECT id FROM inbound_reports WHERE message_id IS NULL ORDER BY id DESC OFFSET 1000 LIMIT 1)`,
] as const

export function housekeepingLoop(ctx: Context): LoopSpec {
  return {
    name: 'housekeeping',
    everyMs: EVERY_MS,
    round: async () => {
      await ensurePartitions((statement) => ctx.db.query(statement), ctx.clock.now())
      for (const statement of OLD) await ctx.db.query(statement)
      return false
    },
  }
}
