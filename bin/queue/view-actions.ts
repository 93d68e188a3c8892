/** The actions of `mailstead queue` that only read: state of the queue, counts, open mail, and what operators did. */
import { type Action, UsageError } from '#bin/cli/actions.ts'
import { withContext } from '#bin/cli/context.ts'
import { lineText, tableText } from '#bin/terminal/terminal-text.ts'
import { GROUPING_NAMES, countOpen, countTiers, listOpen } from '#src/messages/queue-view.ts'
import { listActions } from '#src/operator/audit-log.ts'
import { hexOf } from '#src/platform/id.ts'
import { listSuspensions, type Suspension } from '#src/queue/suspensions.ts'
import { listReceiverSuspensions, type ReceiverSuspension } from '#src/shaping/receiver-suspensions.ts'
import { fromText } from '#src/shaping/throttle-key.ts'
import { FILTER_USAGE, FILTERS, filterOf, limitOf } from './filter-options.ts'

function suspensionLine({ kind, subject, reason, until }: Suspension): string {
  return `suspended: ${kind} ${subject} (${reason})${until === null ? '' : ` until ${until.toISOString()}`}`
}

function receiverLine({ pace, source, rule, createdAt, until, reply }: ReceiverSuspension): string {
  const times = `since ${createdAt.toISOString()} until ${until.toISOString()}`
  return `suspended: receiver ${pace}${fromText(source)} by rule ${rule} ${times} (${reply})`
}

const status: Action = {
  usage: 'status',
  run: (call) =>
    withContext(call.io, async ({ db, clock }) => {
      const [counts, suspensions] = [await countTiers(db), await listSuspensions(db)]
      const receivers = await listReceiverSuspensions(db, new Date(clock.now()))
      const rows = counts.map((row) => [row.tier, row.state, String(row.count), row.oldestDueAt.toISOString()])
      const text = rows.length === 0 ? 'The queue is empty.' : tableText(['TIER', 'STATE', 'COUNT', 'OLDEST DUE'], rows)
      const lines = [...suspensions.map(suspensionLine), ...receivers.map(receiverLine)]
      return call.answer([text, ...lines.map(lineText)].join('\n'), {
        counts: counts.map((row) => ({
          tier: row.tier,
          state: row.state,
          count: row.count,
          oldest_due_at: row.oldestDueAt,
        })),
        suspensions: suspensions.map(({ kind, subject, reason, createdAt, until }) => ({
          kind,
          subject,
          ...(kind === 'domain' ? { domain: subject } : {}),
          reason,
          created_at: createdAt,
          until,
        })),
        receivers: receivers.map(({ pace, source, workspaceId, rule, reply, createdAt, until }) => ({
          receiver: pace,
          source,
          workspace_id: workspaceId,
          rule,
          reply,
          created_at: createdAt,
          until,
        })),
      })
    }),
}

const count: Action = {
  usage: `count --by ${GROUPING_NAMES.join('|')} ${FILTER_USAGE} [--limit N]`,
  options: [...FILTERS, 'by', 'limit'],
  run: (call) => {
    const by = GROUPING_NAMES.find((name) => name === call.required('by'))
    if (by === undefined) throw new UsageError(`--by is one of ${GROUPING_NAMES.join(', ')}`)
    return withContext(call.io, async (ctx) => {
      const counts = await countOpen(ctx.db, await filterOf(call, ctx), by, limitOf(call))
      const rows = counts.map((row) => [row.name, String(row.count), row.oldestDueAt.toISOString()])
      return call.answer(
        rows.length === 0 ? 'Nothing is open.' : tableText([by.toUpperCase(), 'COUNT', 'OLDEST DUE'], rows),
        counts.map((row) => ({ [by]: row.name, count: row.count, oldest_due_at: row.oldestDueAt })),
      )
    })
  },
}

const list: Action = {
  usage: `list ${FILTER_USAGE} [--limit N]`,
  options: [...FILTERS, 'limit'],
  run: (call) =>
    withContext(call.io, async (ctx) => {
      const { open } = await listOpen(ctx.db, await filterOf(call, ctx), { limit: limitOf(call), cursor: null })
      const rows = open.map((one) => [
        `em_${hexOf(one.messageId)}`,
        one.tier,
        one.state,
        one.dueAt.toISOString(),
        one.address,
        one.reason ?? '',
      ])
      return call.answer(
        rows.length === 0
          ? 'Nothing is open.'
          : tableText(['MESSAGE', 'TIER', 'STATE', 'DUE', 'RECIPIENT', 'WHY'], rows),
        open.map((one) => ({
          email_id: `em_${hexOf(one.messageId)}`,
          recipient: one.address,
          workspace_id: one.workspaceId,
          tier: one.tier,
          state: one.state,
          due_at: one.dueAt,
          tries: one.tries,
          reason: one.reason,
        })),
      )
    }),
}

const history: Action = {
  usage: 'actions [--limit N]',
  options: ['limit'],
  run: (call) =>
    withContext(call.io, async ({ db }) => {
      const actions = await listActions(db, { before: null, limit: limitOf(call) })
      const rows = actions.map((one) => [
        one.beganAt.toISOString(),
        one.verb,
        JSON.stringify(one.subject),
        one.state,
        String(one.moved),
        one.by,
        one.reason,
      ])
      return call.answer(
        rows.length === 0
          ? 'Nothing was changed yet.'
          : tableText(['WHEN', 'WHAT', 'WHICH', 'STATE', 'MOVED', 'WHO', 'WHY'], rows),
        actions.map(({ beganAt, endedAt, ...one }) => ({ ...one, began_at: beganAt, ended_at: endedAt })),
      )
    }),
}

export const VIEW_ACTIONS = { status, count, list, actions: history }
