/** Connection poolers before PostgreSQL: one in session mode is used, one that shares sessions is refused. */
import { assert, expect } from 'chai'
import { pino } from 'pino'
import { createContext, type TestContext } from '#test/support/context.ts'
import { findPgBouncer, startPgBouncer } from '#test/support/pgbouncer.ts'
import { startPooler, type TestPooler } from '#test/support/pooler.ts'
import { isDatabaseAway, openDb, prepared } from './db.ts'
import { migrate } from './migrate.ts'
import { sql } from './sql.ts'
import { checkStoresAtStart } from './start-check.ts'
import { UnsuitableStoreError } from './store-errors.ts'

const READ_SETTINGS = sql`
  SELECT current_setting('synchronous_commit') AS commits, current_setting('plan_cache_mode') AS plans,
    current_setting('statement_timeout') AS limit
`

describe('a connection pooler before PostgreSQL', () => {
  let ctx: TestContext
  before(async () => {
    ctx = await createContext()
  })
  after(() => ctx.close())

  const refuses = async (pooler: TestPooler): Promise<void> => {
    const lines: string[] = []
    const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
    const db = openDb(pooler.url, log, 1)
    try {
      for (let i = 0; i < 3; i++)
        await expect(db.query('SELECT 1'))
          .to.be.rejectedWith(UnsuitableStoreError, /pooler.*pool_mode=session.*set DATABASE_URL to PostgreSQL itself/)
          .and.eventually.satisfy(isDatabaseAway)
      assert.strictEqual(lines.length, 1)
      await assert.isRejected(checkStoresAtStart({ db, redis: ctx.redis }), UnsuitableStoreError)
      await assert.isRejected(migrate(pooler.url), UnsuitableStoreError)
    } finally {
      await db.close()
      await pooler.stop()
    }
  }

  it('that shares sessions is refused with what to do, and logged once', async () =>
    refuses(await startPooler(ctx.databaseUrl)))

  for (const poolMode of ['transaction', 'statement'] as const)
    for (const options of ['ignored', 'refused'] as const)
      it(`PgBouncer, pool_mode=${poolMode}, options ${options}: refused`, async function () {
        if (findPgBouncer() === null) this.skip()
        return refuses(await startPgBouncer(ctx.databaseUrl, { poolMode, ignoresOptions: options === 'ignored' }))
      })

  for (const options of ['ignored', 'refused'] as const)
    it(`PgBouncer, pool_mode=session, options ${options}: the settings are made`, async function () {
      if (findPgBouncer() === null) this.skip()
      const ignoresOptions = options === 'ignored'
      const pooler = await startPgBouncer(ctx.databaseUrl, { poolMode: 'session', ignoresOptions })
      const db = openDb(pooler.url, ctx.log, 2)
      try {
        await checkStoresAtStart({ db, redis: ctx.redis })
        await migrate(pooler.url)
        const { rows } = await db.query(prepared('settings', READ_SETTINGS))
        assert.deepEqual(rows, [{ commits: 'on', plans: 'force_generic_plan', limit: '13500ms' }])
      } finally {
        await db.close()
        await pooler.stop()
      }
    })

  it('that gives a connection the session of another one is unavailable, and the connection is replaced', async () => {
    const db = openDb(ctx.databaseUrl, ctx.log, 1)
    const statement = prepared('one', 'SELECT 1 AS one')
    await db.query(statement)
    // the session forgets what this connection prepared, as that of another connection would not know it
    await db.transaction((tx) => tx.query('DEALLOCATE ALL'))
    await expect(db.query(statement)).to.be.rejectedWith(/one/).and.eventually.satisfy(isDatabaseAway)
    assert.deepEqual((await db.query(statement)).rows, [{ one: 1 }])
    await db.close()
  })

  it('is not suspected because the URL has options of its own', async () => {
    const url = new URL(ctx.databaseUrl)
    url.searchParams.set('options', '-c search_path=pg_catalog')
    const db = openDb(String(url), ctx.log, 1)
    const { rows } = await db.query(
      sql`SELECT current_setting('search_path') AS path, current_setting('synchronous_commit') AS commits`,
    )
    assert.deepEqual(rows, [{ path: 'pg_catalog', commits: 'on' }])
    await db.close()
  })
})
