/**
 * What the operator's commands have in common: arguments read and refused (exit code 2, with the usage), output for people or, with
 * `--json`, for programs, and a context that opens only what a command touches. Results go to stdout, everything else to stderr.
 * What a person can mend is told in words (exit code 1); anything else that is thrown is a bug and passes through.
 */
import { parseArgs } from 'node:util'
import { environment } from '#config/environment.ts'

/** Where a command reads its settings and writes; tests give their own. */
export interface Io {
  readonly env: NodeJS.ProcessEnv
  out(text: string): void
  err(text: string): void
}

const PROCESS: Io = {
  env: environment,
  out: (text) => {
    process.stdout.write(text)
  },
  err: (text) => {
    process.stderr.write(text)
  },
}

/** The command was called wrongly: told with its usage, exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

export interface Action {
  /** What stands behind `mailstead <command>`, as `create --name N [--plan P]`; `--json` is understood. */
  readonly usage: string
  /** Options with a value, without the dashes. */
  readonly options?: readonly string[]
  /** Options without one. */
  readonly flags?: readonly string[]
  /** How many further words it takes; none when not said. */
  readonly words?: readonly [least: number, most: number]
  /** Answers the exit code. */
  run(call: Call): Promise<number>
}

/** By the word that names each. */
export type Actions = Readonly<Record<string, Action>>

export class Call {
  readonly io: Io
  readonly words: readonly string[]
  private readonly values: Readonly<Record<string, unknown>>

  constructor(io: Io, words: readonly string[], values: Readonly<Record<string, unknown>>) {
    this.io = io
    this.words = words
    this.values = values
  }

  /** The word at a place. Call it for places that `words` of the action promises. */
  word(place: number): string {
    return this.words[place] ?? ''
  }

  option(name: string): string | null {
    const value = this.values[name]
    return typeof value === 'string' ? value : null
  }

  /** @throws UsageError when it is missing or empty. */
  required(name: string): string {
    const value = this.option(name)
    if (value === null || value.trim() === '') throw new UsageError(`--${name} is missing`)
    return value
  }

  has(flag: string): boolean {
    return this.values[flag] === true
  }

  /** The result: `json` with --json, else `text` for people. */
  answer(text: string, json: unknown): number {
    this.io.out(this.has('json') ? `${jsonText(json)}\n` : `${terminalText(text)}\n`)
    return 0
  }

  /** It did not work: why, and what to do. Answers exit code 1. */
  fail(message: string): number {
    this.io.err(`${terminalText(message)}\n`)
    return 1
  }
}

/** Runs a command that consists of several: the first argument names the action. */
export function runActions(
  command: string,
  actions: Actions,
  args: readonly string[],
  io: Io = PROCESS,
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
    `mailstead ${command}: ${name === '' ? 'what is to be done?' : `there is no ${JSON.stringify(name)}`}\n${usageText(usages)}`,
  )
  return Promise.resolve(2)
}

/** Runs a command that is one action. */
export async function runAction(
  command: string,
  action: Action,
  args: readonly string[],
  io: Io = PROCESS,
): Promise<number> {
  const usage = usageText([`mailstead ${command} ${action.usage}`])
  if (args.some(isHelp)) {
    io.out(usage)
    return 0
  }
  try {
    return await action.run(readCall(action, args, io))
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

function readCall(action: Action, args: readonly string[], io: Io): Call {
  const strings = (action.options ?? []).map((name) => [name, { type: 'string' }] as const)
  const flags = ['json', ...(action.flags ?? [])].map((name) => [name, { type: 'boolean' }] as const)
  const { values, positionals } = parse({
    args: [...args],
    options: Object.fromEntries([...strings, ...flags]),
    allowPositionals: true,
  })
  const [least, most] = action.words ?? [0, 0]
  if (positionals.length < least) throw new UsageError('something is missing')
  if (positionals.length > most) throw new UsageError(`${JSON.stringify(positionals[most])} is too much`)
  return new Call(io, positionals, values)
}

type Parsed = Pick<ReturnType<typeof parseArgs>, 'values' | 'positionals'>

function parse(config: NonNullable<Parameters<typeof parseArgs>[0]>): Parsed {
  try {
    return parseArgs(config)
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

/** The last wall: whatever a stranger's words came through, a terminal gets nothing that steers it. */
function terminalText(text: string): string {
  return text.replace(/[^\P{Cc}\n\t]/gu, '?')
}

/** JSON escapes the controls of ASCII by itself, and not those of Latin-1, which steer some terminals too. */
function jsonText(json: unknown): string {
  return JSON.stringify(json, null, 2).replace(
    /[\u007f-\u009f]/g,
    (character) => `\\u00${character.charCodeAt(0).toString(16)}`,
  )
}
