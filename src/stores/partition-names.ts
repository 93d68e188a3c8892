/**
 * Names of partitions and the ids that they contain. `messages_20250106` has the week that begins on that Monday,
 * `messages_202501` the weeks whose Mondays are in that month, so a week is never in two partitions. With `_open` at
 * the end it is what was left of an expired one: mail that is still to be sent (src/retention/partition-rewrites.ts).
 * All times are UTC.
 */
import { idAt } from '#src/platform/id.ts'

export const WEEK_MS = 7 * 24 * 3600 * 1000
// Mondays: the epoch was a Thursday.
const MONDAY_MS = 4 * 24 * 3600 * 1000
const OPEN = '_open'

/** The comment on a table that is being filled, to become a partition. */
export const REWRITE_MARK = 'mailstead: rewrite'

/** Tables and the storage settings of their partitions. */
export const PARTITIONED = {
  // a body of a few KB stays in its row, uncompressed: cheaper to write and to read
  message_bodies: 'toast_tuple_target = 8160, autovacuum_vacuum_insert_scale_factor = 0.2',
  // earlier versions store bodies there
  messages: 'toast_tuple_target = 8160, autovacuum_vacuum_insert_scale_factor = 0.2',
  attachments: '',
  recipients: 'fillfactor = 70, autovacuum_vacuum_scale_factor = 0.1',
  attempts: '',
  message_tags: '',
  events: '',
} as const
export type PartitionedTable = keyof typeof PARTITIONED

/** Times from `from` to before `to`. */
export interface TimeSpan {
  readonly from: number
  readonly to: number
}

/** The Monday at which the week of a time begins: the lower bound of its partition. */
export function weekOf(ms: number): number {
  return Math.floor((ms - MONDAY_MS) / WEEK_MS) * WEEK_MS + MONDAY_MS
}

/** The weeks whose Mondays are in the same month as that of this time. */
export function monthOf(ms: number): TimeSpan {
  const monday = new Date(weekOf(ms))
  const firstMonday = (month: number): number => weekOf(Date.UTC(monday.getUTCFullYear(), month) - 1) + WEEK_MS
  return { from: firstMonday(monday.getUTCMonth()), to: firstMonday(monday.getUTCMonth() + 1) }
}

/** The name of the partition of a week. */
export function partitionName(table: PartitionedTable, ms: number): string {
  return `${table}_${digitsOf(weekOf(ms))}`
}

/** The name of the partition of a month. */
export function monthName(table: PartitionedTable, ms: number): string {
  return `${table}_${digitsOf(monthOf(ms).from).slice(0, 6)}`
}

/** The name of what is left of a partition. */
export function openName(name: string): string {
  return name + OPEN
}

export function isOpenName(name: string): boolean {
  return name.endsWith(OPEN)
}

function digitsOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10).replaceAll('-', '')
}

/** As the names of partitions, in a regular expression of PostgreSQL as well. */
export const NAME_END = '_([0-9]{4})([0-9]{2})([0-9]{2})?(_open)?$'

export interface NamedPartition extends TimeSpan {
  readonly table: PartitionedTable
}

/** Null: no partition of Mailstead has this name. */
export function readPartitionName(name: string): NamedPartition | null {
  const [end, year, month, day] = new RegExp(NAME_END).exec(name) ?? []
  const table = end === undefined ? '' : name.slice(0, -end.length)
  if (!isPartitioned(table)) return null
  const at = Date.parse(`${year}-${month}-${day ?? '01'}T00:00:00Z`)
  if (Number.isNaN(at)) return null
  if (day === undefined) return { table, ...monthOf(weekOf(at - 1) + WEEK_MS) }
  return weekOf(at) === at ? { table, from: at, to: at + WEEK_MS } : null
}

function isPartitioned(table: string): table is PartitionedTable {
  return Object.hasOwn(PARTITIONED, table)
}

/** SQL: the bounds of a partition. */
export function boundsOf({ from, to }: TimeSpan): string {
  return `FROM ('${idAt(from)}') TO ('${idAt(to)}')`
}
