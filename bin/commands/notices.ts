/** `mailstead notices`: problems that only the operator can fix, newest first; `ack` acknowledges them. */
import { countText } from '#src/platform/plural.ts'
import { operatorName } from '#bin/cli/operator-name.ts'
import { runAction, runActions } from '#bin/cli/actions.ts'
import { type CliAction, type CliActions, type CommandIo, UsageError } from '#bin/cli/call.ts'
import { tableText } from '#bin/terminal/terminal-text.ts'
import { timeText } from '#src/platform/time-text.ts'
import { withContext } from '#bin/cli/context.ts'
import { isUuid } from '#src/platform/id.ts'
import { acknowledgeNotices, listNotices } from '#src/operator/notices.ts'

const MAX_NOTICES = 1000

const LIST: CliAction = {
  summary: 'list problems that only the operator can fix, newest first',
  examples: ['list', 'list --all'],
  usage: 'list [--all]',
  flags: ['all'],
  run: (call) =>
    withContext(call.io, async ({ db }) => {
      const { items: notices } = await listNotices(db, { all: call.has('all'), limit: MAX_NOTICES })
      const rows = notices.map((one) => [
        one.id,
        one.kind,
        String(one.count),
        timeText(one.lastSeen),
        one.subject,
        one.acknowledgedAt === null ? one.text : `(acknowledged) ${one.text}`,
      ])
      const text = rows.length === 0 ? 'No notices.' : tableText(['ID', 'KIND', 'COUNT', 'LAST', 'WHAT', 'TEXT'], rows)
      return call.respond(
        text,
        notices.map(({ firstSeen, lastSeen, acknowledgedAt, acknowledgedBy, ...one }) => ({
          ...one,
          first_seen: firstSeen,
          last_seen: lastSeen,
          acknowledged_at: acknowledgedAt,
          acknowledged_by: acknowledgedBy,
        })),
      )
    }),
}

const ACK: CliAction = {
  summary: 'acknowledge a notice, or all',
  examples: ['ack 01a2030f-9f42-7000-bd8c-d55ffa802841', 'ack all'],
  usage: 'ack ID|all',
  arguments: [1, 1],
  run: (call) => {
    const word = call.argument(0)
    if (word !== 'all' && !isUuid(word)) throw new UsageError(`${JSON.stringify(word)} is not a notice id`)
    return withContext(call.io, async ({ db, clock }) => {
      const done = await acknowledgeNotices(db, {
        id: word === 'all' ? null : word,
        by: operatorName(),
        now: new Date(clock.now()),
      })
      if (done === 0 && word !== 'all') return call.fail('No open notice has this id.', 'See mailstead notices.')
      return call.respond(
        `${countText(done, 'notice')} acknowledged. If a problem occurs again, a new notice appears.`,
        {
          acknowledged: done,
        },
      )
    })
  },
}

const ACTIONS: CliActions = { list: LIST, ack: ACK }

/** Without an action it lists. */
export function run(args: string[], io?: CommandIo): Promise<number> {
  const [first = '--'] = args
  return first.startsWith('--') && first !== '--help'
    ? runAction('notices', LIST, args, io)
    : runActions('notices', ACTIONS, args, io)
}
