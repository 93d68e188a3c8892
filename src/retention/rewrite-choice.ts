/**
 * Which partitions are rewritten. Those of a month whose last week ended eight weeks ago, so that mail of it hardly
 * changes any more, become one, if nothing of it is still to be sent and it stays for another quarter of a year: what
 * is deleted before that is not worth the writing. A partition that would have expired, but has mail that is still to
 * be sent, is replaced by one with this mail only; once, and only if it is large.
 */
import {
  monthName,
  monthOf,
  openName,
  isOpenName,
  type PartitionedTable,
  WEEK_MS,
} from '#src/stores/partition-names.ts'
import { readSince } from '#src/queue/open-weeks.ts'
import type { Queryable } from '#src/stores/db.ts'
import { type RetentionPeriods } from './periods.ts'
import type { Rewrite } from './rewrite-statements.ts'
import {
  type CheckedPartition,
  checkPartitions,
  DROPPED_TABLES,
  expiredBefore,
  findNewest,
  hasOpenMail,
} from './stored-partitions.ts'

/** The last eight weeks have prepared statements (src/stores/weeks.ts). */
const MERGE_AFTER_MS = 8 * WEEK_MS
const LEAST_STAY_MS = 13 * WEEK_MS
/** Row by row is as good for less. */
const LEAST_BYTES = 16 * 1024 * 1024

/** The next rewrite; null if nothing is to be rewritten. `leastBytes`: for tests. */
export async function chooseRewrite(
  db: Queryable,
  longest: RetentionPeriods,
  nowMs: number,
  leastBytes = LEAST_BYTES,
): Promise<Rewrite | null> {
  const partitions = await checkPartitions(db, longest, nowMs)
  return (await chooseHeld(db, partitions, leastBytes)) ?? (await chooseMonth(db, { partitions, longest, nowMs }))
}

const isPlain = ({ state, isMarked }: CheckedPartition): boolean => state === 'attached' && !isMarked

async function chooseHeld(
  db: Queryable,
  partitions: readonly CheckedPartition[],
  leastBytes: number,
): Promise<Rewrite | null> {
  for (const { name, table, from, to, ...state } of partitions) {
    if (!state.isHeld || isOpenName(name) || !isPlain({ name, table, from, to, ...state })) continue
    const { rows } = await db.query<{ bytes: number }>('SELECT pg_total_relation_size($1::regclass) AS bytes', [name])
    if ((rows[0]?.bytes ?? 0) < leastBytes) continue
    return { target: openName(name), table, from, to, sources: [name], isOpenOnly: true }
  }
  return null
}

interface Stored {
  readonly partitions: readonly CheckedPartition[]
  readonly longest: RetentionPeriods
  readonly nowMs: number
}

async function chooseMonth(db: Queryable, { partitions, longest, nowMs }: Stored): Promise<Rewrite | null> {
  const months = mergeableMonths({ partitions, longest, nowMs })
  if (months.length === 0) return null
  const [newestMs, sinceMs] = [await findNewest(db), await readSince(db)]
  const recipients = partitions.filter(({ table }) => table === 'recipients')
  for (const month of months)
    if (month.to <= newestMs && !(await hasOpenMail(db, month, recipients, sinceMs))) return month
  return null
}

/** Those that are old enough and stay long enough, the oldest first. */
function mergeableMonths({ partitions, longest, nowMs }: Stored): Rewrite[] {
  const months = new Map<string, CheckedPartition[]>()
  for (const one of partitions) {
    const target = monthName(one.table, one.from)
    months.set(target, [...(months.get(target) ?? []), one])
  }
  return [...months].flatMap(([target, parts]): Rewrite[] => {
    const [first] = parts
    if (first === undefined || parts.length < 2 || !parts.every((one) => isPlain(one))) return []
    const { table } = first
    const span = monthOf(first.from)
    const isOld = span.to + MERGE_AFTER_MS <= nowMs
    const stays = span.to - LEAST_STAY_MS >= expiredBefore(daysOf(table, longest), nowMs)
    return isOld && stays ? [{ target, table, ...span, sources: parts.map(({ name }) => name), isOpenOnly: false }] : []
  })
}

function daysOf(table: PartitionedTable, longest: RetentionPeriods): number {
  const period = DROPPED_TABLES.find((one) => one.table === table)?.period
  return period === undefined ? 0 : longest[period]
}
