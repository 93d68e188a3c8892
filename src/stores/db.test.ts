import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { assert, expect } from 'chai'
import { openLog } from '#src/platform/log.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { administer } from '#test/support/older-database.ts'
import { startPostgres, type TestServer } from '#test/support/stores.ts'
import { until } from '#test/support/until.ts'
import { startSilentProxy, type SilentProxy } from '#test/support/silent-proxy.ts'
import { isDatabaseAway, openDb, prepared, urgent, type Db } from './db.ts'
import { sql } from './sql.ts'

const SLEEP = 'SELECT pg_sleep(20)'

/** Milliseconds; the server's limits are a tenth shorter. */
const QUICK = { urgent: 1000, normal: 1500, bulk: 1500 }

const STATEMENTS: readonly (readonly [what: string, run: (db: Db, text?: string) => Promise<unknown>])[] = [
  ['an urgent statement', (db, text = SLEEP) => db.query(urgent(`urgent ${text}`, text))],
  ['a prepared statement', (db, text = SLEEP) => db.query(prepared(`prepared ${text}`, text))],
  ['a plain statement', (db, text = SLEEP) => db.query(text)],
  ['a bulk statement', (db, text = SLEEP) => db.bulk.query(text)],
  ['a transaction', (db, text = SLEEP) => db.transaction((tx) => tx.query(text))],
  ['an urgent transaction', (db, text = SLEEP) => db.transaction((tx) => tx.query(text), 'urgent')],
  ['a snapshot', (db, text = SLEEP) => db.snapshot((tx) => tx.query(text))],
]
describe('database', () => {
  let ctx: TestContext
  before(async () => {
    ctx = await createContext()
  })
  after(() => ctx.close())

  it('a connection that was used apart is closed, and others stay', async () => {
    const db = openDb(ctx.databaseUrl, ctx.log, 1)
    const read = async (reader: Pick<Db, 'query'>): Promise<unknown> =>
      (await reader.query('SELECT pg_backend_pid() AS pid')).rows[0]?.['pid']
    try {
      const first = await read(db)
      assert.deepEqual([await read(db), await db.apart(read)], [first, first])
      assert.notStrictEqual(await read(db), first)
    } finally {
      await db.close()
    }
  })

  it('a connection lost between two statements rejects only that transaction, as unavailable', async () => {
    const lost = ctx.db.transaction(async (tx) => {
      const {
        rows: [row],
      } = await tx.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
      await ctx.db.query('SELECT pg_terminate_backend($1)', [row?.pid])
      await until(
        async () => (await ctx.db.query('SELECT 1 FROM pg_stat_activity WHERE pid = $1', [row?.pid])).rows.length === 0,
      )
      await sleep(50) // its end is read from the socket while nothing is asked
      await tx.query('SELECT 1')
    })
    await expect(lost).to.be.rejected.and.eventually.satisfy(isDatabaseAway)
    assert.strictEqual((await ctx.db.transaction((tx) => tx.query('SELECT 1'))).rows.length, 1)
  })

  it('a missing socket means unavailable; another missing file does not', async () => {
    const db = openDb('postgres://x@localhost/x?host=/nonexistent', ctx.log, 1)
    await expect(db.query('SELECT 1')).to.be.rejected.and.eventually.satisfy(isDatabaseAway)
    await db.close()
    expect(() => readFileSync('/nonexistent/file'))
      .to.throw()
      .that.satisfies((error: unknown) => !isDatabaseAway(error))
  })

  it('a server that is slow cancels a statement itself', async () => {
    const db = openDb(ctx.databaseUrl, ctx.log, 8, QUICK)
    try {
      const errors = await Promise.all(
        STATEMENTS.map(([, run]) =>
          run(db).then(
            () => null,
            (error: unknown) => error,
          ),
        ),
      )
      for (const [i, [what]] of STATEMENTS.entries()) {
        assert.match(String(errors[i]), /statement timeout/, what)
        assert.isTrue(isDatabaseAway(errors[i]), what)
      }
      // the error arrives a moment before the server marks the session as idle; the statements would sleep for 20 s
      await until(
        async () => (await sleepers(ctx.db)) === 0,
        () => 'a statement still runs',
        10_000,
      )
    } finally {
      await db.close()
    }
  })

  it('a constraint that refuses a row leaves the connection open', async () => {
    const db = openDb(ctx.databaseUrl, ctx.log, 1)
    const one = prepared('one', 'SELECT pg_backend_pid() AS pid')
    try {
      const before = (await db.query<{ pid: number }>(one)).rows
      await assert.isRejected(db.query(prepared('wrong', 'SELECT 1 / 0')), /division/)
      assert.deepEqual((await db.query<{ pid: number }>(one)).rows, before)
    } finally {
      await db.close()
    }
  })

  it('bulk work has more patience, in the server too', async () => {
    const db = openDb(ctx.databaseUrl, ctx.log, 1, { ...QUICK, bulk: 60_000 })
    const show = prepared('show', `SELECT current_setting('statement_timeout') AS value`)
    try {
      assert.deepEqual((await db.query(show)).rows, [{ value: '1350ms' }])
      assert.deepEqual((await db.query(urgent('show-urgent', show.text))).rows, [{ value: '900ms' }])
      assert.deepEqual((await db.bulk.query(show)).rows, [{ value: '54s' }])
      assert.deepEqual((await db.bulk.query(show.text)).rows, [{ value: '54s' }])
      assert.deepEqual((await db.transaction((tx) => tx.query(show), 'bulk')).rows, [{ value: '54s' }])
      assert.deepEqual((await db.bulk.bulk.snapshot((tx) => tx.query(show))).rows, [{ value: '54s' }])
      assert.deepEqual((await db.query(show)).rows, [{ value: '1350ms' }], 'only for bulk work')
      assert.deepEqual((await db.query(show.text)).rows, [{ value: '1350ms' }], 'only for bulk work')
    } finally {
      await db.close()
    }
  })
})

