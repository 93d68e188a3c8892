/**
 * `mailstead tls`: the operator's TLS rules for recipient domains (docs/guides/transport-security.md). They take effect
 * within seconds.
 */
import { domainToASCII } from 'node:url'
import { runActions } from '#bin/cli/actions.ts'
import { choose, type CliAction, type CommandCall, type CommandIo, UsageError } from '#bin/cli/call.ts'
import { tableText } from '#bin/terminal/terminal-text.ts'
import { withContext } from '#bin/cli/context.ts'
import { listTlsRules, removeTlsRule, setTlsRule, TLS_LEVELS } from '#src/operator/tls-rules.ts'

function readDomain(call: CommandCall): string {
  const domain = domainToASCII(call.argument(0))
  if (!/^[a-z0-9_-]+(\.[a-z0-9_-]+)+$/.test(domain))
    throw new UsageError(`${JSON.stringify(call.argument(0))} is not a valid domain`)
  return domain
}

const ACTIONS: Readonly<Record<string, CliAction>> = {
  list: {
    summary: 'list the TLS rules',
    examples: ['list'],
    usage: 'list',
    run: (call) =>
      withContext(call.io, async ({ db }) => {
        const rules = await listTlsRules(db)
        const table = tableText(
          ['DOMAIN', 'TLS'],
          rules.map(({ domain, level }) => [domain, level]),
        )
        return call.respond(
          rules.length === 0 ? "No rules: each domain's own policy (DANE, MTA-STS) applies." : table,
          rules,
        )
      }),
  },
  set: {
    summary: 'set the TLS level of a recipient domain',
    examples: ['set bank.example required'],
    usage: `set DOMAIN ${TLS_LEVELS.join('|')}`,
    arguments: [2, 2],
    run: (call) =>
      withContext(call.io, async ({ db }) => {
        const domain = readDomain(call)
        const level = choose('the level', TLS_LEVELS, call.argument(1))
        await setTlsRule(db, { domain, level })
        return call.respond(`TLS with ${domain} is ${level}.`, { domain, level })
      }),
  },
  unset: {
    summary: 'remove the rule of a recipient domain',
    examples: ['unset bank.example'],
    usage: 'unset DOMAIN',
    arguments: [1, 1],
    run: (call) =>
      withContext(call.io, async ({ db }) => {
        const domain = readDomain(call)
        const isRemoved = await removeTlsRule(db, domain)
        if (!isRemoved) return call.fail(`No rule for ${domain} exists.`, 'See mailstead tls list.')
        return call.respond(`The rule for ${domain} is removed; the domain's own policy (DANE, MTA-STS) applies.`, {
          unset: domain,
        })
      }),
  },
}

export function run(args: string[], io?: CommandIo): Promise<number> {
  return runActions('tls', ACTIONS, args, io)
}
