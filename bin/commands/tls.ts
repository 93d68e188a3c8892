/** `mailstead tls`: the operator's own rules about TLS with recipient domains (docs/guides/transport-security.md). They hold within seconds. */
import { domainToASCII } from 'node:url'
import { type Action, type Call, type Io, runActions, UsageError } from '#bin/cli/actions.ts'
import { tableText } from '#bin/terminal/terminal-text.ts'
import { withContext } from '#bin/cli/context.ts'
import { listTlsRules, removeTlsRule, setTlsRule, TLS_LEVELS } from '#mta/security/tls-rules.ts'

function readDomain(call: Call): string {
  const domain = domainToASCII(call.word(0))
  if (!/^[a-z0-9_-]+(\.[a-z0-9_-]+)+$/.test(domain))
    throw new UsageError(`${JSON.stringify(call.word(0))} is no domain`)
  return domain
}

const ACTIONS: Readonly<Record<string, Action>> = {
  list: {
    usage: 'list',
    run: (call) =>
      withContext(call.io, async ({ db }) => {
        const rules = await listTlsRules(db)
        const table = tableText(
          ['DOMAIN', 'TLS'],
          rules.map(({ domain, level }) => [domain, level]),
        )
        return call.answer(
          rules.length === 0 ? 'There are no rules: every domain is asked what it wants.' : table,
          rules,
        )
      }),
  },
  set: {
    usage: `set DOMAIN ${TLS_LEVELS.join('|')}`,
    words: [2, 2],
    run: (call) =>
      withContext(call.io, async ({ db }) => {
        const domain = readDomain(call)
        const level = TLS_LEVELS.find((known) => known === call.word(1))
        if (level === undefined) throw new UsageError(`the level is one of ${TLS_LEVELS.join(', ')}`)
        await setTlsRule(db, { domain, level })
        return call.answer(`TLS with ${domain} is ${level}.`, { domain, level })
      }),
  },
  unset: {
    usage: 'unset DOMAIN',
    words: [1, 1],
    run: (call) =>
      withContext(call.io, async ({ db }) => {
        const domain = readDomain(call)
        const isRemoved = await removeTlsRule(db, domain)
        if (!isRemoved)
          return call.fail(`There is no rule for ${domain}; mailstead tls list shows those that there are.`)
        return call.answer(`${domain} is asked what it wants again.`, { unset: domain })
      }),
  },
}

export function run(args: string[], io?: Io): Promise<number> {
  return runActions('tls', ACTIONS, args, io)
}
