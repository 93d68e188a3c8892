/**
 * How a migration talks to PostgreSQL without stopping mail. A statement that waits for a lock makes every later one
 * wait behind it, so a brief step waits for half a second, then lets the others pass and tries again. A step that
 * others wait for is cancelled before they have waited for a second. If a transaction of somebody else holds the lock
 * for `patienceMs`, the migration ends with an error that names it; what is finished stays finished.
 *
 * If the process dies, PostgreSQL rolls back the open transaction; the half-built index of a concurrent build stays
 * invalid, is used by nothing, and is built again by the next run.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Knex } from 'knex'
import type { StepTransaction } from './migration-steps.ts'
import { sql } from './sql.ts'

const LOCK_WAIT_MS = 500
const MAX_BLOCK_MS = 700
const POLL_MS = 100
const FIRST_PAUSE_MS = 200
const MAX_PAUSE_MS = 5000
const PATIENCE_MS = 600_000
/** Reported after this, and then each time it has doubled. */
const REPORT_AFTER_MS = 10_000
/** A step that was cancelled this often because others waited for it does not get any faster. */
const MAX_CANCELLED = 5

const LOCK_NOT_AVAILABLE = '55P03'
const QUERY_CANCELED = '57014'
const DEADLOCK_DETECTED = '40P01'

export interface SessionOptions {
  /** How long a migration tries to get a lock. */
  readonly patienceMs?: number
  /** How long a step may block other sessions before it is cancelled and tried again. */
  readonly maxBlockMs?: number
  /** Called for each transaction that locks tables, with its work; for tests. */
  readonly around?: (tx: StepTransaction, work: () => Promise<void>) => Promise<void>
  /** Receives a line when a step waits for long. */
  readonly say?: (line: string) => void
}

/** A connection that watches the one that migrates. */
export interface Watcher {
  query<R extends object>(statement: string, values: readonly unknown[]): Promise<{ rows: R[] }>
}

export interface MigrationSession {
  readonly knex: Knex
  /** Runs a transaction that locks tables. It is repeated until it gets the locks. */
  brief(work: (tx: StepTransaction) => Promise<unknown>): Promise<void>
  /** Runs a transaction that holds no lock that readers or writers wait for. */
  unlocked(work: (tx: StepTransaction) => Promise<unknown>): Promise<void>
  /** Runs a statement that cannot be in a transaction. */
  outside(statement: string): Promise<void>
  /** Runs one statement; returns how many rows it changed. */
  change(statement: string): Promise<number>
  isEmpty(table: string): Promise<boolean>
  indexState(name: string): Promise<'missing' | 'valid' | 'invalid'>
  /** Null if the table is not partitioned. */
  partitionsOf(table: string): Promise<string[] | null>
  /** Partitions that have no part of a partitioned index, without those that are being detached. */
  partitionsWithout(index: { readonly name: string; readonly table: string }): Promise<string[]>
}

/** The migration could not get its locks, or would have blocked others for too long. */
export class MigrationBlockedError extends Error {
  override readonly name = 'MigrationBlockedError'
}

/** `knex` may use two connections; the settings of its transactions are local to them. */
export function createMigrationSession(knex: Knex, watcher: Watcher, options: SessionOptions = {}): MigrationSession {
  const rows = async <R extends object>(statement: string, values: readonly string[] = []): Promise<R[]> =>
    (await knex.raw<{ rows: R[] }>(statement, [...values])).rows
  return {
    knex,
    brief: (work) => runBrief(knex, watcher, work, options),
    unlocked: (work) => knex.transaction((trx) => work(asTransaction(trx)).then(() => undefined)),
    outside: async (statement) => {
      await knex.raw(statement)
    },
    change: async (statement) => (await knex.raw<{ rowCount: number | null }>(statement)).rowCount ?? 0,
    isEmpty: async (table) => {
      const [row] = await rows<{ isEmpty: boolean }>('SELECT pg_relation_size(?::regclass) = 0 AS "isEmpty"', [table])
      return row?.isEmpty === true
    },
    indexState: async (name) => {
      const [row] = await rows<{ isValid: boolean }>(INDEX_STATE, [name])
      if (row === undefined) return 'missing'
      return row.isValid ? 'valid' : 'invalid'
    },
    partitionsOf: async (table) => {
      const [row] = await rows<{ names: string[] | null }>(PARTITIONS, [table])
      return row?.names ?? null
    },
    partitionsWithout: async ({ name, table }) =>
      (await rows<{ name: string }>(PARTITIONS_WITHOUT, [table, name])).map((row) => row.name),
  }
}

const asTransaction = (trx: Knex.Transaction): StepTransaction => ({
  knex: trx,
  query: async (text, values = []) => trx.raw(text, [...values]),
})

/** A transaction of a backend. */
interface Watched {
  readonly pid: number
  /** Seconds; a later transaction of the same backend has another one. */
  readonly startedAt: string
}

const START = sql`
  SELECT pg_backend_pid() AS pid, extract(epoch FROM now())::text AS "startedAt", set_config('lock_timeout', ?, true)
`
const INDEX_STATE = `SELECT indisvalid AS "isValid" FROM pg_index WHERE indexrelid = to_regclass(?)`
const PARTITIONS = sql`
  SELECT CASE WHEN c.relkind = 'p' THEN
    ARRAY(
      SELECT i.inhrelid::regclass::text
      FROM pg_inherits i
      WHERE i.inhparent = c.oid AND NOT i.inhdetachpending
      ORDER BY 1
    )
  END AS names
  FROM pg_class c
  WHERE c.oid = ?::regclass
`
const PARTITIONS_WITHOUT = sql`
  SELECT p.inhrelid::regclass::text AS name
  FROM pg_inherits p
  WHERE p.inhparent = ?::regclass AND NOT p.inhdetachpending AND NOT EXISTS (
    SELECT
    FROM pg_inherits i
    JOIN pg_index x ON x.indexrelid = i.inhrelid
    WHERE i.inhparent = ?::regclass AND x.indrelid = p.inhrelid
  )
  ORDER BY 1
`