describe('a PostgreSQL that goes silent', () => {
  let ctx: TestContext
  let proxy: SilentProxy
  let db: Db
  before(async () => {
    ctx = await createContext()
  })
  after(() => ctx.close())
  beforeEach(async () => {
    proxy = await startSilentProxy(ctx.databaseUrl)
    db = openDb(proxy.url, ctx.log, 8, QUICK)
  })
  afterEach(async () => {
    await db.close()
    await proxy.stop()
  })

  const runAll = (): Promise<unknown> => Promise.all(STATEMENTS.map(([, run]) => run(db, 'SELECT pg_sleep(0.05)')))

  it('rejects every class of statement as unavailable, and the next reaches another server', async () => {
    await runAll()
    proxy.silence()
    const errors = await Promise.all(
      STATEMENTS.map(([, run]) =>
        run(db, 'SELECT 1').then(
          () => null,
          (error: unknown) => error,
        ),
      ),
    )
    for (const [i, [what]] of STATEMENTS.entries())
      assert.isTrue(isDatabaseAway(errors[i]), `${what}: ${String(errors[i])}`)
    await runAll()
  })

  it('loses its idle connections at the first time-out, in all pools', async () => {
    await runAll()
    assert.isAtLeast(proxy.open, 3)
    proxy.silence()
    await assert.isRejected(db.query(urgent('once', 'SELECT 1')))
    await until(() => proxy.open === 0)
    await runAll()
  })

  it('that does not answer a new connection either is unavailable', async () => {
    proxy.silence('new')
    await expect(db.query('SELECT 1')).to.be.rejected.and.eventually.satisfy(isDatabaseAway)
  })

  it('does not keep a stopping process: statements under way are given up', async () => {
    const patient = openDb(proxy.url, ctx.log, 8, { urgent: 60_000, normal: 60_000, bulk: 60_000 })
    await patient.query('SELECT 1')
    const hanging = STATEMENTS.map(([, run]) => assert.isRejected(run(patient, 'SELECT pg_sleep(60)')))
    await until(async () => (await sleepers(ctx.db)) === STATEMENTS.length)
    proxy.silence()
    await patient.close()
    await Promise.all(hanging)
  })
})

describe('the clock of PostgreSQL', () => {
  it('is known after the first statement, and is the clock of this machine here', async () => {
    const ctx = await createContext()
    assert.isNull(ctx.db.clock.skewMs())
    await ctx.db.query('SELECT 1')
    assert.isBelow(Math.abs(ctx.db.clock.skewMs() ?? Infinity), 1000)
    await ctx.close()
  })
})

async function sleepers(db: Db): Promise<number> {
  const { rows } = await db.query(sql`
    SELECT FROM pg_stat_activity
    WHERE query LIKE 'SELECT pg_sleep(%' AND state = 'active' AND datname = current_database()
  `)
  return rows.length
}

describe('a PostgreSQL that is a standby', () => {
  let server: TestServer
  let db: Db
  before(async () => {
    server = await startPostgres()
    db = openDb(server.url, openLog({ logLevel: 'silent' }, 'test'), 1)
  })
  after(async () => {
    await db.close()
    await server.stop()
  })

  it('is unavailable until it is promoted', async () => {
    const [{ data_directory: folder = '' } = {}] = await administer(server.url, 'SHOW data_directory')
    writeFileSync(join(folder, 'standby.signal'), '', { mode: 0o644 })
    await server.restart()
    await expect(db.query('SELECT 1'))
      .to.be.rejectedWith(/standby/)
      .and.eventually.satisfy(isDatabaseAway)
    await administer(server.url, 'SELECT pg_promote()')
    await db.query('SELECT 1')
  })
})
