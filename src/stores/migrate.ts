/**
 * Brings a database to this version: the migrations in `migrations/`, in order, once, under a lock that survives a crash of its holder,
 * then the partitions of the coming weeks, and the events that a dump brought. Running it again changes nothing.
 */
import { join } from 'node:path'
import createKnex, { type Knex } from 'knex'
import { Client } from 'pg'
import { listMigrations, MIGRATIONS } from './migrations.ts'
import { ensurePartitions } from './partitions.ts'
import { adoptRestoredEvents } from './restored-events.ts'

// any number of processes may start together: one migrates, the others wait for it. "MAIL" in ASCII.
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

/** @throws with the cause when the database cannot be reached or a migration fails; a failed migration leaves nothing behind. */
export async function migrate(databaseUrl: string): Promise<void> {
  const holder = new Client({ connectionString: databaseUrl })
  const knex = createKnex({ client: 'pg', connection: databaseUrl, pool: { min: 0, max: 2 } })
  await holder.connect()
  try {
    await holder.query(`SELECT pg_advisory_lock(${LOCK})`)
    // our advisory lock goes with its session; knex's own lock table stays locked after a crash, so it is freed first
    await knex.migrate.forceFreeMigrationsLock(SETTINGS)
    await knex.migrate.latest(SETTINGS)
    await ensurePartitions((statement) => holder.query(statement), Date.now())
    await adoptRestoredEvents((statement) => holder.query(statement))
  } finally {
    await knex.destroy()
    await holder.end()
  }
}
