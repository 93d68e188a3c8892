/**
 * Rewrites partitions while they are in use: old weeks become a month, and an expired partition that is held by mail
 * that is still to be sent becomes a small one (rewrite-choice.ts). The new table is filled in slices. A trigger notes
 * the key of each row that changes meanwhile, and these rows are copied again. At the end one short transaction locks
 * the table, copies the last of them, and replaces the old partitions. It waits for a lock for 0.3 s, then lets mail
 * pass and tries again.
 *
 * Each slice is a transaction with its position, so any worker continues after a crash: nothing is lost or doubled.
 * If a migration changes the table, or a partition is dropped or rewritten by somebody else, the rewrite begins again.
 * Until the last transaction all readers and backups use the old partitions.
 *
 * Earlier versions do not know these names: nothing is rewritten before the contract migration 062, with which they do
 * not start. One worker at a time: its session holds an advisory lock, and every statement runs in this session.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import { readPartitionName } from '#src/stores/partition-names.ts'
import { sql } from '#src/stores/sql.ts'
import { defaultPeriods, readLongestPeriods } from './periods.ts'
import { chooseRewrite } from './rewrite-choice.ts'
import {
  columnsOf,
  type Copier,
  createCopier,
  inTransaction,
  repeatIn,
  repeatNoted,
  type Running,
} from './rewrite-copy.ts'
import { beginSql, giveUpSql, lockSql, READ_STATE, replaceSql, type Rewrite } from './rewrite-statements.ts'

const LOCK = 0x52575254
/** VACUUM of a large month. */
const STATEMENT_MS = 2 * 3600 * 1000
const BUDGET_MS = 5000
const REPLACE_TRIES = 5
/** How many changed rows are copied while everybody waits. */
const LAST_NOTES = 100
const PAUSE_MS = 1000

type Deps = Pick<Context, 'db' | 'log' | 'clock' | 'config'>

export interface RewriteOptions {
  readonly budgetMs?: number
  /** Smaller partitions are not rewritten for mail that is still to be sent. */
  readonly leastBytes?: number
  /** How many pages the first slice has; later ones have as many as fit into 0.2 s. */
  readonly pages?: number
  /** Between two tries to replace the old partitions. */
  readonly pauseMs?: number
}

/** `more`: at once; `wait`: in a later round; `done`: the old partitions are replaced. */
type Progress = 'more' | 'wait' | 'done'

/** Does a part of the work. True if more can be done at once. */
export async function rewritePartitions(ctx: Deps, options: RewriteOptions = {}): Promise<boolean> {
  const { db } = ctx
  if (!(await mayRewrite(db)) || ((await readRunning(db)) === null && (await choose(ctx, options)) === null))
    return false
  return db.session(STATEMENT_MS, async (own) => {
    const { rows } = await own.query<{ isHeld: boolean }>(`SELECT pg_try_advisory_lock(${LOCK}) AS "isHeld"`)
    return rows[0]?.isHeld === true && (await work(ctx, own, options))
  })
}

/** No process of a version that does not know months can run. */
async function mayRewrite(db: Queryable): Promise<boolean> {
  return (await db.query('SELECT FROM body_storage WHERE apart_since IS NOT NULL')).rows.length > 0
}

async function choose({ db, clock, config }: Deps, { leastBytes }: RewriteOptions): Promise<Rewrite | null> {
  return chooseRewrite(db, await readLongestPeriods(db, defaultPeriods(config)), clock.now(), leastBytes)
}

async function work(ctx: Deps, own: Queryable, options: RewriteOptions): Promise<boolean> {
  const until = performance.now() + (options.budgetMs ?? BUDGET_MS)
  const copier = createCopier(own, options.pages ?? 64)
  do {
    const running = await readRunning(own)
    if (running === null) {
      const next = await choose(ctx, options)
      if (next === null) return false
      if (!(await begin(ctx, own, next))) return false
      continue
    }
    if (!(await isUnchanged(own, running))) {
      ctx.log.info({ partition: running.target }, 'a rewrite of partitions begins again: its table has changed')
      if (!(await giveUp(own, running))) return false
      continue
    }
    const progress = await advance(ctx, own, running, { copier, pauseMs: options.pauseMs ?? PAUSE_MS })
    if (progress === 'wait') return false
  } while (performance.now() < until)
  return true
}

const READ_RUNNING = sql`
  SELECT target, of_table AS "table", sources, is_open_only AS "isOpenOnly", structure, files, source, page,
    is_vacuumed AS "isVacuumed"
  FROM partition_rewrites
  ORDER BY started_at
  LIMIT 1
`

