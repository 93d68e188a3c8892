/**
 * PostgreSQL access: SQL with parameters over pooled connections. Every session commits synchronously, because a
 * committed message is a promise to the client. `prepared` statements are planned once per connection. Each statement
 * has a time limit by its class (`Patience`), so a server that is frozen or unreachable delays nothing for long
 * (postgres-pool.ts). A lost connection rejects the query; `isDatabaseAway` distinguishes that from an error in the
 * statement.
 */
import { DatabaseError, escapeLiteral, types, type Client, type QueryResult } from 'pg'
import type { Log } from '#src/platform/log.ts'
import type { Actor } from './audit.ts'
import { equalSizes, poolSizes } from './pool-sizes.ts'
import { readTime, type PostgresClient } from './postgres-client.ts'
import { ConnectionPool, type ConnectionPoolOptions } from './postgres-pool.ts'
import { createServerClock, type ServerClock } from './server-clock.ts'
import { createSessions } from './sessions.ts'
import { isUnavailable } from './store-errors.ts'

export type Row = Record<string, unknown>

/** Anything that runs a statement: the pool, or the one connection of a transaction. */
export interface Queryable {
  query<R extends object = Row>(
    statement: string | Statement,
    values?: readonly unknown[],
  ): Promise<{ rows: R[]; rowCount: number | null }>
}

export interface Statement {
  /** '' for a statement that is planned each time. */
  readonly name: string
  readonly text: string
  readonly isUrgent?: boolean
}

/**
 * How long a statement may take. `urgent`: a client or a delivery waits for it, and a clear refusal is better than a
 * late answer. `normal`: everything else. `bulk`: the folding of counters, imports, removals and reads of whole tables.
 */
export type Patience = 'urgent' | 'normal' | 'bulk'

const PATIENCE_MS: Readonly<Record<Patience, number>> = { urgent: 5000, normal: 15_000, bulk: 300_000 }

export interface Db extends Queryable {
  /** Runs `work` in one transaction on one connection; rolls back when it throws. Never wait for the network in it. */
  transaction<T>(work: (tx: Queryable) => Promise<T>, patience?: Patience): Promise<T>
  /** Runs several reads on one snapshot of the database, with settings of PostgreSQL as `enable_sort = off`. */
  snapshot<T>(work: (tx: Queryable) => Promise<T>, settings?: readonly string[]): Promise<T>
  /**
   * Runs reads on a connection that is closed afterwards, for those of old weeks: PostgreSQL keeps the catalogue
   * entries of each partition that a connection has opened, some megabytes for two years.
   */
  apart<T>(work: (own: Queryable) => Promise<T>): Promise<T>
  /**
   * Runs statements that may wait for hours, each up to `limitMs`, in a session of their own: no pool has one
   * connection less meanwhile. The session ends with the work, and its advisory locks with it.
   */
  session<T>(limitMs: number, work: (own: Queryable) => Promise<T>): Promise<T>
  /** The same database with the patience for bulk work. */
  readonly bulk: Db
  /** The same database; each change is attributed to the actor, and recorded in the audit log. */
  attributedTo(actor: Actor): Db
  /** The server's clock. Each new connection measures it, and so does `measureClock`. */
  readonly clock: ServerClock
  /** Rejects while PostgreSQL is unavailable. */
  measureClock(): Promise<void>
  /** The current state of the connection pools. */
  pools(): readonly PoolStatus[]
  /** Counts opened and lost connections for prepared statements: while it is unchanged, the server is the same. */
  connectionChanges(): number
  /** Waits a moment for statements under way; those that take longer are given up, and rolled back. */
  close(): Promise<void>
}

export interface PoolStatus {
  readonly pool: 'urgent' | 'hot' | 'plain'
  readonly inUse: number
  readonly idle: number
  /** Callers waiting for a connection. */
  readonly waiting: number
}

/** A statement that is parsed once per connection. Its name must be unique in the project. */
export function prepared(name: string, text: string): Statement {
  return { name, text }
}

