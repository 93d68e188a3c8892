/**
 * `mailstead lost-mail`: after a restore, names the mail that was accepted and is not in the database any more, and
 * settles mail that waits although it was sent. It reads what the fence found in Redis, and the logs and journals of
 * the outbound processes that it is given (src/operator/sent-mail.ts).
 */
import { createReadStream, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { createGunzip } from 'node:zlib'
import { runAction } from '#bin/cli/actions.ts'
import type { CliAction, CommandCall, CommandIo } from '#bin/cli/call.ts'
import { withContext } from '#bin/cli/context.ts'
import { countText } from '#src/platform/plural.ts'
import { tableText } from '#bin/terminal/terminal-text.ts'
import { timeText } from '#src/platform/time-text.ts'
import { reasonOf, UserError } from '#bin/supervisor/user-error.ts'
import { parseJournal } from '#mta/delivery/journal-format.ts'
import {
  compareWithLog,
  type LoggedAttempt,
  parseLogLine,
  readLostSince,
  type SentRecipient,
  settleSent,
} from '#src/operator/sent-mail.ts'
import { listLost, type LostRecipient } from '#src/queue/lost-mail.ts'

const MAX_FILES = 1000
/** Attempts that are compared at once. */
const SLICE = 10_000
const MAX_SHOWN = 200

const ACTION: CliAction = {
  summary: 'after a restore: name lost mail, and settle mail that was sent already',
  examples: ['', 'data/log/outbound.log data/log/outbound.log.1', '/var/log/mailstead/*.log --yes'],
  usage: '[FILE ...] [--yes]',
  arguments: [0, MAX_FILES],
  flags: ['yes'],
  about: { yes: 'settle the mail that the files show as sent' },
  run: (call) =>
    withContext(call.io, async (ctx) => {
      const since = await readLostSince(ctx.db)
      if (since === null)
        return call.fail(
          'No restore is known: the database was never found to be older than the mail sent.',
          'If you have just restored a backup, start Mailstead, then repeat this.',
        )
      const origin = { since, addressKey: ctx.config.logAddressKey }
      const sent: SentRecipient[] = []
      for (const file of call.arguments)
        for await (const attempts of readAttempts(file)) sent.push(...(await compareWithLog(ctx.db, attempts, origin)))
      const settled = call.has('yes') ? await settleSent(ctx, sent) : null
      return report(call, { since, lost: await listLost(ctx.db), sent, settled })
    }),
}

export function run(args: string[], io?: CommandIo): Promise<number> {
  return runAction('lost-mail', ACTION, args, io)
}

/** The attempts in a log, which may be compressed, or in a journal; in slices. */
async function* readAttempts(file: string): AsyncGenerator<LoggedAttempt[]> {
  try {
    if (file.endsWith('.journal')) {
      yield journaledAttempts(file)
      return
    }
    const bytes = createReadStream(file)
    const failed = new Promise<never>((_, reject) => bytes.once('error', reject))
    failed.catch(() => undefined)
    const input = file.endsWith('.gz') ? bytes.pipe(createGunzip()) : bytes
    let held: LoggedAttempt[] = []
    for await (const line of createInterface({ input, crlfDelay: Infinity })) {
      const attempt = parseLogLine(line)
      if (attempt !== null) held.push(attempt)
      if (held.length < SLICE) continue
      yield held
      held = []
    }
    if (bytes.errored !== null) await failed
    yield held
  } catch (error) {
    throw error instanceof Error && 'code' in error
      ? new UserError(`${file} cannot be read (${reasonOf(error)}).`, 'Check its name and its permissions.')
      : error
  }
}

function journaledAttempts(file: string): LoggedAttempt[] {
  return parseJournal(readFileSync(file)).results.map(({ claimed, transition }) => ({
    messageId: claimed.messageId,
    n: claimed.n,
    to: `@${claimed.domain}`,
    from: null,
    outcome: transition.move,
    at: new Date(),
    source: 'journal',
  }))
}

interface Findings {
  readonly since: Date
  readonly lost: readonly LostRecipient[]
  readonly sent: readonly SentRecipient[]
  /** Null: nothing was to be changed. */
  readonly settled: number | null
}

function report(call: CommandCall, { since, lost, sent, settled }: Findings): number {
  const lostRows = lost
    .slice(0, MAX_SHOWN)
    .map(({ messageId, sender, recipient, outcome, at, source }) => [
      messageId,
      sender ?? '?',
      recipient,
      outcome ?? 'waited',
      timeText(at),
      source,
    ])
  const lostText =
    lost.length === 0
      ? 'No lost mail is known.'
      : `${tableText(['LOST MESSAGE', 'FROM', 'TO', 'LAST KNOWN', 'AT', 'SOURCE'], lostRows)}\n` +
        `${countText(lost.length, 'lost recipient')}. "waited" was not sent: ask its sender to send it again.`
  const sentText =
    settled !== null
      ? `${countText(settled, 'recipient')} settled: they are not sent again.`
      : sent.length === 0
        ? ''
        : `${countText(sent.length, 'waiting recipient was', 'waiting recipients were')} sent already. ` +
          'Settle them before you resume: add --yes.'
  const parts = [`The database lacks changes since ${timeText(since)}.`, lostText, sentText].filter(Boolean)
  return call.respond(parts.join('\n\n'), {
    since,
    lost: lost.map(({ messageId, ...rest }) => ({ message_id: messageId, ...rest })),
    sent: sent.map(({ messageId, ...rest }) => ({ message_id: messageId, ...rest })),
    settled,
  })
}
