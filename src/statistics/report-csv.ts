/** Reports as CSV. Names of tags and links are customers' texts, so cells that begin like formulas are escaped. */
import { writeRows } from '#src/platform/csv.ts'
import type { CounterName } from './dimensions.ts'
import { localText } from './intervals.ts'
import type { LinkClicks } from './link-report.ts'
import type { Report } from './report.ts'

export interface CsvLayout {
  /** The name of the dimension, and of its column; null if the report has no values. */
  readonly dimension: string | null
  readonly counters: readonly CounterName[]
  readonly zone: string
}

/** One line for each interval and value. An empty value: those beyond the limit. */
export function reportCsv({ rows }: Pick<Report, 'rows'>, { dimension, counters, zone }: CsvLayout): string {
  const head = ['start', 'local', ...(dimension === null ? [] : [dimension]), ...counters]
  return writeRows([
    head,
    ...rows.map(({ at, value, counts }) => [
      at.toISOString(),
      localText(at, zone),
      ...(dimension === null ? [] : [value ?? '']),
      ...counters.map((name) => String(counts[name] ?? 0)),
    ]),
  ])
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
