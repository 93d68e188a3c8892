/**
 * The command line. A command's module is loaded only when the command is called; its `run` returns the exit code:
 * 0 success, 1 failure, 2 wrong usage. Errors that a person can fix (UserError, an invalid setting) are printed as a
 * message, bugs with their stack.
 */
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'
import { environment } from '#config/environment.ts'
import { ConfigError } from '#config/load.ts'
import { UserError } from '#bin/supervisor/user-error.ts'
import { COMMANDS } from './command-list.ts'

/**
 * A reader that has enough, such as `head`, closes the pipe. What is written after that is discarded, and the command
 * does the rest of its work.
 */
function ignoreClosedPipes(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error
    })
  }
}

interface Command {
  run(args: string[]): Promise<number>
}

async function main([name = '--help', ...args]: string[]): Promise<number> {
  if (['--help', '-h', 'help'].includes(name)) {
    process.stdout.write(usage())
    return 0
  }
  if (!COMMANDS.some((command) => command.name === name)) {
    process.stderr.write(`mailstead: unknown command ${JSON.stringify(name)}\n\n${usage()}`)
    return 2
  }
  const command = (await import(`./commands/${name}.ts`)) as Command
  return command.run(args)
}

function usage(): string {
  const rows = COMMANDS.map(({ name, summary }) => `  ${name.padEnd(13)} ${summary}`)
  const more =
    '`mailstead <command> --help` prints the usage of a command.\n' +
    'Settings are environment variables: see docs/reference/settings.md or `mailstead settings`.'
  return `Usage: mailstead <command> [options]\n\n${rows.join('\n')}\n\n${more}\n`
}

// bin/mailstead sets this too. It is repeated here for callers that start this file directly: threads and child
// processes read it from the environment.
environment['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, '../node_modules/.cache/node')
enableCompileCache(environment['NODE_COMPILE_CACHE'])
ignoreClosedPipes()
try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  const isPlain = error instanceof UserError || error instanceof ConfigError
  process.stderr.write(`mailstead: ${isPlain ? error.message : error instanceof Error ? error.stack : String(error)}\n`)
  // Open connections and timers must not keep the process alive.
  process.exit(1)
}
