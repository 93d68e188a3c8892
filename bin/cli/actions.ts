/**
 * The command-line frame of the operator's commands: parses and validates arguments (exit code 2, with the usage), and
 * prints results as text or, with `--json`, as JSON. Failures that a person can fix exit with 1 and a message; any
 * other error is a bug and is thrown on.
 */
import { environment } from '#config/environment.ts'
import { colourError, hasColours } from '#bin/terminal/colours.ts'
import { type CliAction, type CliActions, type CommandIo, UsageError } from './call.ts'
import { type Parsed, parseAction, parseActions, usageText } from './parser.ts'

const PROCESS_IO: CommandIo = {
  env: environment,
  get hasColours() {
    return { out: hasColours(process.stdout), err: hasColours(process.stderr) }
  },
  get isInteractive() {
    return process.stderr.isTTY
  },
  out: (text) => {
    process.stdout.write(text)
  },
  err: (text) => {
    process.stderr.write(text)
  },
}

/** Runs a command with several actions; the first argument names the action. */
export function runActions(
  command: string,
  actions: CliActions,
  args: readonly string[],
  io: CommandIo = PROCESS_IO,
): Promise<number> {
  const [first = '', second = ''] = args
  const one = [`${first} ${second}`, first].find((name) => Object.hasOwn(actions, name))
  const named = Object.entries(actions).filter(([name]) =>
    one === undefined ? name.startsWith(`${first} `) : name === one,
  )
  const usages = named.length > 0 ? named : Object.entries(actions)
  const usage = usageText(
    command,
    usages.map(([, action]) => action),
  )
  return runParsed(command, usage, io, () => parseActions(command, actions, args, io))
}

/** Runs a command with one action. */
export function runAction(
  command: string,
  action: CliAction,
  args: readonly string[],
  io: CommandIo = PROCESS_IO,
): Promise<number> {
  return runParsed(command, usageText(command, [action]), io, () => parseAction(command, action, args, io))
}

async function runParsed(command: string, usage: string, io: CommandIo, parse: () => Parsed): Promise<number> {
  try {
    const parsed = parse()
    return parsed.kind === 'help' ? 0 : await parsed.run()
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    const message = colourError(`mailstead ${command}: ${error.message}`, io.hasColours?.err ?? false)
    io.err(`${message}\n${usage}`)
    return 2
  }
}
