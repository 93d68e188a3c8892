/**
 * Counts the partitions that the statements of some work touch: those that PostgreSQL locked, which includes every
 * partition in the plan, also if it was not executed. The work runs in transactions that are rolled back: prepared
 * statements in a session with the settings of such statements, all others in one without.
 */
import { Client } from 'pg'
import type { Db, Queryable, Row } from '#src/stores/db.ts'
import { ensurePartitions } from '#src/stores/partitions.ts'
import { sql } from '#src/stores/sql.ts'

const WEEK_MS = 7 * 24 * 3600 * 1000
/** `ensurePartitions` creates those of five weeks. */
const WEEKS_AT_ONCE = 5

/** Creates the partitions of this many weeks before now. */
export async function createOldPartitions(db: Db, weeks: number): Promise<void> {
  for (let back = WEEKS_AT_ONCE; back < weeks + WEEKS_AT_ONCE; back += WEEKS_AT_ONCE)
    await ensurePartitions((statement) => db.query(statement), Date.now() - back * WEEK_MS)
}

/** Partitions by table. */
export type Touched = Readonly<Record<string, number>>

const LOCKED = sql`
  SELECT p.relname AS name, count(DISTINCT i.inhrelid)::int AS n
  FROM pg_locks l
  JOIN pg_inherits i ON i.inhrelid = l.relation
  JOIN pg_class p ON p.oid = i.inhparent AND p.relkind = 'p'
  WHERE l.pid = pg_backend_pid()
  GROUP BY p.relname
`

class RolledBack extends Error {}

/** @throws what `work` throws. */
export async function countTouched(db: Db, url: string, work: (db: Db) => Promise<unknown>): Promise<Touched> {
  const plain = new Client({ connectionString: url })
  await plain.connect()
  const touched: Record<string, number> = {}
  const add = async (session: Queryable): Promise<void> => {
    const { rows } = await session.query<{ name: string; n: number }>(LOCKED)
    for (const { name, n } of rows) touched[name] = Math.max(touched[name] ?? 0, n)
  }
  try {
    await plain.query('BEGIN')
    await db.transaction(async (hot) => {
      await work(routed(db, plain, hot))
      await add(hot)
      throw new RolledBack()
    })
  } catch (error) {
    if (!(error instanceof RolledBack)) throw error
    await add(plain)
  } finally {
    await plain.end()
  }
  return touched
}

function routed(db: Db, plain: Queryable, hot: Queryable): Db {
  // a connection runs one statement at a time
  let last: Promise<unknown> = Promise.resolve()
  const result: Db = {
    clock: db.clock,
    measureClock: () => db.measureClock(),
    pools: () => db.pools(),
    connectionChanges: () => db.connectionChanges(),
    close: () => Promise.resolve(),
    apart: (work) => work(result),
    session: (_, work) => work(result),
    query: <R extends object = Row>(...[statement, values]: Parameters<Queryable['query']>) => {
      const next = last.then(() => (typeof statement === 'string' ? plain : hot).query<R>(statement, values))
      last = next.catch(() => undefined)
      return next
    },
    transaction: (work) => work(result),
    snapshot: (work) => work(result),
    attributedTo: () => result,
    get bulk() {
      return result
    },
  }
  return result
}