/** A prepared statement of the class `urgent`. */
export function urgent(name: string, text: string): Statement {
  return { name, text, isUrgent: true }
}

types.setTypeParser(types.builtins.INT8, Number)

/** A deadlock or serialisation failure: PostgreSQL rolled back the whole transaction, and the caller may repeat it. */
export function isTransactionConflict(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === '40P01' || error.code === '40001')
}

/** The server cancelled a statement that took longer than its `statement_timeout`. */
export function isStatementTimeout(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '57014'
}

/** Whether the database is unavailable now. The statement is correct: retry later. */
export function isDatabaseAway(error: unknown): boolean {
  return isUnavailable(error)
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
  client: Client,
  statement: string | Statement,
  values: readonly unknown[] | undefined,
): Promise<QueryResult<R>> {
  return typeof statement === 'string'
    ? client.query<R>(statement, values as unknown[])
    : client.query<R>({ name: statement.name, text: statement.text, values: values as unknown[] })
}

interface TransactionOptions {
  readonly begin: string
  readonly patienceMs: number
}

function inTransaction<T>(
  pool: ConnectionPool,
  { begin, patienceMs }: TransactionOptions,
  work: (tx: Queryable) => Promise<T>,
): Promise<T> {
  const inOrder = async (client: PostgresClient): Promise<T> => {
    const inTime = <R>(query: () => Promise<R>): Promise<R> => client.within(patienceMs, query)
    try {
      await inTime(() => client.query(begin))
      const result = await work({ query: (statement, values) => inTime(() => run(client, statement, values)) })
      await inTime(() => client.query('COMMIT'))
      return result
    } catch (error) {
      // a connection that is given up needs no rollback, and would not answer it
      if (!isDatabaseAway(error)) await inTime(() => client.query('ROLLBACK'))
      throw error
    }
  }
  return pool.use(inOrder, isDatabaseAway, { limitMs: patienceMs })
}

/**
 * Prepared statements are the hot ones: batches by key on partitioned tables. They use one generic plan and always look
 * up each key in an index. Planning for each batch would cost more than executing it, and a plan made while a table is
 * small would read all of it when it is large.
 */
export const HOT_SETTINGS: ConnectionPoolOptions['settings'] = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  enable_bitmapscan: 'off',
  jit: 'off',
}

type Pools = Readonly<Record<PoolStatus['pool'], ConnectionPool>>

/**
 * Opens three pools, which connect on first use: `urgent` and `hot` for prepared statements and transactions, `plain`
 * for all others. `max` is the number of connections of each, half of it for `urgent`; by default the machine decides.
 */
export function openDb(url: string, log: Log, max?: number, patienceMs = PATIENCE_MS): Db {
  const sizes = max === undefined ? poolSizes() : equalSizes(max)
  const clock = createServerClock()
  const open = (size: number, limitMs: number, settings: ConnectionPoolOptions['settings'] = {}): ConnectionPool =>
    new ConnectionPool(url, log, {
      max: size,
      patienceMs: limitMs,
      settings: { synchronous_commit: 'on', ...settings },
      clock,
      onSilence: () => {
        const closed = Object.values(pools).reduce((total, pool) => total + pool.closeIdle(), 0)
        if (closed > 0) log.warn({ closed }, 'PostgreSQL does not answer; closed the idle connections to it')
      },
    })
  const pools: Pools = {
    urgent: open(sizes.urgent, patienceMs.urgent, HOT_SETTINGS),
    hot: open(sizes.hot, patienceMs.normal, HOT_SETTINGS),
    plain: open(sizes.plain, patienceMs.normal),
  }
  const sessions = createSessions(() => open(1, patienceMs.normal), patienceMs.normal, isDatabaseAway)
  const shared: Pick<Db, 'apart' | 'session' | 'clock' | 'measureClock' | 'pools' | 'connectionChanges' | 'close'> = {
    clock,
    apart: (work) =>
      pools.plain.use(
        (client) =>
          work({
            query: (statement, values) => client.within(patienceMs.normal, () => run(client, statement, values)),
          }),
        isDatabaseAway,
        { isClosed: true },
      ),
    session: (limitMs, work) => sessions.run(limitMs, work),
    measureClock: async () =>
      clock.observe(await pools.urgent.use((client) => readTime(client, patienceMs.urgent), isDatabaseAway)),
    pools: () =>
      Object.entries(pools).map(([pool, opened]) => ({ pool: pool as PoolStatus['pool'], ...opened.status() })),
    connectionChanges: () => pools.urgent.changes + pools.hot.changes,
    close: async () => {
      await Promise.all([...Object.values(pools), sessions].map((pool) => pool.close()))
    },
  }
  const attributedTo = (actor: Actor): Db => {
    const begin = `${BEGIN}; SELECT set_config('mailstead.actor', ${escapeLiteral(JSON.stringify(actor))}, true)`
    const attributed = transactionQueries(pools, patienceMs, begin)
    return { ...shared, ...attributed, attributedTo, bulk: bulkOf(begin) }
  }
  const bulkOf = (begin: string): Db => {
    const bulk: Db = {
      ...shared,
      ...bulkQueries(pools, patienceMs.bulk, begin),
      attributedTo: (actor) => attributedTo(actor).bulk,
      get bulk() {
        return bulk
      },
    }
    return bulk
  }
  return { ...shared, ...queries(pools, patienceMs), attributedTo, bulk: bulkOf(BEGIN) }
}

