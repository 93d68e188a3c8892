/** `mailstead bounces`: what came back, as it was read; suppressions that wait; and a second look at those that bounces have made. */
import { type Action, type Call, type Io, runActions, UsageError } from '#bin/cli/actions.ts'
import { tableText } from '#bin/terminal/terminal-text.ts'
import { withContext } from '#bin/cli/context.ts'
import { type WrongSuppression, reviewSuppressions } from '#mta/inbound/suppression-review.ts'
import { listReports, readRawReport } from '#mta/inbound/report-list.ts'
import { hexOf, isUuid } from '#src/platform/id.ts'
import { countPending } from '#src/suppression/pending-suppressions.ts'

const USUAL_LIMIT = 50
const MAX_LIMIT = 10_000
const MOST_SHOWN = 1000

function readLimit(call: Call): number {
  const limit = Number(call.option('limit') ?? USUAL_LIMIT)
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT)
    throw new UsageError(`--limit takes a number from 1 to ${MAX_LIMIT}`)
  return limit
}

const ACTIONS: Readonly<Record<string, Action>> = {
  list: {
    usage: 'list [--letters] [--limit N]',
    options: ['limit'],
    flags: ['letters'],
    run: (call) =>
      withContext(call.io, async ({ db }) => {
        const reports = await listReports(db, { isForPostmaster: call.has('letters'), limit: readLimit(call) })
        const rows = reports.map((one) => [
          one.id,
          one.receivedAt.toISOString(),
          one.kind ?? '',
          one.result ?? 'waits',
          one.recipient ?? one.mailFrom,
          one.diagnostic ?? '',
        ])
        const text =
          rows.length === 0
            ? 'Nothing came back.'
            : tableText(['REPORT', 'CAME', 'KIND', 'RESULT', 'ABOUT', 'SAYS'], rows)
        return call.answer(
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
    usage: 'show REPORT',
    words: [1, 1],
    run: (call) =>
      withContext(call.io, async ({ db }) => {
        const raw = isUuid(call.word(0)) ? await readRawReport(db, call.word(0)) : null
        if (raw === null)
          return call.fail(`There is no report ${call.word(0)}; mailstead bounces list names those that are.`)
        const text = raw.toString('utf8')
        return call.answer(text.replaceAll(/(?![\n\t])\p{Cc}/gu, ''), { raw: raw.toString('base64') })
      }),
  },
  held: {
    usage: 'held',
    run: (call) =>
      withContext(call.io, async ({ db }) => {
        const held = await countPending(db)
        const rows = held.map(({ hold, receiver, count, since }) => [
          hold,
          receiver,
          String(count),
          since.toISOString(),
        ])
        const text =
          rows.length === 0 ? 'No suppression waits.' : tableText(['WAITS FOR', 'RECEIVER', 'ADDRESSES', 'SINCE'], rows)
        return call.answer(text, held)
      }),
  },
  review: {
    usage: 'review [--lift]',
    flags: ['lift'],
    run: (call) =>
      withContext(call.io, async ({ db }) => {
        const doubtful: WrongSuppression[] = []
        let count = 0
        for await (const slice of reviewSuppressions(db, call.has('lift'))) {
          count += slice.length
          doubtful.push(...slice.slice(0, MOST_SHOWN - doubtful.length))
        }
        const rows = doubtful.map((one) => [one.address, one.rule, one.reading, one.reply])
        const verdict =
          count === 0
            ? 'All would be suppressed again.'
            : call.has('lift')
              ? `${count} were taken off the list.`
              : `${count} would not be suppressed now; --lift takes them off the list.`
        const table = rows.length === 0 ? '' : `${tableText(['ADDRESS', 'WAS', 'IS', 'REPLY'], rows)}\n\n`
        return call.answer(`${table}${verdict}`, { count, lifted: call.has('lift'), entries: doubtful })
      }),
  },
}

export function run(args: string[], io?: Io): Promise<number> {
  return runActions('bounces', ACTIONS, args, io)
}
