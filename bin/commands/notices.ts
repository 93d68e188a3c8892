/** `mailstead notices`: problems that only the operator can fix, newest first; `ack` acknowledges them. */
import { userInfo } from 'node:os'
import { type CliAction, type CliActions, type CommandIo, runAction, runActions, UsageError } from '#bin/cli/actions.ts'
import { tableText } from '#bin/terminal/terminal-text.ts'
import { withContext } from '#bin/cli/context.ts'
import { isUuid } from '#src/platform/id.ts'
import { acknowledgeNotices, listNotices } from '#src/operator/notices.ts'

const MAX_NOTICES = 1000

const LIST: CliAction = {
  usage: 'list [--all]',
  flags: ['all'],
  run: (call) =>
    withContext(call.io, async ({ db }) => {
      const notices = await listNotices(db, { all: call.has('all'), limit: MAX_NOTICES })
      const rows = notices.map((one) => [
        one.id,
        one.kind,
        String(one.count),
        one.lastSeen.toISOString(),
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
      if (done === 0 && word !== 'all') return call.fail('No open notice has this id. See mailstead notices.')
      return call.respond(`${done} notices are acknowledged. If a problem occurs again, a new notice appears.`, {
        acknowledged: done,
      })
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

function operatorName(): string {
  try {
    return `command line, ${userInfo().username}`
  } catch {
    return 'command line' // a user id without a name
  }
}
