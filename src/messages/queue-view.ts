/** The queue as its operator sees and moves it: what is open, by tier, state and domain; due again now; dropped. Works on PostgreSQL, where the truth is. */
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/db.ts'
import { addToSchedule, type Due } from '#src/queue/schedule.ts'
import type { Tier } from '#src/queue/tiers.ts'
import { moveRecipients, type Moving } from './move.ts'
import { MOVES, type State } from './state.ts'

export interface QueueCount {
  readonly tier: Tier
  readonly state: State
  readonly count: number
  /** The oldest due time among them. */
  readonly oldestDueAt: Date
}

/** Which open recipients are meant; nothing given means all. */
export interface QueueFilter {
  readonly domain?: string
  readonly tier?: string
  readonly state?: string
  readonly messageId?: string
}

export interface OpenRecipient {
  readonly messageId: string
  readonly n: number
  readonly address: string
  readonly domain: string
  readonly tier: Tier
  readonly state: State
  readonly dueAt: Date
  readonly tries: number
  readonly reason: string | null
}

export async function countQueue(db: Queryable): Promise<QueueCount[]> {
  return (await db.query<QueueCount>(
    'SELECT tier, state, count(*) AS count, min(due_at) AS "oldestDueAt" FROM recipients WHERE is_open GROUP BY tier, state ORDER BY tier, state')).rows
}

const FILTER = `is_open AND ($1::text IS NULL OR domain = $1) AND ($2::text IS NULL OR tier = $2) AND ($3::text IS NULL OR state = $3) AND ($4::uuid IS NULL OR message_id = $4)`

function filterValues(filter: QueueFilter): (string | null)[] {
  return [filter.domain?.toLowerCase() ?? null, filter.tier ?? null, filter.state ?? null, filter.messageId ?? null]
}

/** Soonest due first. */
export async function listOpen(db: Queryable, filter: QueueFilter, limit: number): Promise<OpenRecipient[]> {
  return (await db.query<OpenRecipient>(
    `SELECT message_id AS "messageId", n, address, domain, tier, state, due_at AS "dueAt", tries, reason FROM recipients WHERE ${FILTER} ORDER BY due_at, message_id, n LIMIT $5`,
    [...filterValues(filter), limit])).rows
}

const SLICE = 500

/** Makes what waits for its turn or its next try due now; what its sender scheduled keeps its time. Answers how many moved. */
export async function retryNow(ctx: Context, filter: QueueFilter): Promise<number> {
  // a Redis that is away is no reason to stop: what is overdue is found by the worker
  return moveWaiting(ctx, filter, (due) => addToSchedule(ctx, due).catch(() => undefined), { move: 'hasten', reason: 'made due by the operator' })
}

/** Takes what waits out for good. Answers how many moved. */
export async function dropWaiting(ctx: Context, filter: QueueFilter, reason: string): Promise<number> {
  return moveWaiting(ctx, filter, () => Promise.resolve(), { move: 'drop', reason })
}

async function moveWaiting(ctx: Context, filter: QueueFilter, done: (due: Due[]) => Promise<void>, how: Pick<Moving, 'move' | 'reason'>): Promise<number> {
  const began = new Date(ctx.clock.now())
  let count = 0
  for (;;) {
    const { rows } = await ctx.db.query<{ messageId: string; n: number; domain: string; tier: Tier }>(
      `SELECT message_id AS "messageId", n, domain, tier FROM recipients WHERE ${FILTER} AND state = ANY ($5) AND updated_at < $6 LIMIT $7`,
      [...filterValues(filter), MOVES[how.move].from, began, SLICE])
    if (rows.length === 0) return count
    const now = new Date(Math.max(ctx.clock.now(), began.getTime()))
    const moves = rows.map(({ messageId, n }): Moving => ({
      ...how, messageId, n, lease: null, isCounted: false, attempt: null, eventData: null, dueAt: how.move === 'hasten' ? now : null,
    }))
    const moved = await moveRecipients(ctx.db, moves, now)
    await done(rows.filter((_, i) => moved.done.has(i)).map((row) => ({ ...row, dueMs: now.getTime() })))
    count += moved.done.size
    if (moved.done.size === 0) return count
  }
}
