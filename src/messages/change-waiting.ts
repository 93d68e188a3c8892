/**
 * Changes recipients that wait, at the request of the operator or of their sender: due now, dropped or failed. The
 * transitions check the state, so mail that is being sent meanwhile is not changed, and a repetition changes nothing.
 *
 * If Redis is away, a retry is stored all the same: the worker finds overdue recipients. Dies here after the commit:
 * the same.
 */
import type { Context } from '#src/context.ts'
import { recordChange } from '#src/stores/audit.ts'
import { addToSchedule } from '#src/queue/due-schedule.ts'
import { publishNotifications } from '#src/queue/notifications.ts'
import type { Tier } from '#src/queue/tiers.ts'
import { isTransactionConflict, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { hexOf } from '#src/platform/id.ts'
import { MOVES, type MoveName } from './state.ts'
import { applyTransitions, type Transition, type TransitionResult } from './transition.ts'

type ChangeDeps = Pick<Context, 'db' | 'redis' | 'clock' | 'log'>

export interface WaitingRecipient {
  readonly messageId: string
  readonly n: number
  readonly workspaceId: string
  readonly domain: string
  readonly tier: Tier
}

export interface WaitingChange {
  readonly move: Extract<MoveName, 'retry_now' | 'drop' | 'fail_waiting'>
  /** For people; stored with the recipient. */
  readonly reason: string
  /** Data of the emitted event. */
  readonly eventData: object | null
}

/** Returns how many recipients changed. */
export async function changeWaiting(
  ctx: ChangeDeps,
  change: WaitingChange,
  recipients: readonly WaitingRecipient[],
): Promise<number> {
  const made = await applyChange(ctx.db, change, { recipients, now: new Date(ctx.clock.now()) })
  await announce(ctx, made)
  return made.done.length
}

interface MadeChange {
  readonly done: readonly WaitingRecipient[]
  readonly moved: TransitionResult
  readonly now: Date
  readonly isRetry: boolean
}

async function applyChange(
  db: Queryable,
  { move, reason, eventData }: WaitingChange,
  { recipients, now }: { readonly recipients: readonly WaitingRecipient[]; readonly now: Date },
): Promise<MadeChange> {
  const isRetry = move === 'retry_now'
  const transitions = recipients.map(({ messageId, n }): Transition => ({
    messageId,
    n,
    move,
    reason,
    lease: null,
    isCounted: false,
    attempt: null,
    eventData,
    dueAt: isRetry ? now : null,
  }))
  const moved = await applyTransitions(db, transitions, now)
  return { done: recipients.filter((_, i) => moved.done.has(i)), moved, now, isRetry }
}

/** After the commit. */
async function announce(ctx: ChangeDeps, { done, moved, now, isRetry }: MadeChange): Promise<void> {
  // continue if Redis is unavailable: the worker finds overdue recipients
  if (isRetry)
    await addToSchedule(
      ctx,
      done.map((one) => ({ ...one, dueMs: now.getTime() })),
    ).catch(() => undefined)
  else publishNotifications(ctx, moved)
}

/** What a workspace may ask of a message of its own. */
export const OWNER_CHANGES = {
  retry: { move: 'retry_now', reason: 'retried at the request of its sender', eventData: null },
  cancel: {
    move: 'drop',
    reason: 'cancelled by its sender',
    eventData: { reason: 'cancelled', message: 'cancelled by its sender' },
  },
} as const satisfies Readonly<Record<string, WaitingChange>>

export type OwnerChange = keyof typeof OWNER_CHANGES

export interface OwnerChangeResult {
  /** Recipients that changed. */
  readonly changed: number
  /** Recipients that are sent, ended, or being sent. */
  readonly unchanged: number
}

const RECIPIENTS = sql`
  SELECT message_id AS "messageId", n, workspace_id AS "workspaceId", domain, tier, state
  FROM recipients
  WHERE message_id = $1 AND workspace_id = $2
  ORDER BY n
`

/** Null when the workspace has no such message. Writes one entry of the audit log if anything changed. */
export async function changeOwnMessage(
  ctx: ChangeDeps,
  verb: OwnerChange,
  { workspaceId, messageId }: { readonly workspaceId: string; readonly messageId: string },
): Promise<OwnerChangeResult | null> {
  const change = OWNER_CHANGES[verb]
  const { rows } = await ctx.db.query<WaitingRecipient & { readonly state: string }>(RECIPIENTS, [
    messageId,
    workspaceId,
  ])
  if (rows.length === 0) return null
  const waiting = rows.filter(({ state }) => MOVES[change.move].from.some((from) => from === state))
  const request = { verb, change, workspaceId, messageId, waiting }
  const changed = waiting.length === 0 ? 0 : await changeOnce(ctx, request)
  return { changed, unchanged: rows.length - changed }
}

interface OwnerRequest {
  readonly verb: OwnerChange
  readonly change: WaitingChange
  readonly workspaceId: string
  readonly messageId: string
  readonly waiting: readonly WaitingRecipient[]
}

/** Repeats once what PostgreSQL rolled back because another batch changed the same message. */
async function changeOnce(ctx: ChangeDeps, request: OwnerRequest): Promise<number> {
  try {
    return await changeRecorded(ctx, request)
  } catch (error) {
    if (!isTransactionConflict(error)) throw error
    return changeRecorded(ctx, request)
  }
}

/** The change and its entry in the audit log are one transaction. */
async function changeRecorded(
  ctx: ChangeDeps,
  { verb, change, workspaceId, messageId, waiting }: OwnerRequest,
): Promise<number> {
  const made = await ctx.db.transaction(async (tx) => {
    const applied = await applyChange(tx, change, { recipients: waiting, now: new Date(ctx.clock.now()) })
    if (applied.done.length > 0)
      await recordChange(tx, {
        kind: 'mail',
        object: `em_${hexOf(messageId)}`,
        workspaceId,
        change: 'update',
        before: null,
        after: { [verb]: applied.done.length },
      })
    return applied
  })
  await announce(ctx, made)
  return made.done.length
}
