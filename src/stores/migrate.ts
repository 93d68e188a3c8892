/**
 * Migrates a database to this version: runs the pending migrations of `migrations/` in order, creates the partitions of
 * the coming weeks and renumbers restored events. An advisory lock, which ends with its session, lets one process do
 * this at a time. Running it again changes nothing. The partitions are those of PostgreSQL's clock.
 */
import { join } from 'node:path'
import createKnex, { type Knex } from 'knex'
import { listMigrations, MIGRATIONS } from './migrations.ts'
import { CONNECTION, explainConnectError, PostgresClient } from './postgres-client.ts'
import { ensurePartitions } from './partitions.ts'
import { renumberRestoredEvents } from './restored-events.ts'

// Any number of processes may start together: one migrates, the others wait. "MAIL" in ASCII.
const LOCK = 0x4d41494c

interface Migration {
  up(knex: Knex): Promise<void>
  down(knex: Knex): Promise<void>
}

const source: Knex.MigrationSource<string> = {
  getMigrations: () => Promise.resolve(listMigrations()),
  getMigrationName: (name) => name,
  getMigration: (name) => import(join(MIGRATIONS, name)) as Promise<Migration>,
}

const SETTINGS = { migrationSource: source, tableName: 'migrations' }

/** @throws when the database cannot be reached or a migration fails; a failed migration is rolled back. */
export async function migrate(databaseUrl: string): Promise<void> {
  const holder = new PostgresClient({ ...CONNECTION, connectionString: databaseUrl })
  const knex = createKnex({ client: 'pg', connection: databaseUrl, pool: { min: 0, max: 2 } })
  await holder.connect().catch((error: unknown) => {
    throw explainConnectError(error)
  })
  try {
    const { serverMs } = await holder.openSession(CONNECTION.connectionTimeoutMillis)
    await holder.query(`SELECT pg_advisory_lock(${LOCK})`)
    // the advisory lock ends with its session; knex's own lock table stays locked after a crash, so it is unlocked
    // first
    await knex.migrate.forceFreeMigrationsLock(SETTINGS)
    await knex.migrate.latest(SETTINGS)
    await ensurePartitions((statement) => holder.query(statement), serverMs)
    await renumberRestoredEvents((statement) => holder.query(statement))
  } finally {
    await knex.destroy()
    await holder.end()
  }
}
