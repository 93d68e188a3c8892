/**
 * Sessions of PostgreSQL for statements that may wait for hours, such as a concurrent detach. Each has a connection of
 * its own, which closes with its work. If the process dies, the server finishes the statement under way, and only then
 * releases the advisory locks of the session.
 */
import type { Queryable } from './db.ts'
import { type ConnectionPool, statementTimeout } from './postgres-pool.ts'

export interface Sessions {
  run<T>(limitMs: number, work: (own: Queryable) => Promise<T>): Promise<T>
  /** Closes those that are open; statements under way are rejected. */
  close(): Promise<void>
}

/** `open` opens a pool for one connection; `openMs` is the limit for its settings. */
export function createSessions(
  open: () => ConnectionPool,
  openMs: number,
  isLost: (error: unknown) => boolean,
): Sessions {
  const pools = new Set<ConnectionPool>()
  return {
    run: async (limitMs, work) => {
      const pool = open()
      pools.add(pool)
      // the role may have limits of its own
      const limits = `SET statement_timeout = ${statementTimeout(limitMs).statement_timeout}; SET lock_timeout = 0`
      try {
        return await pool.use(async (client) => {
          await client.within(openMs, () => client.query(limits))
          return work({
            query: (statement, values) =>
              client.within(limitMs, () =>
                typeof statement === 'string'
                  ? client.query(statement, values as unknown[])
                  : client.query({ ...statement, values: values as unknown[] }),
              ),
          })
        }, isLost)
      } finally {
        pools.delete(pool)
        await pool.close()
      }
    },
    close: async () => {
      await Promise.all([...pools].map((pool) => pool.close()))
    },
  }
}
