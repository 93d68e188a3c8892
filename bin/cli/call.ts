/**
 * One call of a command: its action, arguments, options and output. Results go to stdout, everything else to stderr.
 * Text is untrusted: control characters are replaced before colours are added.
 */
import { colourError, colourResult } from '#bin/terminal/colours.ts'
import { createProgress, type Progress } from '#bin/terminal/progress.ts'
import { explained } from '#bin/supervisor/user-error.ts'
import { oneOfText } from '#src/platform/choice-text.ts'

/** The environment and output of a command; tests pass their own. */
export interface CommandIo {
  readonly env: NodeJS.ProcessEnv
  /** The command and its action, such as `key create`, for the audit log. */
  readonly command?: string
  /** Whether stdout and stderr show colours. */
  readonly hasColours?: { readonly out: boolean; readonly err: boolean }
  /** Stderr is a terminal: progress is a bar that is drawn again and again, not lines. */
  readonly isInteractive?: boolean
  out(text: string): void
  err(text: string): void
}

/** Wrong usage: the message is printed with the usage, exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

export interface CliAction {
  /** The part after `mailstead <command>`, such as `create --name N [--plan P]`. `--json` is added. */
  readonly usage: string
  /** What it does, in a line. */
  readonly summary: string
  /** What `--help` shows as examples: the part after `mailstead <command>`. A comment may follow after ` # `. */
  readonly examples: readonly [string, ...string[]]
  /** Options with a value, without the dashes. `option-table.ts` describes them. */
  readonly options?: readonly string[]
  /** Options without a value. */
  readonly flags?: readonly string[]
  /** Descriptions of options that differ from those of `option-table.ts`. */
  readonly about?: Readonly<Record<string, string>>
  /** The number of positional arguments; none by default. */
  readonly arguments?: readonly [least: number, most: number]
  /** Returns the exit code. */
  run(call: CommandCall): Promise<number>
}

/** Actions by name. A name of two words is an action below a subcommand. */
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

  /** The first argument as the id of a result in JSON. */
  named(): { readonly id: string } | Record<string, never> {
    const [id] = this.arguments
    return id === undefined ? {} : { id }
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

  /** A whole number from 1 to `most`. @throws UsageError */
  number(name: string, byDefault: number, most: number): number {
    const value = Number(this.option(name) ?? byDefault)
    if (Number.isInteger(value) && value >= 1 && value <= most) return value
    throw new UsageError(`--${name} must be a number from 1 to ${most}`)
  }

  /** One of the choices, or `byDefault` without the option. @throws UsageError */
  choice<T extends string>(name: string, choices: readonly T[], byDefault?: T): T {
    const text = byDefault === undefined ? this.required(name) : (this.option(name) ?? byDefault)
    return choose(`--${name}`, choices, text)
  }

  has(flag: string): boolean {
    return this.values[flag] === true
  }

  /** Prints the result: `json` with --json, else `text`. Returns exit code 0. */
  respond(text: string, json: unknown): number {
    if (this.has('json')) this.io.out(`${jsonText(json)}\n`)
    else this.io.out(`${colourResult(terminalText(text), this.io.hasColours?.out ?? false)}\n`)
    return 0
  }

  /** Prints why the command failed, and what to do next: a command, a setting or a page. Returns exit code 1. */
  fail(problem: string, next: string): number {
    const message = terminalText(explained(problem, next))
    this.io.err(`${colourError(message, this.io.hasColours?.err ?? false)}\n`)
    return 1
  }

  /** Reports the progress of a long action on stderr. */
  progress(): Progress {
    return createProgress(this.io, this.io.isInteractive ?? false)
  }
}

/** `what` names the value, such as `--type`. @throws UsageError */
export function choose<T extends string>(what: string, choices: readonly T[], text: string): T {
  const chosen = choices.find((choice) => choice === text)
  if (chosen === undefined) throw new UsageError(`${what} ${oneOfText(choices, text)}`)
  return chosen
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
