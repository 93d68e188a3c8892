/** Text for a terminal: single lines and tables of what strangers may have written. Pure. */

/** One line of what strangers may have written: what could steer a terminal, break the line or turn the direction of writing shows as "?". */
export function lineText(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, '?')
}

/** Columns under their heads; the last may be as long as it likes. Each row is one line, whatever stands in it. */
export function tableText(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [heads, ...rows].map((row) => row.map(lineText))
  const widths = heads.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)))
  const last = heads.length - 1
  const lineOf = (row: readonly string[]): string =>
    row.map((cell, column) => (column === last ? cell : cell.padEnd(widths[column] ?? 0))).join('  ')
  return all.map((row) => lineOf(row).trimEnd()).join('\n')
}
