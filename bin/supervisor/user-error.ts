/**
 * An error that the operator can fix. Its message says what happened and what to do. Commands print it without a stack
 * and exit with 1. Any other error is a bug and is printed with its stack.
 */
export class UserError extends Error {
  override readonly name = 'UserError'
}

/** The message of any thrown value. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message || String(error) : String(error)
}

/** Prints one line of progress, given without its newline. */
export type PrintLine = (line: string) => void
