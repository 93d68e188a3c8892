/**
 * Lists and cancels scheduled messages. A message can be cancelled until one of its recipients is in the queue; if a
 * worker claims it at the same moment, the guarded transition decides.
 */
import type { Context } from '#src/context.ts'
import { recordChange } from '#src/stores/audit.ts'
import type { Queryable } from '#src/stores/db.ts'
import { publishNotifications } from '#src/queue/notifications.ts'
import { readPage, type PageRequest } from '#src/stores/page.ts'
import type { Tier } from '#src/queue/tiers.ts'
import { readOpenWeeks } from '#src/queue/open-weeks.ts'
import { sql } from '#src/stores/sql.ts'
import type { Weeks } from '#src/stores/weeks.ts'
import type { ColumnName, MessageRow } from './columns.ts'
import { applyTransitions, type Transition } from './transition.ts'
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

/** Soonest first. */
export async function listScheduled(
  db: Queryable,
  workspaceId: string,
  request: PageRequest,
): Promise<{ emails: ScheduledView[]; total: number }> {
  const listing = {
    columns: COLUMNS,
    from: 'messages m',
    where: waits(await readOpenWeeks(db)),
    order: 'm.scheduled_at, m.id',
    values: [workspaceId],
  }
  const { items, total } = await readPage<ScheduledRow>(db, listing, request)
  const emails = items.map((row): ScheduledView => ({
    id: row.id,
    scheduledAt: row.scheduled_at ?? row.created_at, // `waits` selects only scheduled messages
    timezone: row.timezone ?? 'UTC',
    from: { email: row.from_email, name: row.from_name },
    to: row.to_list,
    subject: row.subject,
    tier: row.tier,
    recipientsCount: row.recipient_count,
    createdAt: row.created_at,
  }))
  return { emails, total }
}

/** Cancels a scheduled message. `gone`: at least one recipient is already in the queue or cancelled. */
export async function cancelScheduled(
  ctx: Context,
  workspaceId: string,
  id: string,
): Promise<'cancelled' | 'not-found' | 'gone'> {
  const { rows } = await ctx.db.query<{ n: number; state: string }>(
    sql`
      SELECT r.n, r.state
      FROM messages m
      JOIN recipients r ON r.message_id = m.id
      WHERE m.id = $1 AND m.workspace_id = $2 AND m.scheduled_at IS NOT NULL
    `,
    [id, workspaceId],
  )
  if (rows.length === 0) return 'not-found'
  const waiting = rows.filter(({ state }) => state === 'scheduled')
  const moves = waiting.map(({ n }): Transition => ({
    messageId: id,
    n,
    move: 'cancel',
    lease: null,
    reason: 'cancelled by its sender',
    dueAt: null,
    isCounted: false,
    attempt: null,
    eventData: null,
  }))
  if (moves.length === 0) return 'gone'
  const moved = await ctx.db.transaction(async (tx) => {
    const applied = await applyTransitions(tx, moves, new Date(ctx.clock.now()))
    if (applied.done.size > 0)
      await recordChange(tx, {
        kind: 'mail',
        object: id,
        workspaceId,
        change: 'update',
        before: { state: 'scheduled' },
        after: { state: 'cancelled' },
      })
    return applied
  })
  publishNotifications(ctx, moved)
  return moved.done.size === moves.length ? 'cancelled' : 'gone'
}
