/**
 * PostgreSQL: one pool a process, raw SQL with parameters. What is written here is what was promised, so every session commits synchronously.
 * A statement that must be planned once is `prepared`. A lost connection rejects the query; `isDatabaseAway` tells that from a mistake.
 */
import { Pool, types, type PoolClient, type QueryResult } from 'pg'
import type { Log } from './log.ts'

export type Row = Record<string, unknown>

/** Anything that runs a statement: the pool, or the one connection of a transaction. */
export interface Queryable {
  query<R extends object = Row>(statement: string | Statement, values?: readonly unknown[]): Promise<{ rows: R[]; rowCount: number | null }>
}

export interface Statement {
  readonly name: string
  readonly text: string
}

export interface Db extends Queryable {
  /** Runs `work` in one transaction on one connection; rolls back when it throws. Never await the network inside. */
  transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T>
  close(): Promise<void>
}

/** A statement that is parsed once a connection. Its name must be unique in the project. */
export function prepared(name: string, text: string): Statement {
  return { name, text }
}

types.setTypeParser(types.builtins.INT8, Number)

// A server that goes away, refuses, or is starting; the statement may or may not have been carried out.
const AWAY_SQLSTATES = /^(08|57P0[1-4]|53300)/
const AWAY_ERRNO = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ENOENT', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'EAI_AGAIN'])

/** True when the database cannot be reached now: try again later, nothing is wrong with the statement. */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return AWAY_SQLSTATES.test(code) || AWAY_ERRNO.has(code)
    || /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Client was closed|Query read timeout)/.test(error.message)
}

function run<R extends object>(target: Pool | PoolClient, statement: string | Statement, values: readonly unknown[] | undefined): Promise<QueryResult<R>> {
  return typeof statement === 'string'
    ? target.query<R>(statement, values as unknown[])
    : target.query<R>({ name: statement.name, text: statement.text, values: values as unknown[] })
}

async function inTransaction<T>(pool: Pool, work: (tx: Queryable) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  let broken: Error | undefined
  try {
    await client.query('BEGIN')
    const result = await work({ query: (statement, values) => run(client, statement, values) })
    await client.query('COMMIT')
    return result
  } catch (error) {
    await client.query('ROLLBACK').catch((failure: unknown) => { broken = failure instanceof Error ? failure : new Error(String(failure)) })
    throw error
  } finally {
    client.release(broken)
  }
}

/** Opens the pool; connects on first use. `max` is the number of connections. */
export function openDb(url: string, log: Log, max = 10): Db {
  const pool = new Pool({ connectionString: url, max, connectionTimeoutMillis: 5000, idleTimeoutMillis: 60_000, options: '-c synchronous_commit=on', application_name: 'mailstead' })
  pool.on('error', (error) => log.warn({ err: error }, 'an idle database connection was lost'))
  return {
    query: (statement, values) => run(pool, statement, values),
    transaction: (work) => inTransaction(pool, work),
    close: () => pool.end(),
  }
}
