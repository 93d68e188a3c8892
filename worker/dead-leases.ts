/**
 * Gives back what a dead outbound process was sending: its recipients are released, uncounted, and put on the schedule; then its lease is removed.
 * In that order: dying in between, the next round finds the lease still there. What the process had taken out of Redis and not yet claimed
 * is found by filling the schedule from PostgreSQL, which is asked for by dropping the epoch.
 */
import type { Context } from '#src/context.ts'
import { applyTransitions, type Transition } from '#src/messages/transition.ts'
import { readLeased, readOrphaned } from '#src/messages/open-recipients.ts'
import { EPOCH_KEY } from '#src/queue/keys.ts'
import { createDeadLeaseFinder } from '#src/queue/lease.ts'
import { schedule, type DueRecipient } from '#src/queue/due-schedule.ts'
import type { LoopSpec } from './loop.ts'

const EVERY_MS = 1000
const SLICE = 500
/** Looking for recipients without any lease reads all that is open, so it is done seldom. */
const ORPHAN_ROUNDS = 60
/** A statement of a process that was just killed may still be carried out when its lease is gone already. */
const ROUNDS_AFTER_A_DEATH = 3

export function leaseLoop(ctx: Context): LoopSpec {
  let [roundsLeft, sinceDeath] = [0, ROUNDS_AFTER_A_DEATH]
  const findDead = createDeadLeaseFinder(ctx.config.leaseSeconds)
  return {
    name: 'leases',
    everyMs: EVERY_MS,
    round: async () => {
      const dead = await findDead(ctx.db)
      if (roundsLeft-- <= 0 || sinceDeath++ < ROUNDS_AFTER_A_DEATH) {
        await releaseAll(ctx, () => readOrphaned(ctx.db, SLICE))
        roundsLeft = ORPHAN_ROUNDS
      }
      if (dead.length > 0) {
        await releaseDeadLeases(ctx, dead)
        sinceDeath = 0
      }
      return false
    },
  }
}

async function releaseDeadLeases(ctx: Context, dead: readonly number[]): Promise<void> {
  const released = await releaseAll(ctx, () => readLeased(ctx.db, dead, SLICE))
  await ctx.db.query('DELETE FROM leases WHERE id = ANY ($1)', [dead])
  await ctx.redis.del(EPOCH_KEY).catch(() => undefined) // away: then it is filled again anyway
  ctx.log.warn({ leases: dead, released }, 'an outbound process died; what it was sending was given back')
}

async function releaseAll(
  ctx: Context,
  read: () => Promise<(DueRecipient & { readonly lease: number })[]>,
): Promise<number> {
  let released = 0
  for (;;) {
    const held = await read()
    if (held.length === 0) return released
    const now = ctx.clock.now()
    const moves = held.map((one): Transition => ({
      messageId: one.messageId,
      n: one.n,
      move: 'release',
      lease: one.lease,
      dueAt: new Date(now),
      isCounted: false,
      attempt: null,
      eventData: null,
      reason: 'the process that was sending it died; it is sent again',
    }))
    const { done } = await applyTransitions(ctx.db, moves, new Date(now))
    schedule(
      ctx,
      held.filter((_, i) => done.has(i)).map((one) => ({ ...one, dueMs: now })),
    )
    released += done.size
  }
}
