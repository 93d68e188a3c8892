/** Formats the report's tables and the numbers in their cells. */
import { spread } from '#bench/harness/stats.ts'

/** The order in which processes are shown; others follow. */
export const PROCESSES = [
  'api',
  'submission',
  'mta',
  'worker',
  'postgres',
  'redis',
  'haraka',
  'postfix',
  'opendkim',
  'load',
  'sink',
]

/** Aligns columns to their widest cell: the first to the left, all others to the right. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const align = (cell: string, column: number): string =>
    column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)
  return rows.map((row) => `  ${row.map(align).join('  ')}`.trimEnd()).join('\n')
}

/** Median (minimum to maximum); the median alone when there is one value. */
export function formatRange(values: readonly number[], digits: number): string {
  if (values.length === 0) return ''
  const { median, min, max } = spread(values)
  return values.length === 1
    ? median.toFixed(digits)
    : `${median.toFixed(digits)} (${min.toFixed(digits)} to ${max.toFixed(digits)})`
}

/** With thousands separators. */
export function formatCount(number: number): string {
  return number.toLocaleString('en')
}

/** CPU milliseconds a message, by process. */
export function formatCpu(cpuMs: Readonly<Record<string, number>>): string {
  return Object.entries(cpuMs)
    .map(([name, ms]) => `${name} ${ms.toFixed(3)}`)
    .join(', ')
}

/** Peak memory, by process. */
export function formatMemory(peakMb: Readonly<Record<string, number>>): string {
  return Object.entries(peakMb)
    .map(([name, mb]) => `${name} ${mb.toFixed(0)} MB`)
    .join(', ')
}
