/** `mailstead notices`: what only the operator can mend, the latest first; `ack` says that it was read. */
import { userInfo } from 'node:os'
import { type Action, type Actions, type Io, runAction, runActions, UsageError } from '#bin/cli/actions.ts'
import { tableText } from '#bin/terminal/terminal-text.ts'
import { withContext } from '#bin/cli/context.ts'
import { isUuid } from '#src/platform/id.ts'
import { acknowledgeNotices, listNotices } from '#src/operator/notices.ts'

const MOST = 1000

const LIST: Action = {
  usage: 'list [--all]',
  flags: ['all'],
  run: (call) =>
    withContext(call.io, async ({ db }) => {
      const notices = await listNotices(db, { all: call.has('all'), limit: MOST })
      const rows = notices.map((one) => [
        one.id,
        one.kind,
        String(one.count),
        one.lastSeen.toISOString(),
        one.subject,
        one.acknowledgedAt === null ? one.text : `(acknowledged) ${one.text}`,
      ])
      const text =
        rows.length === 0
          ? 'There is nothing to tell.'
          : tableText(['ID', 'KIND', 'COUNT', 'LAST', 'WHAT', 'TEXT'], rows)
      return call.answer(
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

const ACK: Action = {
  usage: 'ack ID|all',
  words: [1, 1],
  run: (call) => {
    const word = call.word(0)
    if (word !== 'all' && !isUuid(word)) throw new UsageError(`${JSON.stringify(word)} is no id of a notice`)
    return withContext(call.io, async ({ db, clock }) => {
      const done = await acknowledgeNotices(db, {
        id: word === 'all' ? null : word,
        by: operatorName(),
        now: new Date(clock.now()),
      })
      if (done === 0 && word !== 'all')
        return call.fail('There is no such open notice; mailstead notices shows those that are open.')
      return call.answer(`${done} notices are acknowledged; what happens again is told anew.`, { acknowledged: done })
    })
  },
}

const ACTIONS: Actions = { list: LIST, ack: ACK }

/** Without a word it lists. */
export function run(args: string[], io?: Io): Promise<number> {
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
