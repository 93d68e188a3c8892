/**
 * An error that the operator can fix. Its message says what happened and what to do next. Commands print it without a
 * stack and exit with 1. Any other error is a bug and is printed with its stack.
 */
export class UserError extends Error {
  override readonly name = 'UserError'

  /** `next`: what to do, as a sentence: a command, a setting or a page. */
  constructor(problem: string, next: string) {
    super(explained(problem, next))
  }

  /** Of a text from elsewhere that says itself what to do next, such as a refusal of the API. */
  static of(text: string): UserError {
    return new this(text, '')
  }
}

/** What happened, then what to do next: on a line of its own if the first text ends with a line break. */
export function explained(problem: string, next: string): string {
  return `${problem}${next === '' || problem.endsWith('\n') ? '' : ' '}${next}`
}

/** The message of any thrown value. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message || String(error) : String(error)
}

/** Prints one line of progress, given without its newline. */
export type PrintLine = (line: string) => void
