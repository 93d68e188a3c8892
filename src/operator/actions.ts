/**
 * What an operator does to mail that waits: due now, taken out, or given up with a bounce. An action is a row: who, what, why, and how far
 * it is. It walks through what is open in slices by key; each slice is moved by guarded moves, so that mail that leaves meanwhile is left
 * alone, and doing an action again, or two of them at once, changes nothing twice.
 *
 * Whoever began it carries it on for as long as it has time; what is left over, also when that process died, the worker goes on with. Dies
 * between a slice and its note: the slice is walked again and moves nothing. The rows stay: they are the record of what was changed.
 */
import { announce } from '#src/queue/notifications.ts'
import type { Context } from '#src/context.ts'
import { timeOf } from '#src/platform/id.ts'
import { moveRecipients, type Moving } from '#src/messages/transition.ts'
import { readSlice, type Place, type QueueFilter, type SliceRow } from '#src/messages/queue-view.ts'
import { MOVES, type MoveName } from '#src/messages/state.ts'
import { addToSchedule } from '#src/queue/due-schedule.ts'
import { TIER_NAMES } from '#src/queue/tiers.ts'
import { sql } from '#src/stores/sql.ts'
import { recordAction, type Action, type Order, type Subject } from './audit-log.ts'

export type MailVerb = 'retry' | 'drop' | 'bounce'

interface Row {
  readonly move: MoveName
  readonly summary: string
  /** Why, where nobody says it. */
  readonly usualReason: string
  /** How what was moved is called. */
  readonly done: string
  /** Data of the event that it emits. */
  eventData(reason: string): object | null
}

/** What may be done; `bounce` tells the sender that his mail failed, `drop` that it was taken out. */
export const MAIL_VERBS = {
  retry: {
    move: 'retry_now',
    summary: 'due now; what its sender scheduled keeps its time',
    done: 'retried',
    usualReason: 'made due by the operator',
    eventData: () => null,
  },
  drop: {
    move: 'drop',
    summary: 'taken out for good: cancelled, with an email.cancelled event',
    done: 'dropped',
    usualReason: 'dropped by the operator',
    eventData: (reason) => ({ reason: 'dropped', message: reason }),
  },
  bounce: {
    move: 'fail_waiting',
    summary: 'given up: failed, with an email.failed event',
    done: 'bounced',
    usualReason: 'given up by the operator',
    eventData: (reason) => ({ reason: 'given-up-by-operator', message: reason }),
  },
} as const satisfies Record<MailVerb, Row>

type Wanted = Pick<Context, 'db' | 'redis' | 'clock' | 'log'>

const SLICE = 1000
/** A process that has said nothing for so long does not go on with it. */
const LEASE = `interval '30 seconds'`

/** Begins an action; `advance` does it. */
export function beginAction(
  ctx: Wanted,
  order: Order & { readonly verb: MailVerb; readonly filter: QueueFilter },
): Promise<Action> {
  return recordAction(ctx, { ...order, subject: order.filter as Subject }, 'running')
}

interface Work {
  readonly id: string
  readonly verb: MailVerb
  readonly filter: QueueFilter
  readonly reason: string
}

interface TakenRow {
  readonly verb: MailVerb
  readonly subject: QueueFilter
  readonly reason: string
  readonly place: Place | null
}

const TAKE = sql`
  UPDATE operator_actions
  SET leased_until = now() + ${LEASE}
  WHERE id = $1 AND state = 'running' AND leased_until < now()
  RETURNING verb, subject, reason, place
`
const NOTE = sql`
  UPDATE operator_actions
  SET moved = moved + $2, seen = seen + $3, place = $4, leased_until = now() + ${LEASE}
  WHERE id = $1 AND state = 'running' AND leased_until > now()
`
const FINISH = sql`
  UPDATE operator_actions
  SET state = 'done', ended_at = now(), leased_until = '-infinity'
  WHERE id = $1 AND state = 'running'
`
const LET_GO = `UPDATE operator_actions SET leased_until = '-infinity' WHERE id = $1 AND state = 'running'`

