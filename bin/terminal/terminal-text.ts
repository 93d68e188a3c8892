/** Formats untrusted text as lines and tables for a terminal. Pure. */

/** Replaces control characters, line breaks and bidirectional controls by "?". */
export function lineText(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, '?')
}

/** A table with a head. The last column is not padded. Each row is exactly one line. */
export function tableText(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [heads, ...rows].map((row) => row.map(lineText))
  const widths = heads.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)))
  const last = heads.length - 1
  const lineOf = (row: readonly string[]): string =>
    row.map((cell, column) => (column === last ? cell : cell.padEnd(widths[column] ?? 0))).join('  ')
  return all.map((row) => lineOf(row).trimEnd()).join('\n')
}
