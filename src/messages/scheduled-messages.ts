/**
 * Lists and cancels scheduled messages. A message can be cancelled, also repeatedly, until one of its recipients is in
 * the queue; if a worker claims it at the same moment, the guarded transition decides. The quota is refunded in the
 * same transaction, for exactly the recipients that it cancels: a repeated or a concurrent request finds none of them.
 */
import type { Context } from '#src/context.ts'
import { recordChange } from '#src/stores/audit.ts'
import { timeOf } from '#src/platform/id.ts'
import { isTransactionConflict, type Queryable } from '#src/stores/db.ts'
import { publishNotifications } from '#src/queue/notifications.ts'
import { mapPage, readPage, type ListOrder, type Page, type PageRequest } from '#src/stores/page.ts'
import type { Tier } from '#src/queue/tiers.ts'
import { readOpenWeeks } from '#src/queue/open-weeks.ts'
import { sql } from '#src/stores/sql.ts'
import type { Weeks } from '#src/stores/weeks.ts'
import type { ColumnName, MessageRow } from './columns.ts'
import { refundQuota } from './quota.ts'
import { LOCK_FIRST_RECIPIENT } from './change-scheduled.ts'
import { applyTransitions, cancellationOf, type TransitionResult } from './transition.ts'
import type { Mailbox } from '#src/mail/address.ts'

export interface ScheduledView {
  readonly id: string
  readonly scheduledAt: Date
  readonly timezone: string
  readonly from: Mailbox
  readonly to: readonly Mailbox[]
  readonly subject: string
  readonly tier: Tier
  readonly recipientsCount: number
  readonly createdAt: Date
}

const LISTED = [
  'id',
  'scheduled_at',
  'timezone',
  'from_email',
  'from_name',
  'to_list',
  'subject',
  'tier',
  'recipient_count',
  'created_at',
] as const satisfies readonly ColumnName[]

type ScheduledRow = Pick<MessageRow, (typeof LISTED)[number]>

const waits = (weeks: Weeks): string => sql`
  m.workspace_id = $1
  AND ${weeks.contain('m.id')}
  AND m.scheduled_at IS NOT NULL
  AND EXISTS (
    SELECT FROM recipients r
    WHERE r.message_id = m.id AND r.state = 'scheduled' AND ${weeks.contain('r.message_id')}
  )
`

const COLUMNS = LISTED.map((name) => `m.${name}`).join(', ')

const SOONEST_FIRST: ListOrder = {
  by: [
    { sql: 'm.scheduled_at', type: 'timestamptz' },
    { sql: 'm.id', type: 'uuid' },
  ],
  direction: 'ASC',
  isMutable: true,
}

/** Soonest first. */
export async function listScheduled(
  db: Queryable,
  workspaceId: string,
  request: PageRequest,
): Promise<Page<ScheduledView>> {
  const listing = {
    columns: COLUMNS,
    from: 'messages m',
    where: waits(await readOpenWeeks(db)),
    order: SOONEST_FIRST,
    values: [workspaceId],
    owner: workspaceId,
  }
  return mapPage(await readPage<ScheduledRow>(db, listing, request), viewOf)
}

/** Null if the workspace has no scheduled message with this id; its time may be over. */
export async function findScheduled(db: Queryable, workspaceId: string, id: string): Promise<ScheduledView | null> {
  const { rows } = await db.query<ScheduledRow>(
    sql`
      SELECT ${COLUMNS}
      FROM messages m
      WHERE m.id = $2 AND m.workspace_id = $1 AND m.scheduled_at IS NOT NULL
    `,
    [workspaceId, id],
  )
  return rows.map(viewOf)[0] ?? null
}

function viewOf(row: ScheduledRow): ScheduledView {
  return {
    id: row.id,
    scheduledAt: row.scheduled_at ?? row.created_at, // only scheduled messages are selected
    timezone: row.timezone ?? 'UTC',
    from: { email: row.from_email, name: row.from_name },
    to: row.to_list,
    subject: row.subject,
    tier: row.tier,
    recipientsCount: row.recipient_count,
    createdAt: row.created_at,
  }
}

export type CancelScheduledResult = 'cancelled' | 'not-found' | 'gone'

/**
 * Cancels a scheduled message. A repetition has the same result, so that a client without a response may ask again.
 * `gone`: at least one recipient has left for the queue. The lock orders it with a change of the recipients.
 */
export async function cancelScheduled(ctx: Context, workspaceId: string, id: string): Promise<CancelScheduledResult> {
  const cancel = (): Promise<Cancellation> =>
    ctx.db.transaction((tx) => applyCancellation(ctx, tx, { workspaceId, id }))
  // a claim of the same recipients may lock them in another order
  const { before, moved } = await cancel().catch((error: unknown) => {
    if (!isTransactionConflict(error)) throw error
    return cancel()
  })
  if (before.length === 0) return 'not-found'
  if (moved === null) return resultOf(before)
  publishNotifications(ctx, moved)
  // what an outbound process did at the same time decides the rest
  return moved.done.size === before.length ? 'cancelled' : resultOf(await readStates(ctx.db, workspaceId, id))
}

interface Cancellation {
  readonly before: readonly RecipientState[]
  /** Null: no recipient was waiting. */
  readonly moved: TransitionResult | null
}

async function applyCancellation(
  { clock }: Pick<Context, 'clock'>,
  tx: Queryable,
  { workspaceId, id }: { readonly workspaceId: string; readonly id: string },
): Promise<Cancellation> {
  await tx.query(LOCK_FIRST_RECIPIENT, [id, workspaceId])
  const before = await readStates(tx, workspaceId, id)
  const moves = before
    .filter(({ state }) => state === 'scheduled')
    .map(({ n }) => cancellationOf(id, n, 'cancelled by its sender'))
  if (moves.length === 0) return { before, moved: null }
  const moved = await applyTransitions(tx, moves, new Date(clock.now()))
  if (moved.done.size === 0) return { before, moved }
  await recordChange(tx, {
    kind: 'mail',
    object: id,
    workspaceId,
    change: 'update',
    before: { state: 'scheduled' },
    after: { state: 'cancelled' },
  })
  // nothing of the message remains, so its suppressed recipients do not count either
  const suppressed = before.filter(({ state }) => state === 'suppressed').length
  const cancelled = before.filter(({ state }) => state === 'cancelled').length
  if (moved.done.size + suppressed + cancelled === before.length)
    await refundQuota(tx, { workspaceId, count: suppressed, acceptedAt: new Date(timeOf(id)) })
  return { before, moved }
}

interface RecipientState {
  readonly n: number
  readonly state: string
}

/** None if the workspace has no such scheduled message. */
async function readStates(db: Queryable, workspaceId: string, id: string): Promise<readonly RecipientState[]> {
  const { rows } = await db.query<RecipientState>(
    sql`
      SELECT r.n, r.state
      FROM messages m
      JOIN recipients r ON r.message_id = m.id
      WHERE m.id = $1 AND m.workspace_id = $2 AND m.scheduled_at IS NOT NULL
    `,
    [id, workspaceId],
  )
  return rows
}

/** A suppressed recipient gets no mail, cancelled or not. */
function resultOf(recipients: readonly RecipientState[]): CancelScheduledResult {
  const remaining = recipients.filter(({ state }) => state !== 'suppressed')
  return remaining.length > 0 && remaining.every(({ state }) => state === 'cancelled') ? 'cancelled' : 'gone'
}