async function readRunning(db: Queryable): Promise<Running | null> {
  const [row] = (await db.query<Omit<Running, 'from' | 'to'>>(READ_RUNNING)).rows
  if (row === undefined) return null
  const named = readPartitionName(row.target)
  if (named === null) throw new Error(`partition_rewrites names ${row.target}, which is no partition`)
  return { ...row, files: row.files.map(Number), from: named.from, to: named.to }
}

interface State {
  readonly structure: string
  readonly files: readonly number[]
}

async function isUnchanged(own: Queryable, { table, sources, structure, files }: Running): Promise<boolean> {
  const [state] = (await own.query<State>(READ_STATE, [table, sources])).rows
  return (
    state?.structure === structure && files.length === sources.length && state.files.map(Number).join() === files.join()
  )
}

/** False: somebody else uses the partitions; a later round repeats it. */
async function begin({ log }: Deps, own: Queryable, rewrite: Rewrite): Promise<boolean> {
  const isBegun = await inTransaction(own, async () => {
    for (const statement of beginSql(rewrite)) await own.query(statement)
    return true
  })
  if (isBegun === true) log.info({ partition: rewrite.target, of: rewrite.sources }, 'began to rewrite partitions')
  return isBegun === true
}

async function giveUp(own: Queryable, rewrite: Pick<Rewrite, 'target' | 'sources'>): Promise<boolean> {
  const { rows } = await own.query<{ name: string }>(
    'SELECT name FROM unnest($1::text[]) AS name WHERE to_regclass(name) IS NOT NULL',
    [rewrite.sources],
  )
  const statements = giveUpSql(
    rewrite,
    rows.map(({ name }) => name),
  )
  return (await inTransaction(own, () => own.query(statements))) !== null
}

interface ReplaceOptions {
  readonly copier: Copier
  readonly pauseMs: number
}

async function advance(
  ctx: Deps,
  own: Queryable,
  running: Running,
  { copier, pauseMs }: ReplaceOptions,
): Promise<Progress> {
  if (running.source < running.sources.length) {
    await copier.copy(running)
    return 'more'
  }
  const columns = await columnsOf(own, running.table)
  while ((await repeatNoted(own, running, columns)) >= LAST_NOTES);
  if (!running.isVacuumed) {
    // frozen once, since these rows hardly change any more; the plans of the next statements need the statistics
    await own.query(`VACUUM (FREEZE, ANALYZE) ${running.target}`)
    await own.query('UPDATE partition_rewrites SET is_vacuumed = true WHERE target = $1', [running.target])
    return 'more'
  }
  return replace(ctx, own, running, pauseMs)
}

/** Somebody reads or writes for long, such as a backup: each try would stop mail for as long as it waits. */
const FIND_LONG = sql`
  SELECT
  FROM pg_locks l
  JOIN pg_stat_activity a ON a.pid = l.pid
  WHERE l.relation = ANY (ARRAY(SELECT name::regclass FROM unnest($1::text[]) AS name))
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND l.granted AND l.pid <> pg_backend_pid() AND a.xact_start < now() - interval '2 seconds'
  LIMIT 1
`

async function replace({ log }: Deps, own: Queryable, running: Running, pauseMs: number): Promise<Progress> {
  const columns = await columnsOf(own, running.table)
  const names = [running.table, ...running.sources]
  for (let tries = 1; tries <= REPLACE_TRIES; tries++) {
    if ((await own.query(FIND_LONG, [names])).rows.length === 0) {
      const isReplaced = await inTransaction(own, () => replaceIn(own, running, columns))
      if (isReplaced === true) {
        log.info({ partition: running.target, of: running.sources }, 'rewrote partitions')
        return 'done'
      }
      // many rows change now, or the table has changed
      if (isReplaced === false) return 'more'
    }
    await sleep(pauseMs * tries * (0.5 + Math.random() / 2))
  }
  log.info({ partition: running.target }, 'partitions are in use for long; a later round replaces them')
  return 'wait'
}

async function replaceIn(own: Queryable, running: Running, columns: readonly string[]): Promise<boolean> {
  for (const lock of lockSql(running)) await own.query(lock)
  // all of them, since from here on nobody writes
  if ((await repeatIn(own, running, { columns, most: LAST_NOTES })) === LAST_NOTES) return false
  if (!(await isUnchanged(own, running))) return false
  await own.query(replaceSql(running))
  return true
}
