/**
 * `mailstead` without a command that exists: its help, its version, and the nearest command for a misspelled one.
 * Loaded only then, so that a command starts without it.
 */
import { Command, CommanderError } from 'commander'
import { exampleText } from '#bin/cli/parser.ts'
import { colourError, hasColours, heading } from '#bin/terminal/colours.ts'
import { COMMANDS, type CommandRow } from './command-list.ts'
import { softwareVersion } from '#src/platform/version.ts'

const MORE = `
\`mailstead COMMAND --help\` prints the usage and examples of a command.
Settings are environment variables: see docs/reference/settings.md or \`mailstead settings\`.
`
const EXAMPLES = [
  'mailstead start',
  'mailstead inbox --last',
  'mailstead key create --workspace Acme --type admin',
  'mailstead explain em_01a2030fd8d97000b0498c868fabd4db',
]

/** Answers `--help`, `--version` and a missing or unknown command. Returns the exit code. */
export function runRoot(args: readonly string[]): number {
  const program = createProgram()
  const known = args.length === 0 ? ['--help'] : args
  try {
    program.parse(known, { from: 'user' })
    return 0
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode === 0) return 0
    const [text = '', suggestion = ''] = error.message.replace(/^error: /, '').split('\n')
    const word = JSON.stringify(/'([^']*)'/.exec(text)?.[1] ?? args[0])
    const kind = error.code === 'commander.unknownOption' ? 'option' : 'command'
    const nearest = suggestion === '' ? '' : `. ${suggestion.replace(/^\(|\)$/g, '')}`
    const message = colourError(`mailstead: unknown ${kind} ${word}${nearest}`, hasColours(process.stderr))
    process.stderr.write(`${message}\n\nUsage: mailstead <command> [options]\n`)
    process.stderr.write('`mailstead --help` lists the commands.\n')
    return 2
  }
}

/** The help of a command that does not use `bin/cli`. */
export function printHelp({ name, summary, usage = '', examples = [] }: CommandRow): void {
  const lines = examples.map((example) => `mailstead ${name} ${example}`.trim())
  const shown = new Command()
    .name(`mailstead ${name}`)
    .usage(usage === '' ? ' ' : usage)
    .description(summary)
    .helpOption('-h, --help', 'print this help')
    .addHelpText('after', `\n${exampleText(lines)}`)
    .configureHelp({ styleTitle: heading })
  shown.outputHelp()
}

function createProgram(): Command {
  const program = new Command('mailstead')
    .usage('<command> [options]')
    .version(`mailstead ${softwareVersion()}`, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand(false)
    .commandsGroup('Commands:')
    .exitOverride()
    .configureOutput({ writeErr: () => {}, getOutHelpWidth: () => process.stdout.columns ?? 120 })
    .configureHelp({ styleTitle: heading, subcommandTerm: (command) => command.name() })
    .addHelpText('after', `\n${exampleText(EXAMPLES)}${MORE}`)
  for (const { name, summary } of COMMANDS) program.command(name).description(summary)
  return program
}
