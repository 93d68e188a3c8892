/** The database for checks: a connection of its own, or the reason why there is none, in words for an operator. */
import { pino } from 'pino'
import { describeDatabaseUrl } from '#bin/cli/context.ts'
import { type Db, openDb } from '#src/stores/db.ts'
import { UnsuitableStoreError } from '#src/stores/store-errors.ts'
import { type CheckContext, messageOf } from '#src/doctor/check.ts'
import { CHECKS_AT_ONCE } from '#src/doctor/run-checks.ts'

/** A person waits for the result, and a store that takes longer for these statements is a finding. */
const PATIENCE_MS = { urgent: 5000, normal: 5000, bulk: 5000 }

type DatabaseAccess = Pick<CheckContext, 'db' | 'databaseError'>

/** Closes the connection when `use` has ended. */
export async function withDatabaseAccess<T>(
  databaseUrl: string,
  use: (access: DatabaseAccess) => Promise<T>,
): Promise<T> {
  const db = openDb(databaseUrl, pino({ level: 'silent' }), CHECKS_AT_ONCE, PATIENCE_MS)
  try {
    return await use(await tryDatabase(db, databaseUrl))
  } finally {
    await db.close()
  }
}

async function tryDatabase(db: Db, databaseUrl: string): Promise<DatabaseAccess> {
  try {
    await db.query('SELECT 1')
    return { db, databaseError: '' }
  } catch (error) {
    const what = error instanceof UnsuitableStoreError ? 'used' : 'reached'
    const databaseError = `PostgreSQL at ${describeDatabaseUrl(databaseUrl)} cannot be ${what} (${messageOf(error)})`
    return { db: null, databaseError }
  }
}
