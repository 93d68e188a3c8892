/**
 * Drops the partitions whose rows nobody stores any longer (stored-partitions.ts). One with mail that is still to be
 * sent stays until that mail is sent; partition-rewrites.ts makes it small. That of the newest stored message is never
 * dropped: row-deletion.ts deletes its rows in slices.
 *
 * A partition is marked, detached concurrently and dropped: one statement for each step. Before each step the
 * catalogue, the periods and the open mail are read again, so that another round or another worker continues after a
 * crash. What is no longer expired, because a period became longer, is attached again and loses its mark. A detach
 * without the mark is one of the operator, and stays as it is.
 *
 * A detach waits for every transaction that uses the table, such as a backup of hours: it has a connection and a time
 * limit of its own. A step that fails is logged, and the next round repeats it. One worker at a time does this: its
 * session holds an advisory lock, and PostgreSQL ends a session only after its statement.
 */
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import { boundsOf } from '#src/stores/partition-names.ts'
import { clockProblem } from '#src/stores/server-clock.ts'
import { defaultPeriods, readLongestPeriods } from './periods.ts'
import { type CheckedPartition, checkPartitions, EXPIRED_MARK, type Partition } from './stored-partitions.ts'

/** How long a detach may wait; a later round finalizes one that waited longer. */
const DETACH_MS = 6 * 3600 * 1000
const LOCK = 0x44524f50

/** Each step is one statement, and finds what the earlier ones did. */
type Step = 'mark' | 'unmark' | 'detach' | 'finalize' | 'attach' | 'drop'

const STATEMENTS: Readonly<Record<Step, (partition: Partition) => string>> = {
  mark: ({ name }) => `COMMENT ON TABLE ${name} IS '${EXPIRED_MARK}'`,
  unmark: ({ name }) => `COMMENT ON TABLE ${name} IS NULL`,
  // not in a transaction; if it is interrupted, the partition is pending, and the next round continues
  detach: ({ table, name }) => `ALTER TABLE ${table} DETACH PARTITION ${name} CONCURRENTLY`,
  finalize: ({ table, name }) => `ALTER TABLE ${table} DETACH PARTITION ${name} FINALIZE`,
  attach: (one) => `ALTER TABLE ${one.table} ATTACH PARTITION ${one.name} FOR VALUES ${boundsOf(one)}`,
  drop: ({ name }) => `DROP TABLE IF EXISTS ${name}`,
}
/** These wait for transactions of others. */
const LONG_STEPS: ReadonlySet<Step> = new Set<Step>(['detach', 'finalize'])

/** Null: there is nothing to do for this partition. */
function stepOf({ state, isMarked, isExpired }: CheckedPartition): Step | null {
  if (state === 'attached') return isExpired ? (isMarked ? 'detach' : 'mark') : isMarked ? 'unmark' : null
  if (!isMarked) return null
  return state === 'pending' ? 'finalize' : isExpired ? 'drop' : 'attach'
}

interface Due {
  readonly partition: CheckedPartition
  readonly step: Step
}

type Deps = Pick<Context, 'db' | 'log' | 'clock' | 'config'>

/** PostgreSQL detaches one partition of a table at a time, so one that is pending delays the others of its table. */
async function listDue({ db, clock, config }: Deps): Promise<Due[]> {
  const longest = await readLongestPeriods(db, defaultPeriods(config))
  const partitions = await checkPartitions(db, longest, clock.now())
  const blocked = new Set(partitions.filter(({ state }) => state === 'pending').map(({ table }) => table))
  return partitions.flatMap((partition) => {
    const step = stepOf(partition)
    return step === null || (step === 'detach' && blocked.has(partition.table)) ? [] : [{ partition, step }]
  })
}

/** Drops what nobody stores any longer. Returns the names of the dropped partitions. */
export async function dropExpiredPartitions(ctx: Deps): Promise<string[]> {
  if ((await listDue(ctx)).length === 0) return []
  return ctx.db.session(DETACH_MS, async (own) => {
    const { rows } = await own.query<{ isHeld: boolean }>(`SELECT pg_try_advisory_lock(${LOCK}) AS "isHeld"`)
    return rows[0]?.isHeld === true ? runSteps(ctx, own) : []
  })
}

async function runSteps(ctx: Deps, own: Queryable): Promise<string[]> {
  const tried = new Set<string>()
  const dropped: string[] = []
  const keyOf = ({ partition, step }: Due): string => `${step} ${partition.name}`
  // a step may have waited for hours: meanwhile a clock was set, a period changed
  while (clockProblem(ctx.db.clock, ctx.config.maxClockSkewSeconds) === null) {
    const due = (await listDue(ctx)).find((one) => !tried.has(keyOf(one)))
    if (due === undefined) break
    tried.add(keyOf(due))
    if ((await runStep(ctx, own, due)) && due.step === 'drop') dropped.push(due.partition.name)
  }
  return dropped
}

/** False if it failed. */
async function runStep({ db, log }: Deps, own: Queryable, { partition, step }: Due): Promise<boolean> {
  const { name } = partition
  try {
    await (LONG_STEPS.has(step) ? own : db).query(STATEMENTS[step](partition))
  } catch (error) {
    log.warn({ err: error, partition: name, step }, 'a step of dropping a partition failed; the next round repeats it')
    return false
  }
  if (step === 'drop') log.info({ partition: name }, 'dropped an expired partition')
  return true
}
