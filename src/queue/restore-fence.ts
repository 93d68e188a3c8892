/**
 * Detects that PostgreSQL is older than the mail sent. Redis stores the highest fencing token ever issued. If the
 * database has not issued it, it is an older state: a backup was restored, or a standby took over without the last
 * transactions. Messages sent since then appear unsent in it. All mail is then suspended before any of it goes out,
 * because only the operator knows what was sent. A database without waiting mail is not suspended. A crash between the
 * suspension and the update of the token repeats the check and the suspension.
 */
import type { Context } from '#src/context.ts'
import { prepared } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { FENCE_KEY } from './keys.ts'
import { suspend } from './suspensions.ts'

const HIGHEST = prepared('fence-highest', 'SELECT last_value AS highest FROM leases_id_seq')
const WAITING = sql`
  SELECT EXISTS (SELECT FROM recipients WHERE is_open)
    OR EXISTS (SELECT FROM campaigns WHERE is_open)
    OR EXISTS (SELECT FROM enrolments WHERE state = 'active') AS "isWaiting"
`

const RESTORED =
  'the database is older than the mail sent: a backup was restored. ' +
  'Mail sent since then may be sent again; see docs/guides/operations.md'

type FenceDeps = Pick<Context, 'db' | 'redis' | 'log'>

/** Checks, and suspends all mail if needed. Rejects if a store is unavailable: then nothing may be sent. */
export async function checkFence(ctx: FenceDeps): Promise<void> {
  // in this order: the token in Redis was issued before PostgreSQL is queried
  const remembered = await ctx.redis.zscore(FENCE_KEY, 'token')
  const {
    rows: [row],
  } = await ctx.db.query<{ highest: number }>(HIGHEST)
  const highest = row?.highest ?? 0
  if (remembered === null || Number(remembered) <= highest) {
    await ctx.redis.zadd(FENCE_KEY, 'GT', highest, 'token')
    return
  }
  const {
    rows: [open],
  } = await ctx.db.query<{ isWaiting: boolean }>(WAITING)
  if (open?.isWaiting === true) {
    ctx.log.error({ remembered: Number(remembered), highest }, RESTORED)
    await suspend(ctx, { kind: 'domain', subject: '*' }, RESTORED)
  }
  // suspended once: from here on the operator decides
  await ctx.redis.zadd(FENCE_KEY, highest, 'token')
}
