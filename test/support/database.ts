/** An open connection to a cloned database, for tests that need nothing else. */
import { pino } from 'pino'
import { openDb, type Db } from '#src/stores/db.ts'
import { createDatabase } from './stores.ts'

export interface OpenDatabase {
  readonly url: string
  readonly db: Db
  close(): Promise<void>
}

export async function openDatabase(): Promise<OpenDatabase> {
  const database = await createDatabase()
  const db = openDb(database.url, pino({ level: 'silent' }), 4)
  return {
    url: database.url,
    db,
    close: async () => {
      await db.close()
      await database.drop()
    },
  }
}
