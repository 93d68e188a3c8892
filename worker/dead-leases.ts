/**
 * Releases the recipients of a dead outbound process, uncounted, and schedules them again; then deletes its lease. In
 * this order, so that after a crash in between the next round still finds the lease. If the lease names a journal, the
 * next outbound process on that node first records the results in it (mta/outbound/journal-recovery.ts); a node that
 * does not come back in time is not waited for. Recipients that the process had removed from Redis but
 * not claimed are found by refilling the schedule from PostgreSQL, which deleting the epoch requests.
 */
import type { Context } from '#src/context.ts'
import { applyTransitions, type Transition } from '#src/messages/transition.ts'
import { readLeased, readOrphaned } from '#src/messages/open-recipients.ts'
import { EPOCH_KEY } from '#src/queue/keys.ts'
import { createLeaseObserver, type Boot, type ObservedLease } from '#src/queue/lease-observer.ts'
import { schedule, type DueRecipient } from '#src/queue/due-schedule.ts'
import type { Round } from './loop.ts'

const SLICE = 500
/** Searching for recipients without a lease reads all open recipients, so it runs rarely. */
const ORPHAN_ROUNDS = 60
/** A statement of a killed process may still be executed after its lease is deleted. */
const ROUNDS_AFTER_A_DEATH = 3

/** `boot` is that of this machine. */
export function createDeadLeaseRound(ctx: Context, boot?: Boot): Round {
  let [roundsLeft, sinceDeath] = [0, ROUNDS_AFTER_A_DEATH]
  const observe = createLeaseObserver(ctx.config, boot)
  return async () => {
    const dead = (await observe(ctx.db)).filter(({ isDead, isJournalAwaited }) => isDead && !isJournalAwaited)
    if (roundsLeft-- <= 0 || sinceDeath++ < ROUNDS_AFTER_A_DEATH) {
      await releaseAll(ctx, () => readOrphaned(ctx.db, SLICE))
      roundsLeft = ORPHAN_ROUNDS
    }
    if (dead.length > 0) {
      await releaseDeadLeases(ctx, dead)
      sinceDeath = 0
    }
    return false
  }
}

async function releaseDeadLeases(ctx: Context, dead: readonly ObservedLease[]): Promise<void> {
  const leases = dead.map(({ id }) => id)
  const released = await releaseAll(ctx, () => readLeased(ctx.db, leases, SLICE))
  const { rowCount } = await ctx.db.query('DELETE FROM leases WHERE id = ANY ($1)', [leases])
  if (rowCount === 0) return // another worker deleted them, and requests the refill
  await ctx.redis.del(EPOCH_KEY).catch(() => undefined) // Redis unavailable: the schedule is refilled anyway
  const unread = dead.flatMap(({ journal }) => journal ?? [])
  ctx.log.warn({ leases, released }, 'an outbound process died; its recipients were released')
  if (unread.length > 0)
    ctx.log.warn(
      { unread, released },
      'no outbound process read the journal of the dead one in time; mail that it had sent last may be sent again',
    )
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
