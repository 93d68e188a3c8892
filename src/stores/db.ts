/**
 * PostgreSQL access: SQL with parameters over pooled connections. Every session commits synchronously, because a
 * committed message is a promise to the client. `prepared` statements are planned once per connection. A lost
 * connection rejects the query; `isDatabaseAway` distinguishes that from an error in the statement.
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
  /** Runs `work` in one transaction on one connection; rolls back when it throws. Never wait for the network in it. */
  transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T>
  /** Runs several reads on one snapshot of the database. */
  snapshot<T>(work: (tx: Queryable) => Promise<T>): Promise<T>
  /** The current state of the connection pools. */
  pools(): readonly PoolStatus[]
  close(): Promise<void>
}

export interface PoolStatus {
  readonly pool: 'hot' | 'plain'
  readonly inUse: number
  readonly idle: number
  /** Callers waiting for a connection. */
  readonly waiting: number
}

/** A statement that is parsed once per connection. Its name must be unique in the project. */
export function prepared(name: string, text: string): Statement {
  return { name, text }
}

types.setTypeParser(types.builtins.INT8, Number)

// The server shuts down, refuses connections, is starting, is read-only (a failover), or is out of connections or disk
// space. The statement may or may not have been executed.
const UNAVAILABLE_SQLSTATES = /^(08|53|58|57P0[1-5]|25006)/
const UNAVAILABLE_ERRNO = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
])

const CONNECTION_ERROR = new RegExp(
  '^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error' +
    '|Client was closed|Query read timeout)',
)

/** A deadlock or serialisation failure: PostgreSQL rolled back the whole transaction, and the caller may repeat it. */
export function isTransactionConflict(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === '40P01' || error.code === '40001')
}

/** Whether the database is unavailable now. The statement is correct: retry later. */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return (
    UNAVAILABLE_SQLSTATES.test(code) ||
    UNAVAILABLE_ERRNO.has(code) ||
    isSocketMissing(error, code) ||
    CONNECTION_ERROR.test(error.message)
  )
}

/**
 * A socket file that does not exist: its server is not running. ENOENT for any other file is a bug or a wrong setting.
 */
function isSocketMissing(error: Error, code: string): boolean {
  return code === 'ENOENT' && 'syscall' in error && error.syscall === 'connect'
}

/** Whether a table or column does not exist: the database is not migrated to this version yet. */
export function isUnmigrated(error: unknown): boolean {
  return error instanceof DatabaseError && (error.code === '42P01' || error.code === '42703')
}

/** Whether a NOT NULL column rejected null. Some statements write null on purpose to roll themselves back. */
export function isNotNullViolation(error: unknown, table: string, column: string): boolean {
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
  // between two statements nothing else handles 'error', and an unhandled 'error' event ends the process
  const onConnectionLost = (error: Error): void => {
    broken = error
  }
  client.on('error', onConnectionLost)
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
    client.off('error', onConnectionLost)
  }
}

/**
 * Prepared statements are the hot ones: batches by key on partitioned tables. They use one generic plan and always an
 * index. Planning for each batch would cost more than executing it, and a plan made while a table is small would scan
 * the table when it is large.
 */
const HOT_SETTINGS = [
  'plan_cache_mode=force_generic_plan',
  'enable_seqscan=off',
  'enable_hashjoin=off',
  'enable_mergejoin=off',
  'jit=off',
]

/**
 * Hot statements take milliseconds, with large attachments seconds. A server that does not respond within this time
 * counts as unavailable, and the result is unknown, as after a lost connection.
 */
const QUERY_TIMEOUT_MS = 60_000

interface PoolOptions {
  readonly max: number
  readonly queryTimeoutMs: number
  readonly settings: readonly string[]
}

function openPool(url: string, log: Log, { max, queryTimeoutMs, settings }: PoolOptions): Pool {
  const options = ['synchronous_commit=on', ...settings].map((setting) => `-c ${setting}`).join(' ')
  const pool = new Pool({
    connectionString: url,
    max,
    connectionTimeoutMillis: 5000,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    query_timeout: queryTimeoutMs,
    options,
    application_name: 'mailstead',
  })
  pool.on('error', (error) =>
    log.warn({ err: error }, 'an idle PostgreSQL connection was lost; it is opened again on demand'),
  )
  return pool
}

/**
 * Opens two pools, which connect on first use: `hot` for prepared statements and transactions, `plain` for all others.
 * `max` is the number of connections of each. Plain statements, such as housekeeping, may take five times as long.
 */
export function openDb(url: string, log: Log, max = 8, queryTimeoutMs = QUERY_TIMEOUT_MS): Db {
  const hot = openPool(url, log, { max, queryTimeoutMs, settings: HOT_SETTINGS })
  const plain = openPool(url, log, { max, queryTimeoutMs: 5 * queryTimeoutMs, settings: [] })
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
