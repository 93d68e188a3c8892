/**
 * The command line: one row per command, loaded only when it is called. A command's `run` answers the exit code:
 * 0 done, 1 it failed, 2 wrong use. What a person can mend (Trouble, a wrong setting) is told in words, a bug with its stack.
 */
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'
import { ConfigError } from '#config/load.ts'
import { Trouble } from './supervisor/trouble.ts'

interface Command {
  run(args: string[]): Promise<number>
}

/** A row's module is `commands/<name>.ts`. */
const COMMANDS: readonly (readonly [name: string, summary: string])[] = [
  ['start', 'run everything on this machine'],
  ['demo', 'send on all tiers through the real path and show each outcome'],
  ['api', 'run the REST API and pages'],
  ['mta', 'run mail transfer (--roles outbound,inbound,submission,sandbox)'],
  ['worker', 'run webhooks, checks and housekeeping'],
  ['migrate', 'bring the database to this version'],
  ['workspace', 'create workspaces'],
  ['key', 'create API keys'],
  ['domain', 'add and verify sending domains'],
  ['egress', 'set the addresses that mail leaves from, and their pools'],
  ['account', 'connect mailboxes and SMTP servers that mail leaves through'],
  ['queue', 'see, retry, suspend, resume and drop queued mail'],
  ['shaping', 'check and try out the limits of receivers, see what they stopped'],
  ['tls', 'require TLS of recipient domains, or take less than they ask for'],
  ['tls-reports', 'what others report of TLS with our own mail domains'],
  ['explain', 'tell all that is known about one message'],
  ['bounces', 'see what came back, and review what it suppressed'],
  ['notices', 'see what only the operator can mend, and acknowledge it'],
  ['dry-run', 'rehearse a message to a recipient: every gate, DNS, connection, MAIL and RCPT; nothing is sent'],
  ['parse-report', 'read a bounce or complaint on stdin'],
  ['inbox', 'list what the sandbox received'],
  ['compile', 'compile what the roles run, so that they start quicker and take less memory (start does it)'],
  ['settings', 'print all settings with their defaults'],
  ['doctor', 'check this installation and say what is wrong'],
  ['test', 'run all checks and tests (further arguments go to mocha)'],
  ['bench', 'measure throughput and latency on this machine'],
]

async function main([name = '--help', ...args]: string[]): Promise<number> {
  if (['--help', '-h', 'help'].includes(name)) {
    process.stdout.write(usage())
    return 0
  }
  if (!COMMANDS.some(([known]) => known === name)) {
    process.stderr.write(`mailstead: there is no command ${JSON.stringify(name)}\n\n${usage()}`)
    return 2
  }
  const command = (await import(`./commands/${name}.ts`)) as Command
  return command.run(args)
}

function usage(): string {
  const rows = COMMANDS.map(([name, summary]) => `  ${name.padEnd(13)} ${summary}`)
  const more = 'mailstead <command> --help tells more. Settings come from the environment: docs/settings.md'
  return `Usage: mailstead <command> [options]\n\n${rows.join('\n')}\n\n${more}\n`
}

// As bin/mailstead does, for who starts this file by itself: threads and children find it in the environment.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, '../node_modules/.cache/node')
enableCompileCache(process.env['NODE_COMPILE_CACHE'])
try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  const isPlain = error instanceof Trouble || error instanceof ConfigError
  process.stderr.write(`mailstead: ${isPlain ? error.message : error instanceof Error ? error.stack : String(error)}\n`)
  // What was open when it failed must not keep the process.
  process.exit(1)
}
