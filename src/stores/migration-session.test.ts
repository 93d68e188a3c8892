import { assert } from 'chai'
import createKnex, { type Knex } from 'knex'
import { Client } from 'pg'
import { createDatabase, type TestDatabase } from '#test/support/stores.ts'
import { until } from '#test/support/until.ts'
import { migrate, undoMigrations } from './migrate.ts'
import { createMigrationSession, MigrationBlockedError, type MigrationSession } from './migration-session.ts'
import { CREATE_STEP_TABLE, runSteps } from './migration-runner.ts'
import { batches, brief, buildIndex, type MigrationStep, replaceIndex, unlocked } from './migration-steps.ts'
import { sql } from './sql.ts'

describe('migration session', function () {
  this.timeout(120_000)
  let database: TestDatabase
  let knex: Knex
  const clients: Client[] = []

  const connect = async (): Promise<Client> => {
    const client = new Client({ connectionString: database.url })
    await client.connect()
    clients.push(client)
    return client
  }
  const open = async (options: Parameters<typeof createMigrationSession>[2] = {}): Promise<MigrationSession> =>
    createMigrationSession(knex, await connect(), options)
  const apply = async (steps: readonly MigrationStep[], session?: MigrationSession): Promise<string[]> => {
    const run: string[] = []
    await runSteps(session ?? (await open()), 'test', steps, ({ step }) => run.push(step))
    return run
  }
  const waiting = async (client: Client, pid: number): Promise<boolean> =>
    (await client.query('SELECT FROM pg_locks WHERE NOT granted AND pid = $1', [pid])).rowCount !== 0

  beforeEach(async () => {
    database = await createDatabase()
    knex = createKnex({ client: 'pg', connection: database.url, pool: { min: 0, max: 2 } })
    await knex.raw(CREATE_STEP_TABLE)
    await knex.raw('CREATE TABLE things (id integer PRIMARY KEY, kind text)')
    await knex.raw(`INSERT INTO things SELECT i, 'a' FROM generate_series(1, 5000) i`)
  })
  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.end()))
    await knex.destroy()
    await database.drop()
  })

  it('lets readers pass while a long transaction holds a lock, and continues after its end', async () => {
    const [backup, reader] = [await connect(), await connect()]
    await backup.query('BEGIN')
    await backup.query('SELECT count(*) FROM things')
    let isDone = false
    const migration = apply([brief('ALTER TABLE things ADD COLUMN more text')]).finally(() => {
      isDone = true
    })
    // behind a statement that waits for the backup, none of these reads would return before its end
    for (let i = 0; i < 20; i++) await reader.query('SELECT * FROM things LIMIT 1')
    assert.isFalse(isDone)
    await backup.query('COMMIT')
    await migration
    await reader.query('SELECT more FROM things LIMIT 1')
  })

  it('names the transaction that it waits for in vain', async () => {
    const backup = await connect()
    await backup.query(`SET application_name = 'pg_dump'`)
    await backup.query('BEGIN')
    await backup.query('SELECT count(*) FROM things')
    const session = await open({ patienceMs: 1500 })
    const error = await apply([brief('ALTER TABLE things ADD COLUMN more text')], session).catch((e: unknown) => e)
    assert.instanceOf(error, MigrationBlockedError)
    assert.match(error.message, /held by process \d+ \(pg_dump\) of user .* in a transaction since/)
  })

  it('cancels a step that others wait for, and says what to do if it never gets faster', async () => {
    const [writer, watcher] = [await connect(), await connect()]
    const session = await open({ maxBlockMs: 200 })
    const slow = brief('LOCK TABLE things IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(600)')
    let isOver = false
    const failure = apply([slow], session).then(
      () => null,
      (error: unknown) => {
        isOver = true
        return error
      },
    )
    await until(
      async () =>
        (await watcher.query(`SELECT FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted`)).rowCount !== 0,
    )
    while (!isOver) await writer.query(`UPDATE things SET kind = 'b' WHERE id = 1`)
    assert.match(String(await failure), /Stop all roles and run mailstead migrate again/)
  })

  it('builds an index while a transaction writes, and replaces what an interrupted build left', async () => {
    await knex.raw(`INSERT INTO things VALUES (-1, 'b'), (-2, 'b')`)
    const index = { table: 'things', name: 'things_kind', on: `(kind) WHERE kind = 'b'`, isUnique: true }
    await knex.raw(`CREATE UNIQUE INDEX CONCURRENTLY things_kind ON things (kind) WHERE kind = 'b'`).catch(() => null)
    assert.equal(await (await open()).indexState('things_kind'), 'invalid')
    await knex.raw('DELETE FROM things WHERE id = -2')
    const [writer, watcher] = [await connect(), await connect()]
    await writer.query('BEGIN')
    await writer.query(`INSERT INTO things VALUES (-3, 'c')`)
    const building = apply([buildIndex(index)])
    const other = await connect()
    // the build waits for the open transaction, and nobody waits for the build
    const atWork = `SELECT FROM pg_stat_activity WHERE query LIKE '%INDEX CONCURRENTLY%' AND wait_event_type = 'Lock'`
    await until(async () => (await watcher.query(`${atWork} AND pid <> pg_backend_pid()`)).rowCount !== 0)
    await other.query(`INSERT INTO things VALUES (-4, 'c')`)
    assert.isFalse(await waiting(watcher, Reflect.get(other, 'processID') as number))
    await writer.query('COMMIT')
    await building
    assert.equal(await (await open()).indexState('things_kind'), 'valid')
  })

  it('builds an index of a partitioned table by partition, and replaces one twice', async () => {
    await knex.raw('CREATE TABLE parts (id integer, kind text) PARTITION BY RANGE (id)')
    await knex.raw('CREATE INDEX parts_kind ON parts (kind)')
    for (const from of [0, 10]) {
      await knex.raw(`CREATE TABLE parts_${from} PARTITION OF parts FOR VALUES FROM (${from}) TO (${from + 10})`)
      await knex.raw(`INSERT INTO parts VALUES (${from}, 'a')`)
    }
    for (const on of ['(kind, id)', '(id, kind)'])
      await apply(replaceIndex({ table: 'parts', name: 'parts_kind', on })).finally(() =>
        knex('migration_steps').delete(),
      )
    const { rows } = await knex.raw<{ rows: { indexdef: string }[] }>(
      `SELECT indexdef FROM pg_indexes WHERE tablename LIKE 'parts%' ORDER BY 1`,
    )
    assert.deepEqual(
      rows.map(({ indexdef }) => indexdef),
      [
        'CREATE INDEX parts_0_parts_kind ON public.parts_0 USING btree (id, kind)',
        'CREATE INDEX parts_10_parts_kind ON public.parts_10 USING btree (id, kind)',
        'CREATE INDEX parts_kind ON ONLY public.parts USING btree (id, kind)',
      ],
    )
    assert.equal(await (await open()).indexState('parts_kind'), 'valid')
  })

  it('goes on when a partition is removed while its index is built', async () => {
    await knex.raw('CREATE TABLE parts (id integer, kind text) PARTITION BY RANGE (id)')
    for (const from of [0, 10]) {
      await knex.raw(`CREATE TABLE parts_${from} PARTITION OF parts FOR VALUES FROM (${from}) TO (${from + 10})`)
      await knex.raw(`INSERT INTO parts VALUES (${from}, 'a')`)
    }
    let transactions = 0
    const session = await open({
      around: async (_tx, work) => {
        transactions += 1
        if (transactions === 2) await knex.raw('DROP TABLE parts_0')
        await work()
      },
    })
    await apply([buildIndex({ table: 'parts', name: 'parts_kind', on: '(kind)' })], session)
    const { rows } = await knex.raw<{ rows: { name: string }[] }>(
      `SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'parts_kind'::regclass`,
    )
    assert.deepEqual(rows, [{ name: 'parts_10_parts_kind' }])
  })

  it('continues with the step that failed', async () => {
    const update = `UPDATE things SET kind = 'b' WHERE id IN (SELECT id FROM things WHERE kind = 'a' LIMIT 2000)`
    const first = [brief('ALTER TABLE things ADD COLUMN more text'), batches(update)]
    await assert.isRejected(apply([...first, unlocked('SELECT 1 / 0')]), /division by zero/)
    const rest = [unlocked('SELECT 1 / 1')]
    assert.deepEqual(await apply([...first, ...rest]), ['SELECT 1 / 1'])
    assert.deepEqual(await apply([...first, ...rest]), [])
    assert.deepEqual(await knex('things').where({ kind: 'a' }), [])
  })
})

