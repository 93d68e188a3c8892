/**
 * `mailstead link`: blocks a link in mail, such as the target of a phishing mail that was reported. The endpoints
 * /admin/blocked-links do the same.
 */
import { runActions } from '#bin/cli/actions.ts'
import { type CliActions, type CommandCall, type CommandIo, UsageError } from '#bin/cli/call.ts'
import { withContext } from '#bin/cli/context.ts'
import { operatorName } from '#bin/cli/operator-name.ts'
import { tableText } from '#bin/terminal/terminal-text.ts'
import {
  blockLink,
  listBlockedLinks,
  readBlockable,
  unblockLink,
  type BlockedTarget,
} from '#src/tracking/blocked-links.ts'

function readTarget(call: CommandCall): BlockedTarget {
  const target = readBlockable(call.argument(0))
  if (target !== null) return target
  throw new UsageError('give a link from a mail, the URL that it leads to, or a host name')
}

const shown = ({ kind, subject }: BlockedTarget): string =>
  kind === 'mail'
    ? `The hosted mail ${subject}`
    : kind === 'host'
      ? `Every link to ${subject}`
      : `The link to ${subject}`

const ACTIONS: CliActions = {
  block: {
    summary: 'block a link in all mail',
    examples: ['block https://phish.example/login', 'block phish.example --reason "reported by a bank"'],
    usage: 'block LINK|URL|HOST [--reason WHY]',
    options: ['reason'],
    arguments: [1, 1],
    run: (call) => {
      const target = readTarget(call)
      return withContext(call.io, async ({ db }) => {
        const reason = call.option('reason') ?? 'blocked by the operator'
        const blocked = await blockLink(db, { ...target, reason, blockedBy: operatorName() })
        if (blocked === null)
          return call.fail('Too many links are blocked.', 'Block their hosts, and unblock the links.')
        const text = `${shown(target)} is blocked, in all mail, within 5 seconds.`
        return call.respond(text, { blocked: target.subject, kind: target.kind, reason })
      })
    },
  },
  unblock: {
    summary: 'unblock a link',
    examples: ['unblock https://phish.example/login', 'unblock phish.example'],
    usage: 'unblock LINK|URL|HOST',
    arguments: [1, 1],
    run: (call) => {
      const target = readTarget(call)
      return withContext(call.io, async ({ db }) => {
        if (!(await unblockLink(db, target)))
          return call.fail(`${shown(target)} is not blocked.`, 'See mailstead link list.')
        return call.respond(`${shown(target)} works again.`, { unblocked: target.subject, kind: target.kind })
      })
    },
  },
  list: {
    summary: 'list the blocked links, newest first',
    examples: ['list', 'list --json'],
    usage: 'list',
    run: (call) =>
      withContext(call.io, async ({ db }) => {
        const links = await listBlockedLinks(db)
        const rows = links.map(({ kind, subject, reason, blockedBy }) => [kind, subject, blockedBy, reason])
        const text = rows.length === 0 ? 'No link is blocked.' : tableText(['KIND', 'LINK', 'BY', 'REASON'], rows)
        return call.respond(
          text,
          links.map(({ id, kind, subject, reason, blockedBy }) => ({
            id,
            kind,
            subject,
            reason,
            blocked_by: blockedBy,
          })),
        )
      }),
  },
}

export function run(args: string[], io?: CommandIo): Promise<number> {
  return runActions('link', ACTIONS, args, io)
}
