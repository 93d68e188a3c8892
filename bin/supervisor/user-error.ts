/**
 * A failure that the person at the terminal can act on: its message says what
 * happened and what to do. Commands print it as it is, without a stack, and
 * exit 1. Everything else that is thrown is a bug and keeps its stack.
 */
export class Trouble extends Error {
  override readonly name = 'Trouble'
}

/** Why something failed, in a line. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message || String(error) : String(error)
}

/** Where progress is told: one line, without the newline. */
export type Say = (line: string) => void