describe('an undo that is interrupted', function () {
  this.timeout(120_000)
  const [before, migration] = ['058-nodes.ts', '059-delegated-keys.ts']
  let database: TestDatabase
  let client: Client
  beforeEach(async () => {
    database = await createDatabase()
    await undoMigrations(database.url, migration)
    client = new Client({ connectionString: database.url })
    await client.connect()
  })
  afterEach(async () => {
    await client.end()
    await database.drop()
  })
  const hasTable = async (): Promise<boolean> =>
    (await client.query(`SELECT WHERE to_regclass('dkim_zone_records') IS NOT NULL`)).rowCount === 1

  it('between two steps is finished before anything else', async () => {
    const interrupted = undoMigrations(database.url, before, {
      onStep: (step) => {
        if (step.migration === `undo ${migration}` && step.index === 2) throw new Error('killed')
      },
    })
    await assert.isRejected(interrupted, 'killed')
    await assert.isRejected(migrate(database.url), /undoing 059-delegated-keys was .*upgrade --undo-to 058-nodes --yes/)
    assert.include(await undoMigrations(database.url, before), migration)
    assert.isFalse(await hasTable())
    assert.include((await migrate(database.url)).applied, migration)
    assert.isTrue(await hasTable())
  })

  it('after its last step leaves nothing that skips steps of the next migrate', async () => {
    await client.query(sql`
      CREATE FUNCTION interrupt() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'killed'; END $$;
      CREATE TRIGGER interrupt AFTER DELETE ON migrations FOR EACH ROW EXECUTE FUNCTION interrupt();
    `)
    await assert.isRejected(undoMigrations(database.url, before), /killed/)
    await client.query(
      'DROP TRIGGER interrupt ON migrations; DELETE FROM migrations WHERE name = $$059-delegated-keys.ts$$',
    )
    assert.isFalse(await hasTable())
    assert.include((await migrate(database.url)).applied, migration)
    assert.isTrue(await hasTable())
  })
})
