/** The filter of the list of messages that shows the mail of a period. */
import type { Period } from '#dashboard/src/shared/period.ts'

/** Periods that the list has by name; the others begin at a time. */
const NAMED: ReadonlySet<string> = new Set(['24h', '7d', '30d'])

export function messageFilter({ name, from }: Pick<Period, 'name' | 'from'>): Readonly<Record<string, string>> {
  return NAMED.has(name) ? { period: name } : { after: from }
}
