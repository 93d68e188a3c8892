/** The read-only actions of `mailstead queue`: status, counts, open mail, and the actions of operators. */
import { type CliAction } from '#bin/cli/call.ts'
import { withContext } from '#bin/cli/context.ts'
import { lineText, tableText } from '#bin/terminal/terminal-text.ts'
import { timeText } from '#src/platform/time-text.ts'
import { GROUPING_NAMES, countOpen, countTiers, listOpen } from '#src/messages/queue-view.ts'
import { listActions } from '#src/operator/action-log.ts'
import { hexOf } from '#src/platform/id.ts'
import { listSuspensions, type Suspension } from '#src/queue/suspensions.ts'
import { listReceiverSuspensions, type ReceiverSuspension } from '#src/shaping/receiver-suspensions.ts'
import { fromText } from '#src/shaping/throttle-key.ts'
import { FILTER_USAGE, FILTERS, readFilter, readLimit } from './filter-options.ts'

function suspensionLine({ kind, subject, scope, reason, until }: Suspension): string {
  const all = scope === 'all' ? ', with its keys and links' : ''
  return `suspended: ${kind} ${subject} (${reason})${all}${until === null ? '' : ` until ${timeText(until)}`}`
}

function receiverLine({ pace, source, rule, createdAt, until, reply }: ReceiverSuspension): string {
  const times = `since ${timeText(createdAt)} until ${timeText(until)}`
  return `suspended: receiver ${pace}${fromText(source)} by rule ${rule} ${times} (${reply})`
}

const status: CliAction = {
  summary: 'count the open mail by tier and state, and list what is suspended',
  examples: ['status'],
  usage: 'status',
  run: (call) =>
    withContext(call.io, async ({ db, clock }) => {
      const [counts, suspensions] = [await countTiers(db), await listSuspensions(db)]
      const receivers = await listReceiverSuspensions(db, new Date(clock.now()))
      const rows = counts.map((row) => [row.tier, row.state, String(row.count), timeText(row.oldestDueAt)])
      const text = rows.length === 0 ? 'The queue is empty.' : tableText(['TIER', 'STATE', 'COUNT', 'OLDEST DUE'], rows)
      const lines = [...suspensions.map(suspensionLine), ...receivers.map(receiverLine)]
      return call.respond([text, ...lines.map(lineText)].join('\n'), {
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

const count: CliAction = {
  summary: 'count open recipients by one property',
  examples: ['count --by domain', 'count --by age --workspace Acme'],
  usage: `count --by ${GROUPING_NAMES.join('|')} ${FILTER_USAGE} [--limit N]`,
  options: [...FILTERS, 'by', 'limit'],
  run: (call) => {
    const by = call.choice('by', GROUPING_NAMES)
    return withContext(call.io, async (ctx) => {
      const counts = await countOpen(ctx.db, await readFilter(call, ctx), by, readLimit(call))
      const rows = counts.map((row) => [row.name, String(row.count), timeText(row.oldestDueAt)])
      return call.respond(
        rows.length === 0 ? 'The queue is empty.' : tableText([by.toUpperCase(), 'COUNT', 'OLDEST DUE'], rows),
        counts.map((row) => ({ [by]: row.name, count: row.count, oldest_due_at: row.oldestDueAt })),
      )
    })
  },
}

const list: CliAction = {
  summary: 'list open recipients and what they wait for',
  examples: ['list', 'list --domain example.com --older-than 2h'],
  usage: `list ${FILTER_USAGE} [--limit N]`,
  options: [...FILTERS, 'limit'],
  run: (call) =>
    withContext(call.io, async (ctx) => {
      const deps = { db: ctx.db, now: new Date(ctx.clock.now()), shapingFile: ctx.config.shapingFile }
      const { open } = await listOpen(deps, await readFilter(call, ctx), { limit: readLimit(call), cursor: null })
      const rows = open.map((one) => [
        `em_${hexOf(one.messageId)}`,
        one.tier,
        one.state,
        timeText(one.dueAt),
        one.address,
        one.reason ?? '',
      ])
      return call.respond(
        rows.length === 0
          ? 'The queue is empty.'
          : tableText(['MESSAGE', 'TIER', 'STATE', 'DUE', 'RECIPIENT', 'REASON'], rows),
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

const history: CliAction = {
  summary: 'list what operators did',
  examples: ['actions --limit 20'],
  usage: 'actions [--limit N]',
  options: ['limit'],
  run: (call) =>
    withContext(call.io, async ({ db }) => {
      const { items: actions } = await listActions(db, { before: null, limit: readLimit(call) })
      const rows = actions.map((one) => [
        timeText(one.beganAt),
        one.verb,
        JSON.stringify(one.subject),
        one.state,
        String(one.moved),
        one.by,
        one.reason,
      ])
      return call.respond(
        rows.length === 0
          ? 'No actions yet.'
          : tableText(['TIME', 'ACTION', 'FILTER', 'STATE', 'CHANGED', 'BY', 'REASON'], rows),
        actions.map(({ beganAt, endedAt, ...one }) => ({ ...one, began_at: beganAt, ended_at: endedAt })),
      )
    }),
}

export const VIEW_ACTIONS = { status, count, list, actions: history }