type Queries = Pick<Db, 'query' | 'transaction' | 'snapshot'>

const BEGIN = 'BEGIN'

function beginSnapshot(settings: readonly string[] = []): string {
  return ['BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', ...settings.map((one) => `SET LOCAL ${one}`)].join('; ')
}

function queries(pools: Pools, patienceMs: Readonly<Record<Patience, number>>, begin = BEGIN): Queries {
  return {
    query: (statement, values) => {
      const isUrgent = typeof statement !== 'string' && statement.isUrgent === true
      const pool = typeof statement === 'string' ? pools.plain : isUrgent ? pools.urgent : pools.hot
      const limitMs = isUrgent ? patienceMs.urgent : patienceMs.normal
      return pool.use((client) => client.within(limitMs, () => run(client, statement, values)), isDatabaseAway)
    },
    transaction: (work, patience = 'normal') =>
      patience === 'bulk'
        ? bulkQueries(pools, patienceMs.bulk, begin).transaction(work)
        : inTransaction(
            patience === 'urgent' ? pools.urgent : pools.hot,
            { begin, patienceMs: patienceMs[patience] },
            work,
          ),
    snapshot: (work, settings) =>
      inTransaction(pools.plain, { begin: beginSnapshot(settings), patienceMs: patienceMs.normal }, work),
  }
}

/** Each transaction begins with `begin`, also around one statement. */
function transactionQueries(pools: Pools, patienceMs: Readonly<Record<Patience, number>>, begin: string): Queries {
  const { transaction, snapshot } = queries(pools, patienceMs, begin)
  return {
    query: (statement, values) =>
      inTransaction(
        typeof statement === 'string' ? pools.plain : pools.hot,
        { begin, patienceMs: patienceMs.normal },
        (tx) => tx.query(statement, values),
      ),
    transaction,
    snapshot,
  }
}

/** On the connections of the others, with another time limit. */
function bulkQueries({ hot, plain }: Pools, patienceMs: number, begin: string): Queries {
  return {
    query: (statement, values) => {
      const pool = typeof statement === 'string' ? plain : hot
      if (begin !== BEGIN) return inTransaction(pool, { begin, patienceMs }, (tx) => tx.query(statement, values))
      return pool.use((client) => client.within(patienceMs, () => run(client, statement, values)), isDatabaseAway, {
        limitMs: patienceMs,
      })
    },
    transaction: (work) => inTransaction(hot, { begin, patienceMs }, work),
    snapshot: (work, settings) => inTransaction(plain, { begin: beginSnapshot(settings), patienceMs }, work),
  }
}
