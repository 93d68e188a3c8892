/**
 * `mailstead bounces`: received bounces and complaints, suppressions on hold, and a review of suppressions by bounces.
 */
import { countText } from '#src/platform/plural.ts'
import { runActions } from '#bin/cli/actions.ts'
import { type CliAction, type CommandCall, type CommandIo, UsageError } from '#bin/cli/call.ts'
import { tableText } from '#bin/terminal/terminal-text.ts'
import { timeText } from '#src/platform/time-text.ts'
import { withContext } from '#bin/cli/context.ts'
import { reviewSuppressions } from '#mta/inbound/suppression-review.ts'
import { listReports, readRawReport } from '#src/suppression/report-list.ts'
import { hexOf, isUuid } from '#src/platform/id.ts'
import { countPending } from '#src/suppression/pending-suppressions.ts'
import { MAX_REVIEW_ENTRIES, type WrongSuppression } from '#src/suppression/suppression-reviews.ts'

const DEFAULT_LIMIT = 50
const MAX_LIMIT = 10_000

function readLimit(call: CommandCall): number {
  const limit = Number(call.option('limit') ?? DEFAULT_LIMIT)
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT)
    throw new UsageError(`--limit must be a number from 1 to ${MAX_LIMIT}`)
  return limit
}

const ACTIONS: Readonly<Record<string, CliAction>> = {
  list: {
    summary: 'list received bounces and complaints, newest first',
    examples: ['list --limit 20'],
    usage: 'list [--letters] [--limit N]',
    options: ['limit'],
    flags: ['letters'],
    run: (call) =>
      withContext(call.io, async ({ db }) => {
        const { items: reports } = await listReports(db, {
          isForPostmaster: call.has('letters'),
          limit: readLimit(call),
          at: null,
        })
        const rows = reports.map((one) => [
          one.id,
          timeText(one.receivedAt),
          one.kind ?? '',
          one.result ?? 'waiting',
          one.recipient ?? one.mailFrom,
          one.diagnostic ?? '',
        ])
        const text =
          rows.length === 0
            ? 'No reports.'
            : tableText(['REPORT', 'RECEIVED', 'KIND', 'RESULT', 'RECIPIENT', 'DIAGNOSTIC'], rows)
        return call.respond(
          text,
          reports.map((one) => ({
            id: one.id,
            received_at: one.receivedAt,
            kind: one.kind,
            result: one.result,
            recipient: one.recipient,
            mail_from: one.mailFrom,
            peer: one.peer,
            email_id: one.messageId === null ? null : `em_${hexOf(one.messageId)}`,
            diagnostic: one.diagnostic,
          })),
        )
      }),
  },
  show: {
    summary: 'print a report as it was received',
    examples: ['show 01a20314-289b-7000-8f4e-5ae8a3a5d6a1'],
    usage: 'show REPORT',
    arguments: [1, 1],
    run: (call) =>
      withContext(call.io, async ({ db }) => {
        const raw = isUuid(call.argument(0)) ? await readRawReport(db, call.argument(0)) : null
        if (raw === null) return call.fail(`No report ${call.argument(0)} exists.`, 'See mailstead bounces list.')
        const text = raw.toString('utf8')
        return call.respond(text.replaceAll(/(?![\n\t])\p{Cc}/gu, ''), { raw: raw.toString('base64') })
      }),
  },
  held: {
    summary: 'count suppressions on hold, by receiver',
    examples: ['held'],
    usage: 'held',
    run: (call) =>
      withContext(call.io, async ({ db }) => {
        const held = await countPending(db)
        const rows = held.map(({ hold, receiver, count, since }) => [hold, receiver, String(count), timeText(since)])
        const text =
          rows.length === 0 ? 'No suppressions on hold.' : tableText(['HOLD', 'RECEIVER', 'ADDRESSES', 'SINCE'], rows)
        return call.respond(text, held)
      }),
  },
  review: {
    summary: "check past suppressions by today's rules",
    examples: ['review', 'review --lift'],
    usage: 'review [--lift]',
    flags: ['lift'],
    run: (call) =>
      withContext(call.io, async ({ db }) => {
        const doubtful: WrongSuppression[] = []
        let count = 0
        for await (const slice of reviewSuppressions(db, call.has('lift'))) {
          count += slice.length
          doubtful.push(...slice.slice(0, MAX_REVIEW_ENTRIES - doubtful.length))
        }
        const rows = doubtful.map((one) => [one.address, one.rule, one.reading, one.reply])
        const verdict =
          count === 0
            ? 'Today the same addresses would be suppressed.'
            : call.has('lift')
              ? `${countText(count, 'address', 'addresses')} removed from the suppression list.`
              : `${countText(count, 'address', 'addresses')} would not be suppressed today. To remove them, add --lift`
        const table = rows.length === 0 ? '' : `${tableText(['ADDRESS', 'BEFORE', 'NOW', 'REPLY'], rows)}\n\n`
        return call.respond(`${table}${verdict}`, { count, lifted: call.has('lift'), entries: doubtful })
      }),
  },
}

export function run(args: string[], io?: CommandIo): Promise<number> {
  return runActions('bounces', ACTIONS, args, io)
}
