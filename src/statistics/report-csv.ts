/** Reports as CSV. Names of tags and links are customers' texts, so cells that begin like formulas are escaped. */
import { writeRows } from '#src/platform/csv.ts'
import type { CounterName } from './dimensions.ts'
import { createLocalText } from './intervals.ts'
import type { LinkClicks } from './link-report.ts'
import type { Report } from './report.ts'

export interface CsvLayout {
  /** The name of the dimension, and of its column; null if the report has no values. */
  readonly dimension: string | null
  readonly counters: readonly CounterName[]
  readonly zone: string
}

/**
 * One line for each interval and value. An empty value: those beyond the limit. Times and values are escaped once, for
 * they are in many lines; numbers need no escaping.
 */
export function reportCsv({ rows }: Pick<Report, 'rows'>, { dimension, counters, zone }: CsvLayout): string {
  const head = writeRows([['start', 'local', ...(dimension === null ? [] : [dimension]), ...counters]])
  const localText = createLocalText(zone)
  const cells = new Map<Date | string, string>()
  const once = (key: Date | string, make: () => readonly string[]): string => {
    const found = cells.get(key) ?? writeRows([make()]).trimEnd()
    cells.set(key, found)
    return found
  }
  const lines = rows.map(({ at, value, counts }) => {
    const start = once(at, () => [at.toISOString(), localText(at)])
    const name = dimension === null ? '' : `,${once(value ?? '', () => [value ?? ''])}`
    return `${start}${name},${counters.map((counter) => counts[counter] ?? 0).join(',')}\r\n`
  })
  return head + lines.join('')
}

export function linksCsv(links: readonly LinkClicks[]): string {
  return writeRows([
    ['position', 'url', 'clicked', 'clicked_unique', 'clicked_machine'],
    ...links.map(({ position, url, clicked, clickedUnique, clickedMachine }) => [
      position === null ? '' : String(position),
      url ?? '',
      ...[clicked, clickedUnique, clickedMachine].map(String),
    ]),
  ])
}
