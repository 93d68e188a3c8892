/**
 * Fails the queued mail of a removed sending domain, with a clear reason. Reads the waiting recipients of the workspace
 * in slices by key. Each transition checks the state, so two workers may do this at the same time, and again.
 */
import type { Context } from '#src/context.ts'
import { publishNotifications } from '#src/queue/notifications.ts'
import { TIER_NAMES, type Tier } from '#src/queue/tiers.ts'
import { readOpenWeeks } from '#src/queue/open-weeks.ts'
import { sql } from '#src/stores/sql.ts'
import { applyTransitions, type Transition } from './transition.ts'
import { afterCursor, cursorValues, DUE_MICROS, type Cursor } from './open-recipients.ts'

interface RemovedDomain {
  readonly domainId: string
  readonly workspaceId: string
  readonly domain: string
}

interface Row extends Cursor {
  readonly isOurs: boolean
}

const SLICE = 500

/** Returns the number of failed recipients. */
export async function failQueuedMail(
  ctx: Pick<Context, 'db' | 'redis' | 'clock'>,
  removed: RemovedDomain,
): Promise<number> {
  let failed = 0
  for (const tier of TIER_NAMES) failed += await failTier(ctx, removed, tier)
  return failed
}

async function failTier(
  ctx: Pick<Context, 'db' | 'redis' | 'clock'>,
  removed: RemovedDomain,
  tier: Tier,
): Promise<number> {
  let failed = 0
  let cursor: Cursor | null = null
  for (;;) {
    const rows: Row[] = await readSlice(ctx, removed, tier, cursor)
    const moves = rows
      .filter(({ isOurs }) => isOurs)
      .map(({ messageId, n }) => transitionToFailed(messageId, n, removed.domain))
    if (moves.length > 0) {
      const moved = await applyTransitions(ctx.db, moves, new Date(ctx.clock.now()))
      publishNotifications(ctx, moved)
      failed += moved.done.size
    }
    const last = rows.at(-1)
    if (last === undefined || rows.length < SLICE) return failed
    cursor = last
  }
}

async function readSlice(
  ctx: Pick<Context, 'db'>,
  removed: RemovedDomain,
  tier: Tier,
  cursor: Cursor | null,
): Promise<Row[]> {
  const weeks = await readOpenWeeks(ctx.db)
  const { rows } = await ctx.db.query<Row>(
    sql`
      SELECT w.message_id AS "messageId", w.n, ${DUE_MICROS} AS "dueMicros",
        EXISTS (
          SELECT FROM messages m
          WHERE m.id = w.message_id AND m.domain_id = $3 AND ${weeks.contain('m.id')}
        ) AS "isOurs"
      FROM (
        SELECT message_id, n, due_at
        FROM recipients
        WHERE tier = $1
          AND ${weeks.contain('message_id')}
          AND is_open
          AND state IN ('scheduled', 'queued', 'deferred')
          AND workspace_id = $2
          AND ${afterCursor(4)}
        ORDER BY due_at, message_id, n
        LIMIT $7
      ) w
    `,
    [tier, removed.workspaceId, removed.domainId, ...cursorValues(cursor), SLICE],
  )
  return rows
}

function transitionToFailed(messageId: string, n: number, domain: string): Transition {
  const reason = `the sending domain ${domain} was removed`
  return {
    messageId,
    n,
    move: 'fail_waiting',
    lease: null,
    reason,
    dueAt: null,
    isCounted: false,
    attempt: null,
    eventData: { reason: 'domain-gone', message: reason },
  }
}
