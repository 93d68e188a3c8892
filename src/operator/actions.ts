/**
 * The operator's actions on waiting mail: retry now, drop, or bounce. An action is a row with who, what, why and its
 * progress. It processes open recipients in slices by key. The transitions check the state, so mail that is sent
 * meanwhile is not changed, and repeating an action, or running two at the same time, changes nothing twice.
 *
 * The process that starts an action works on it for a limited time; the worker continues unfinished actions, also after
 * a crash. A crash between a slice and its progress record: the slice is processed again and changes nothing. The rows
 * are kept.
 */
import type { Context } from '#src/context.ts'
import { timeOf } from '#src/platform/id.ts'
import { changeWaiting, type WaitingChange } from '#src/messages/change-waiting.ts'
import { readSlice, type WalkPosition, type QueueFilter, type QueueSliceRow } from '#src/messages/queue-view.ts'
import { MOVES } from '#src/messages/state.ts'
import { TIER_NAMES } from '#src/queue/tiers.ts'
import { sql } from '#src/stores/sql.ts'
import { recordAction, type OperatorAction, type ActionRequest, type ActionSubject } from './action-log.ts'

export type MailVerb = 'retry' | 'drop' | 'bounce'

interface MailAction {
  readonly move: WaitingChange['move']
  readonly summary: string
  /** The reason when the operator gives none. */
  readonly defaultReason: string
  /** The past participle for messages, such as `retried`. */
  readonly done: string
  /** Data of the emitted event. */
  eventData(reason: string): object | null
}

/** The actions. `bounce` reports a failure to the sender, `drop` a cancellation. */
export const MAIL_VERBS = {
  retry: {
    move: 'retry_now',
    summary: 'due now; scheduled mail keeps its time',
    done: 'retried',
    defaultReason: 'made due by the operator',
    eventData: () => null,
  },
  drop: {
    move: 'drop',
    summary: 'removed from the queue: cancelled, with an email.cancelled event',
    done: 'dropped',
    defaultReason: 'dropped by the operator',
    eventData: (reason) => ({ reason: 'dropped', message: reason }),
  },
  bounce: {
    move: 'fail_waiting',
    summary: 'bounced: failed, with an email.failed event',
    done: 'bounced',
    defaultReason: 'given up by the operator',
    eventData: (reason) => ({ reason: 'given-up-by-operator', message: reason }),
  },
} as const satisfies Record<MailVerb, MailAction>

type ActionDeps = Pick<Context, 'db' | 'redis' | 'clock' | 'log'>

const SLICE = 1000
/** After this time without progress another process may continue the action. */
const LEASE = `interval '30 seconds'`

/** Starts an action; `continueAction` executes it. */
export function beginAction(
  ctx: ActionDeps,
  request: ActionRequest & { readonly verb: MailVerb; readonly filter: QueueFilter },
): Promise<OperatorAction> {
  return recordAction(ctx, { ...request, subject: request.filter as ActionSubject }, 'running')
}

interface ClaimedAction {
  readonly id: string
  readonly verb: MailVerb
  readonly filter: QueueFilter
  readonly reason: string
}

interface ClaimedActionRow {
  readonly verb: MailVerb
  readonly subject: QueueFilter
  readonly reason: string
  readonly place: WalkPosition | null
}

const CLAIM = sql`
  UPDATE operator_actions
  SET leased_until = now() + ${LEASE}
  WHERE id = $1 AND state = 'running' AND leased_until < now()
  RETURNING verb, subject, reason, place
`
const RECORD_PROGRESS = sql`
  UPDATE operator_actions
  SET moved = moved + $2, seen = seen + $3, place = $4, leased_until = now() + ${LEASE}
  WHERE id = $1 AND state = 'running' AND leased_until > now()
`
const FINISH = sql`
  UPDATE operator_actions
  SET state = 'done', ended_at = now(), leased_until = '-infinity'
  WHERE id = $1 AND state = 'running'
`
const RELEASE = `UPDATE operator_actions SET leased_until = '-infinity' WHERE id = $1 AND state = 'running'`

/**
 * Executes an action for about `budgetMs`, at least one slice, and calls `onSlice` after each slice. Does nothing if
 * the action is done or another process works on it.
 */
export async function continueAction(
  ctx: ActionDeps,
  id: string,
  budgetMs: number,
  onSlice: (seen: number, moved: number) => void = () => undefined,
): Promise<void> {
  const {
    rows: [claimed],
  } = await ctx.db.query<ClaimedActionRow>(CLAIM, [id])
  if (claimed === undefined) return
  const action: ClaimedAction = { id, verb: claimed.verb, filter: claimed.subject, reason: claimed.reason }
  const until = performance.now() + budgetMs
  for (let position: WalkPosition | null = positionOf(claimed); position !== null;) {
    const done = await processSlice(ctx, action, position)
    const { rowCount } = await ctx.db.query(RECORD_PROGRESS, [
      id,
      done.moved,
      done.seen,
      done.next === null ? null : JSON.stringify(done.next),
    ])
    onSlice(done.seen, done.moved)
    if (rowCount === 0) return // the lease ran out, and another process continues
    position = done.next
    if (position !== null && performance.now() > until) return void (await ctx.db.query(RELEASE, [id]))
  }
  await ctx.db.query(FINISH, [id])
}

/** Actions that no process works on; the oldest first. */
export async function listUnfinishedActions(ctx: Pick<Context, 'db'>): Promise<string[]> {
  const { rows } = await ctx.db.query<{ id: string }>(
    `SELECT id FROM operator_actions WHERE state = 'running' AND leased_until < now() ORDER BY id LIMIT 10`,
  )
  return rows.map((row) => row.id)
}

function positionOf({ place, subject }: ClaimedActionRow): WalkPosition {
  return place ?? { tier: subject.tier ?? TIER_NAMES[0] ?? 'instant', after: null }
}

interface SliceResult {
  readonly seen: number
  readonly moved: number
  readonly next: WalkPosition | null
}

async function processSlice(ctx: ActionDeps, action: ClaimedAction, position: WalkPosition): Promise<SliceResult> {
  const states = MOVES[MAIL_VERBS[action.verb].move].from
  const rows = await readSlice(ctx.db, {
    filter: action.filter,
    position,
    states,
    unchangedSince: new Date(timeOf(action.id)),
    limit: SLICE,
  })
  const matching = rows.filter(({ isMeant }) => isMeant)
  const moved = matching.length === 0 ? 0 : await applyToRows(ctx, action, matching)
  return { seen: rows.length, moved, next: nextPosition(action.filter, position, rows) }
}

function nextPosition(
  filter: QueueFilter,
  { tier }: WalkPosition,
  rows: readonly QueueSliceRow[],
): WalkPosition | null {
  const last = rows.at(-1)
  if (last !== undefined && rows.length === SLICE)
    return { tier, after: { dueAt: last.dueAt, messageId: last.messageId, n: last.n } }
  const following = TIER_NAMES[TIER_NAMES.indexOf(tier) + 1]
  return filter.tier !== undefined || following === undefined ? null : { tier: following, after: null }
}

function applyToRows(
  ctx: ActionDeps,
  { verb, reason }: ClaimedAction,
  rows: readonly QueueSliceRow[],
): Promise<number> {
  const row: MailAction = MAIL_VERBS[verb]
  return changeWaiting(ctx, { move: row.move, reason, eventData: row.eventData(reason) }, rows)
}
