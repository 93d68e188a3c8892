/**
 * Is this PostgreSQL behind the one that we sent with? Every fencing token that was given out is remembered in Redis. A database in which so
 * high a token was never given is an older state of it: a backup was restored, or a standby took over that had not heard everything. Mail
 * that was sent since then stands in it as if it still had to be sent.
 *
 * Then all mail is stopped, before any of it goes out, and the operator is asked: only people know what was sent. A database in which no
 * mail waits has nothing to ask about. Dies between stopping and forgetting the token: the next process finds the same and stops it again.
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
  'the database is older than what was sent: a backup was restored. Mail that was sent since may be sent again; see docs/guides/operations.md'

type FenceDeps = Pick<Context, 'db' | 'redis' | 'log'>

/** Looks, and stops all mail where it is so. Rejects when a store is away: then it is not known, and nothing may be sent. */
export async function checkFence(ctx: FenceDeps): Promise<void> {
  // in this order: what Redis tells was given out before PostgreSQL is asked
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
    ctx.log.error({ told: Number(remembered), highest }, RESTORED)
    await suspend(ctx, { kind: 'domain', subject: '*' }, RESTORED)
  }
  // asked once: from here on the operator decides
  await ctx.redis.zadd(FENCE_KEY, highest, 'token')
}
