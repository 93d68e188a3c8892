/**
 * The command-line frame of the operator's commands: parses and validates arguments (exit code 2, with the usage), and
 * prints results as text or, with `--json`, as JSON. Results go to stdout, everything else to stderr. Failures that a
 * person can fix exit with 1 and a message; any other error is a bug and is thrown on.
 */
import { parseArgs } from 'node:util'
import { environment } from '#config/environment.ts'

/** The environment and output of a command; tests pass their own. */
export interface CommandIo {
  readonly env: NodeJS.ProcessEnv
  /** The command and its action, such as `key create`, for the audit log. */
  readonly command?: string
  out(text: string): void
  err(text: string): void
}

const PROCESS_IO: CommandIo = {
  env: environment,
  out: (text) => {
    process.stdout.write(text)
  },
  err: (text) => {
    process.stderr.write(text)
  },
}

/** Wrong usage: the message is printed with the usage, exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

export interface CliAction {
  /** The part after `mailstead <command>`, such as `create --name N [--plan P]`. `--json` is added. */
  readonly usage: string
  /** Options with a value, without the dashes. */
  readonly options?: readonly string[]
  /** Options without a value. */
  readonly flags?: readonly string[]
  /** The number of positional arguments; none by default. */
  readonly arguments?: readonly [least: number, most: number]
  /** Returns the exit code. */
  run(call: CommandCall): Promise<number>
}

/** Actions by name. */
export type CliActions = Readonly<Record<string, CliAction>>

export class CommandCall {
  readonly io: CommandIo
  readonly arguments: readonly string[]
  private readonly values: Readonly<Record<string, unknown>>

  constructor(io: CommandIo, words: readonly string[], values: Readonly<Record<string, unknown>>) {
    this.io = io
    this.arguments = words
    this.values = values
  }

  /** A positional argument, which `arguments` of the action must include. */
  argument(index: number): string {
    return this.arguments[index] ?? ''
  }

  option(name: string): string | null {
    const value = this.values[name]
    return typeof value === 'string' ? value : null
  }

  /** @throws UsageError if the option is missing or empty. */
  required(name: string): string {
    const value = this.option(name)
    if (value === null || value.trim() === '') throw new UsageError(`--${name} is missing`)
    return value
  }

  has(flag: string): boolean {
    return this.values[flag] === true
  }

  /** Prints the result: `json` with --json, else `text`. Returns exit code 0. */
  respond(text: string, json: unknown): number {
    this.io.out(this.has('json') ? `${jsonText(json)}\n` : `${terminalText(text)}\n`)
    return 0
  }

  /** Prints why the command failed and what to do. Returns exit code 1. */
  fail(message: string): number {
    this.io.err(`${terminalText(message)}\n`)
    return 1
  }
}

/** Runs a command with several actions; the first argument names the action. */
export function runActions(
  command: string,
  actions: CliActions,
  args: readonly string[],
  io: CommandIo = PROCESS_IO,
): Promise<number> {
  const [name = '', ...rest] = args
  const usages = Object.values(actions).map((action) => `mailstead ${command} ${action.usage}`)
  if (isHelp(name)) {
    io.out(usageText(usages))
    return Promise.resolve(0)
  }
  const action = Object.hasOwn(actions, name) ? actions[name] : undefined
  if (action !== undefined) return runAction(command, action, rest, io)
  io.err(
    `mailstead ${command}: ${name === '' ? 'an action is missing' : `unknown action ${JSON.stringify(name)}`}\n` +
      usageText(usages),
  )
  return Promise.resolve(2)
}

/** Runs a command with one action. */
export async function runAction(
  command: string,
  action: CliAction,
  args: readonly string[],
  io: CommandIo = PROCESS_IO,
): Promise<number> {
  const usage = usageText([`mailstead ${command} ${action.usage}`])
  if (args.some(isHelp)) {
    io.out(usage)
    return 0
  }
  const [name = ''] = action.usage.split(' ')
  try {
    return await action.run(readCall(action, args, { ...io, command: `${command} ${name}`.trim() }))
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    io.err(`mailstead ${command}: ${error.message}\n${usage}`)
    return 2
  }
}

function isHelp(arg: string): boolean {
  return arg === '--help' || arg === '-h'
}

function usageText(usages: readonly string[]): string {
  return `Usage: ${usages.map((usage) => `${usage.trim()} [--json]`).join('\n       ')}\n`
}

function readCall(action: CliAction, args: readonly string[], io: CommandIo): CommandCall {
  const strings = (action.options ?? []).map((name) => [name, { type: 'string' }] as const)
  const flags = ['json', ...(action.flags ?? [])].map((name) => [name, { type: 'boolean' }] as const)
  const { values, positionals } = parse({
    args: [...args],
    options: Object.fromEntries([...strings, ...flags]),
    allowPositionals: true,
  })
  const [least, most] = action.arguments ?? [0, 0]
  if (positionals.length < least) throw new UsageError('an argument is missing')
  if (positionals.length > most) throw new UsageError(`${JSON.stringify(positionals[most])} is one argument too many`)
  return new CommandCall(io, positionals, values)
}

type Parsed = Pick<ReturnType<typeof parseArgs>, 'values' | 'positionals'>

function parse(config: NonNullable<Parameters<typeof parseArgs>[0]>): Parsed {
  try {
    return parseArgs(config)
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

/** Replaces all control characters except line breaks and tabs, wherever the text comes from. */
function terminalText(text: string): string {
  return text.replace(/[^\P{Cc}\n\t]/gu, '?')
}

/** JSON.stringify escapes the control characters of ASCII, but not those of Latin-1, which some terminals obey. */
function jsonText(json: unknown): string {
  return JSON.stringify(json, null, 2).replace(
    /[\u007f-\u009f]/g,
    (character) => `\\u00${character.charCodeAt(0).toString(16)}`,
  )
}
