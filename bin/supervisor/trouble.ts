/**
 * A failure that the person at the terminal can act on: its message says what
 * happened and what to do. Commands print it as it is, without a stack, and
 * exit 1. Everything else that is thrown is a bug and keeps its stack.
 */
export class Trouble extends Error {
  override readonly name = 'Trouble'
}

/** Where progress is told: one line, without the newline. */
export type Say = (line: string) => void
