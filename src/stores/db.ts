/**
 * PostgreSQL: raw SQL with parameters over pooled connections. What is written here is what was promised, so every session commits synchronously.
 * A statement that must be planned once is `prepared`. A lost connection rejects the query; `isDatabaseAway` tells that from a mistake.
 */
import { DatabaseError, Pool, types, type PoolClient, type QueryResult } from 'pg'
import type { Log } from '#src/platform/log.ts'

export type Row = Record<string, unknown>

/** Anything that runs a statement: the pool, or the one connection of a transaction. */
export interface Queryable {
  query<R extends object = Row>(
    statement: string | Statement,
    values?: readonly unknown[],
  ): Promise<{ rows: R[]; rowCount: number | null }>
}

export interface Statement {
  readonly name: string
  readonly text: string
}

export interface Db extends Queryable {
  /** Runs `work` in one transaction on one connection; rolls back when it throws. Never await the network inside. */
  transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T>
  /** Several reads of one moment. */
  snapshot<T>(work: (tx: Queryable) => Promise<T>): Promise<T>
  /** Its connections now. */
  pools(): readonly PoolView[]
  close(): Promise<void>
}

export interface PoolView {
  readonly pool: 'hot' | 'plain'
  readonly inUse: number
  readonly idle: number
  /** Callers that wait for a connection. */
  readonly waiting: number
}

/** A statement that is parsed once a connection. Its name must be unique in the project. */
export function prepared(name: string, text: string): Statement {
  return { name, text }
}

types.setTypeParser(types.builtins.INT8, Number)

// A server that goes away, refuses, is starting, only reads (a failover), or has no room or disk; the statement may or may not have been
// carried out.
const AWAY_SQLSTATES = /^(08|53|58|57P0[1-5]|25006)/
const AWAY_ERRNO = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
])

/** True when the database cannot be reached now: try again later, nothing is wrong with the statement. */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return (
    AWAY_SQLSTATES.test(code) ||
    AWAY_ERRNO.has(code) ||
    isSocketGone(error, code) ||
    /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Client was closed|Query read timeout)/.test(
      error.message,
    )
  )
}

/** A socket file that is not there: its server does not run. Of any other file it would be a fault of ours, or of a setting. */
function isSocketGone(error: Error, code: string): boolean {
  return code === 'ENOENT' && 'syscall' in error && error.syscall === 'connect'
}

/** True when a table or column is not there: the database was not brought to this version yet. */
export function isUnmigrated(error: unknown): boolean {
  return error instanceof DatabaseError && (error.code === '42P01' || error.code === '42703')
}

/** True when a column that may not be null refused one: how a statement that writes null on purpose takes itself back. */
export function isNullRefused(error: unknown, table: string, column: string): boolean {
  return error instanceof DatabaseError && error.code === '23502' && error.table === table && error.column === column
}

function run<R extends object>(
  target: Pool | PoolClient,
  statement: string | Statement,
  values: readonly unknown[] | undefined,
): Promise<QueryResult<R>> {
  return typeof statement === 'string'
    ? target.query<R>(statement, values as unknown[])
    : target.query<R>({ name: statement.name, text: statement.text, values: values as unknown[] })
}

async function inTransaction<T>(pool: Pool, begin: string, work: (tx: Queryable) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  let broken: Error | undefined
  // between two statements nobody else listens, and a loss that nobody hears ends the process
  const hearLoss = (error: Error): void => {
    broken = error
  }
  client.on('error', hearLoss)
  try {
    await client.query(begin)
    const result = await work({ query: (statement, values) => run(client, statement, values) })
    await client.query('COMMIT')
    return result
  } catch (error) {
    await client.query('ROLLBACK').catch((failure: unknown) => {
      broken = failure instanceof Error ? failure : new Error(String(failure))
    })
    throw error
  } finally {
    client.release(broken)
    client.off('error', hearLoss)
  }
}

/**
 * Prepared statements are the hot ones: batches by key on partitioned tables. They are planned once for any parameters and always go in by index:
 * planning them for each batch cost more than running them, and a plan made while a table was small would scan it when it is large.
 */
const HOT = [
  'plan_cache_mode=force_generic_plan',
  'enable_seqscan=off',
  'enable_hashjoin=off',
  'enable_mergejoin=off',
  'jit=off',
]

/**
 * Hot statements take milliseconds, with large attachments seconds. A server that is silent for so long is away, and the result unknown,
 * as with a connection that was lost.
 */
const PATIENCE_MS = 60_000

interface PoolOrder {
  readonly max: number
  readonly patienceMs: number
  readonly settings: readonly string[]
}

function openPool(url: string, log: Log, { max, patienceMs, settings }: PoolOrder): Pool {
  const options = ['synchronous_commit=on', ...settings].map((setting) => `-c ${setting}`).join(' ')
  const pool = new Pool({
    connectionString: url,
    max,
    connectionTimeoutMillis: 5000,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    query_timeout: patienceMs,
    options,
    application_name: 'mailstead',
  })
  pool.on('error', (error) => log.warn({ err: error }, 'an idle database connection was lost'))
  return pool
}

/**
 * Opens the pools, one for prepared statements and transactions, one for the rest; they connect on first use. `max` is the connections
 * of each. Plain statements, housekeeping among them, may take five times as long.
 */
export function openDb(url: string, log: Log, max = 8, patienceMs = PATIENCE_MS): Db {
  const hot = openPool(url, log, { max, patienceMs, settings: HOT })
  const plain = openPool(url, log, { max, patienceMs: 5 * patienceMs, settings: [] })
  return {
    query: (statement, values) => run(typeof statement === 'string' ? plain : hot, statement, values),
    transaction: (work) => inTransaction(hot, 'BEGIN', work),
    snapshot: (work) => inTransaction(plain, 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', work),
    pools: () =>
      (
        [
          ['hot', hot],
          ['plain', plain],
        ] as const
      ).map(([name, { totalCount, idleCount, waitingCount }]) => ({
        pool: name,
        inUse: totalCount - idleCount,
        idle: idleCount,
        waiting: waitingCount,
      })),
    close: async () => {
      await Promise.all([hot.end(), plain.end()])
    },
  }
}