async function runBrief(
  knex: Knex,
  watcher: Watcher,
  work: (tx: StepTransaction) => Promise<unknown>,
  { patienceMs = PATIENCE_MS, maxBlockMs = MAX_BLOCK_MS, say = () => undefined, around }: SessionOptions,
): Promise<void> {
  const whole = (tx: StepTransaction): Promise<unknown> =>
    around === undefined ? work(tx) : around(tx, async () => void (await work(tx)))
  const startedAt = performance.now()
  let reportMs = REPORT_AFTER_MS
  let cancelled = 0
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
    const attempt = await tryBrief(knex, watcher, whole, maxBlockMs)
    if (attempt.isDone) return
    cancelled += attempt.isCancelled ? 1 : 0
    if (cancelled >= MAX_CANCELLED) throw new MigrationBlockedError(tooSlow(maxBlockMs))
    const waitedMs = performance.now() - startedAt
    if (waitedMs > patienceMs) throw new MigrationBlockedError(neverFree(waitedMs, attempt.holders))
    if (waitedMs > reportMs) {
      say(`waits for a lock since ${Math.round(waitedMs / 1000)} s${heldBy(attempt.holders)}`)
      reportMs *= 2
    }
    await sleep(pauseMs * (0.5 + Math.random()))
  }
}

interface Attempt {
  readonly isDone: boolean
  /** Others waited for it. */
  readonly isCancelled: boolean
  /** Who holds the lock that it did not get. */
  readonly holders: readonly string[]
}

async function tryBrief(
  knex: Knex,
  watcher: Watcher,
  work: (tx: StepTransaction) => Promise<unknown>,
  maxBlockMs: number,
): Promise<Attempt> {
  const over = new AbortController()
  const watch: Watch = { over: over.signal, isCancelled: false, holders: [] }
  let watching: Promise<void> = Promise.resolve()
  try {
    await knex.transaction(async (trx) => {
      const { rows } = await trx.raw<{ rows: Watched[] }>(START, [String(LOCK_WAIT_MS)])
      const [transaction] = rows
      if (transaction !== undefined) watching = watchOthers(watcher, transaction, watch, maxBlockMs)
      await work(asTransaction(trx))
    })
    return { isDone: true, isCancelled: false, holders: [] }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null
    const isRepeatable =
      code === LOCK_NOT_AVAILABLE || code === DEADLOCK_DETECTED || (code === QUERY_CANCELED && watch.isCancelled)
    if (!isRepeatable) throw error
    return { isDone: false, isCancelled: watch.isCancelled, holders: watch.holders }
  } finally {
    over.abort()
    await watching
  }
}

interface Watch {
  /** The transaction has ended. */
  readonly over: AbortSignal
  isCancelled: boolean
  holders: readonly string[]
}

/** Cancels the statement of a transaction when others wait for it. A watcher that fails watches no more. */
async function watchOthers(
  watcher: Watcher,
  { pid, startedAt }: Watched,
  watch: Watch,
  maxBlockMs: number,
): Promise<void> {
  let blockedAt: number | null = null
  for (;;) {
    // most steps are shorter than the pause, and end it
    await sleep(POLL_MS, undefined, { ref: false, signal: watch.over }).catch(() => undefined)
    if (watch.over.aborted) return
    const found = await watcher.query<{ blocks: boolean; holders: string[] }>(LOCKS, [pid]).catch(() => null)
    const [row] = found?.rows ?? []
    if (row === undefined) return
    if (row.holders.length > 0) watch.holders = row.holders
    blockedAt = row.blocks ? (blockedAt ?? performance.now()) : null
    if (blockedAt === null || performance.now() - blockedAt + POLL_MS < maxBlockMs || watch.over.aborted) continue
    watch.isCancelled = true
    await watcher.query(CANCEL, [pid, startedAt]).catch(() => null)
    return
  }
}

/** Not what the backend does after the end of the transaction. */
const CANCEL = sql`
  SELECT pg_cancel_backend(pid)
  FROM pg_stat_activity
  WHERE pid = $1 AND extract(epoch FROM xact_start) = $2::numeric
`

const LOCKS = sql`
  SELECT
    EXISTS (SELECT FROM pg_locks WHERE NOT granted AND pid <> $1 AND $1 = ANY (pg_blocking_pids(pid))) AS blocks,
    ARRAY(
      SELECT 'process ' || pid || coalesce(' (' || nullif(application_name, '') || ')', '') || ' of user '
        || coalesce(usename, '?') || coalesce(', in a transaction since ' || to_char(xact_start, 'HH24:MI:SS'), '')
      FROM pg_stat_activity
      WHERE pid = ANY (pg_blocking_pids($1))
      LIMIT 3
    ) AS holders
`

const heldBy = (holders: readonly string[]): string => (holders.length === 0 ? '' : ` held by ${holders.join('; ')}`)

const neverFree = (waitedMs: number, holders: readonly string[]): string =>
  `no lock within ${Math.round(waitedMs / 1000)} s${heldBy(holders)}. Mail was not held up. End that transaction ` +
  '(SELECT pg_terminate_backend(process)) or wait for its end, and run mailstead migrate again: it continues here'

const tooSlow = (maxBlockMs: number): string =>
  `others would wait for longer than ${maxBlockMs} ms on this database, so the step was rolled back each time. ` +
  'Stop all roles and run mailstead migrate again: nothing waits for it then'
