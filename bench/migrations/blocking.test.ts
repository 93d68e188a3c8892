/**
 * Migrates a filled database, migration by migration, and checks what a transaction did while it held a lock that
 * readers or writers wait for: it must not have read or written as many rows as a table has. That is what makes a
 * migration block for longer the larger a database is; `bench/migrations/main.ts` measures the time at ten million
 * rows. It also undoes each migration and applies it again, and compares the schema.
 */
import { assert } from 'chai'
import createKnex from 'knex'
import { Client } from 'pg'
import { superuserUrl } from '#bin/supervisor/postgres-access.ts'
import { loadMigration, migrate, undoMigrations } from '#src/stores/migrate.ts'
import { CREATE_STEP_TABLE, runSteps } from '#src/stores/migration-runner.ts'
import { createMigrationSession, type SessionOptions } from '#src/stores/migration-session.ts'
import { brief, buildIndex, type MigrationStep, type StepTransaction, unlocked } from '#src/stores/migration-steps.ts'
import { listMigrations } from '#src/stores/migrations.ts'
import { sql } from '#src/stores/sql.ts'
import { createEmptyDatabase, type TestDatabase } from '#test/support/stores.ts'
import { FILLED, fillAfter } from './fill.ts'
import { readSchema } from './schema.ts'

const ROWS = 2000

describe('migrations', function () {
  this.timeout(600_000)
  let database: TestDatabase
  let client: Client

  before(async () => {
    database = await createEmptyDatabase()
    client = new Client({ connectionString: superuserUrl(database.url) })
    await client.connect()
  })
  after(async () => {
    await client.end()
    await database.drop()
  })

  /** Their statistics are up to date before each migration, as autovacuum leaves them. */
  const filled: string[] = []

  for (const [i, name] of listMigrations().entries()) {
    it(`${name} does not lock a table while it reads or writes its rows`, async () => {
      const { around, heavy } = watchRows(
        Object.values(FILLED)
          .flat()
          .map(({ table }) => table),
      )
      await migrate(database.url, { through: name, around })
      assert.deepEqual(heavy(), [], 'rows read or written under a lock, by table')
      if (filled.length > 0) await client.query(`ANALYZE ${filled.join(', ')}`)
      filled.push(...(FILLED[name] ?? []).map(({ table }) => table))
      await fillAfter(name, { rows: ROWS }, Date.now(), (statement) => client.query(statement))
    })

    it(`${name} can be undone, or says why not`, async () => {
      const module = await loadMigration(name)
      if (module.cannotUndo !== undefined) return assert.match(module.cannotUndo, /restore|instead/)
      const before = listMigrations()[i - 1] ?? ''
      const applied = await readSchema(client)
      assert.deepEqual(await undoMigrations(database.url, before), [name])
      await migrate(database.url, { through: name })
      assert.deepEqual(await readSchema(client), applied)
      for (const table of (FILLED[name] ?? []).map((one) => one.table)) await client.query(`TRUNCATE ${table} CASCADE`)
      await fillAfter(name, { rows: ROWS }, Date.now(), (statement) => client.query(statement))
    })
  }
})

describe('the check of migrations', function () {
  this.timeout(120_000)

  const CASES: readonly [name: string, isHeavy: boolean, step: MigrationStep][] = [
    ['an index in a transaction', true, brief('CREATE INDEX things_kind ON things (kind)')],
    ['an index built concurrently', false, buildIndex({ table: 'things', name: 'things_kind', on: '(kind)' })],
    ['a default that differs for each row', true, brief('ALTER TABLE things ADD x uuid DEFAULT gen_random_uuid()')],
    ['a constant default', false, brief('ALTER TABLE things ADD x integer NOT NULL DEFAULT 1')],
    ['a constraint that is checked', true, brief('ALTER TABLE things ADD CHECK (kind <> 1)')],
    ['a constraint that is not checked', false, brief('ALTER TABLE things ADD CHECK (kind <> 1) NOT VALID')],
    ['NOT NULL on a column with rows', true, brief('ALTER TABLE things ALTER kind SET NOT NULL')],
    ['another type', true, brief('ALTER TABLE things ALTER kind TYPE bigint')],
    ['an update after a change of the table', true, brief('ALTER TABLE things ADD x text; UPDATE things SET kind = 2')],
    ['an update', false, unlocked('UPDATE things SET kind = 2')],
  ]

  for (const [name, isHeavy, step] of CASES)
    it(`${isHeavy ? 'finds' : 'accepts'} ${name}`, async () => {
      const database = await createEmptyDatabase()
      const client = new Client({ connectionString: database.url })
      const knex = createKnex({ client: 'pg', connection: database.url })
      try {
        await client.connect()
        await client.query(CREATE_STEP_TABLE)
        await client.query('CREATE TABLE things (id integer, kind integer)')
        await client.query(`INSERT INTO things SELECT i, 0 FROM generate_series(1, ${ROWS}) i`)
        const { around, heavy } = watchRows(['things'])
        await runSteps(createMigrationSession(knex, client, { around }), 'test', [step])
        assert.equal(heavy().length > 0, isHeavy)
      } finally {
        await knex.destroy()
        await client.end()
        await database.drop()
      }
    })
})

/** Notes the rows that transactions read or write one after the other while they lock one of the tables. */
function watchRows(tables: readonly string[]): Required<Pick<SessionOptions, 'around'>> & {
  readonly heavy: () => [table: string, rows: number][]
} {
  const counts: [table: string, rows: number][] = []
  return {
    around: async (tx, work) => {
      // the counts include those of earlier transactions that were not reported yet
      const before = new Map(await readCounts(tx, COUNTS))
      await work()
      for (const [table, count] of await readCounts(tx, LOCKED)) counts.push([table, count - (before.get(table) ?? 0)])
    },
    heavy: () => counts.filter(([table, rows]) => tables.some((one) => table.startsWith(one)) && rows >= ROWS / 4),
  }
}

async function readCounts(tx: StepTransaction, statement: string): Promise<[string, number][]> {
  const { rows } = (await tx.query(statement)) as { rows: { table: string; rows: string }[] }
  return rows.map((row) => [row.table, Number(row.rows)])
}

/** Rows that this transaction has read one after the other, or written. */
const COUNTS = sql`
  SELECT s.relid::regclass::text AS table, seq_tup_read + n_tup_ins + n_tup_upd + n_tup_del AS rows
  FROM pg_stat_xact_user_tables s
`
/** The same of the tables on which it holds a lock that readers or writers wait for. */
const LOCKED = sql`
  ${COUNTS}
  WHERE EXISTS (
    SELECT
    FROM pg_locks l
    WHERE l.relation = s.relid AND l.pid = pg_backend_pid()
      AND l.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
  )
`
