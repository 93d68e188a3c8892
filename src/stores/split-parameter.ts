/**
 * A binary parameter of a statement in parts, so that the large values in it are not copied: they are written to the
 * socket by themselves (bind-message.ts). Nobody may change them before the statement has ended.
 */

/** Smaller values cost less in one piece. */
const LARGE_BYTES = 32 * 1024

export class SplitParameter {
  readonly parts: readonly Buffer[]
  /** In octets. */
  readonly length: number

  constructor(parts: readonly Buffer[]) {
    this.parts = parts
    this.length = parts.reduce((length, part) => length + part.length, 0)
  }
}

/** Whether a value is written by itself. */
export function isLarge({ length }: Buffer): boolean {
  return length >= LARGE_BYTES
}
