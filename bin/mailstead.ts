/**
 * The command line. A command's module is loaded only when the command is called; its `run` returns the exit code:
 * 0 success, 1 failure, 2 wrong usage. Errors that a person can fix (UserError, an invalid setting) are printed as a
 * message, bugs with their stack.
 */
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'
import { isPackage } from '#bin/supervisor/package-layout.ts'
import { environment } from '#config/environment.ts'
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

/** `setup` writes the file, and a test or a check of the code does not depend on this installation. */
const IGNORES_SETTINGS_FILE = new Set(['setup', 'settings', 'test', 'check', 'bench', 'compile', 'parse-report'])

async function main(args: string[]): Promise<number> {
  const [name = '', ...rest] = args[0] === 'help' ? [args[1] ?? '--help', '--help'] : args
  const row = COMMANDS.find((command) => command.name === name)
  if (row === undefined) return (await import('./root.ts')).runRoot([name, ...rest].filter((word) => word !== ''))
  if (row.examples !== undefined && isHelp(rest)) {
    const { printHelp } = await import('./root.ts')
    printHelp(row)
    return 0
  }
  if (row.needsCheckout === true && isPackage()) {
    process.stderr.write(`mailstead ${name}: works in a checkout of the source, not in a package\n`)
    return 2
  }
  if (!IGNORES_SETTINGS_FILE.has(name)) (await import('#config/saved-settings.ts')).applySettingsFile(environment)
  const command = (await import(`./commands/${name}.ts`)) as Command
  return command.run(rest)
}

function isHelp([first, ...others]: readonly string[]): boolean {
  return (first === '--help' || first === '-h') && others.length === 0
}

/** What an error means to a person: only the message if they can fix it. */
function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.name === 'UserError' || error.name === 'ConfigError' ? error.message : (error.stack ?? error.message)
}

// bin/mailstead sets this too. It is repeated here for callers that start this file directly: threads and child
// processes read it from the environment.
environment['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, '../node_modules/.cache/node')
enableCompileCache(environment['NODE_COMPILE_CACHE'])
ignoreClosedPipes()
try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  process.stderr.write(`mailstead: ${describeError(error)}\n`)
  // Open connections and timers must not keep the process alive.
  process.exit(1)
}