/**
 * Carries an action on for about so long, and one slice at least; `onSlice` hears of each slice. Does nothing to one that is done or in
 * other hands.
 */
export async function advance(
  ctx: Wanted,
  id: string,
  budgetMs: number,
  onSlice: (seen: number, moved: number) => void = () => undefined,
): Promise<void> {
  const {
    rows: [taken],
  } = await ctx.db.query<TakenRow>(TAKE, [id])
  if (taken === undefined) return
  const work: Work = { id, verb: taken.verb, filter: taken.subject, reason: taken.reason }
  const until = performance.now() + budgetMs
  for (let place: Place | null = placeOf(taken); place !== null;) {
    const done = await carryOut(ctx, work, place)
    const { rowCount } = await ctx.db.query(NOTE, [
      id,
      done.moved,
      done.seen,
      done.next === null ? null : JSON.stringify(done.next),
    ])
    onSlice(done.seen, done.moved)
    if (rowCount === 0) return // it took so long that another goes on with it
    place = done.next
    if (place !== null && performance.now() > until) return void (await ctx.db.query(LET_GO, [id]))
  }
  await ctx.db.query(FINISH, [id])
}

/** Those that nobody carries on; the oldest first. */
export async function listLeftOver(ctx: Pick<Context, 'db'>): Promise<string[]> {
  const { rows } = await ctx.db.query<{ id: string }>(
    `SELECT id FROM operator_actions WHERE state = 'running' AND leased_until < now() ORDER BY id LIMIT 10`,
  )
  return rows.map((row) => row.id)
}

function placeOf({ place, subject }: TakenRow): Place {
  return place ?? { tier: subject.tier ?? TIER_NAMES[0] ?? 'instant', after: null }
}

interface SliceDone {
  readonly seen: number
  readonly moved: number
  readonly next: Place | null
}

async function carryOut(ctx: Wanted, work: Work, place: Place): Promise<SliceDone> {
  const states = MOVES[MAIL_VERBS[work.verb].move].from
  const rows = await readSlice(ctx.db, {
    filter: work.filter,
    place,
    states,
    unchangedSince: new Date(timeOf(work.id)),
    limit: SLICE,
  })
  const meant = rows.filter(({ isMeant }) => isMeant)
  const moved = meant.length === 0 ? 0 : await move(ctx, work, meant)
  return { seen: rows.length, moved, next: nextPlace(work.filter, place, rows) }
}

function nextPlace(filter: QueueFilter, { tier }: Place, rows: readonly SliceRow[]): Place | null {
  const last = rows.at(-1)
  if (last !== undefined && rows.length === SLICE)
    return { tier, after: { dueAt: last.dueAt, messageId: last.messageId, n: last.n } }
  const following = TIER_NAMES[TIER_NAMES.indexOf(tier) + 1]
  return filter.tier !== undefined || following === undefined ? null : { tier: following, after: null }
}

async function move(ctx: Wanted, { verb, reason }: Work, rows: readonly SliceRow[]): Promise<number> {
  const now = new Date(ctx.clock.now())
  const isHastened = verb === 'retry'
  const row: Row = MAIL_VERBS[verb]
  const moves = rows.map(({ messageId, n }): Moving => ({
    messageId,
    n,
    move: row.move,
    reason,
    lease: null,
    isCounted: false,
    attempt: null,
    eventData: row.eventData(reason),
    dueAt: isHastened ? now : null,
  }))
  const moved = await moveRecipients(ctx.db, moves, now)
  const done = rows.filter((_, i) => moved.done.has(i))
  // a Redis that is away is no reason to stop: what is overdue is found by the worker
  if (isHastened)
    await addToSchedule(
      ctx,
      done.map((one) => ({ ...one, dueMs: now.getTime() })),
    ).catch(() => undefined)
  else announce(ctx, moved)
  return done.length
}
