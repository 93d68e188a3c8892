import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { assert, expect } from 'chai'
import { createContext, type TestContext } from '#test/support/context.ts'
import { until } from '#test/support/until.ts'
import { isDatabaseAway, openDb, prepared } from './db.ts'
import { sql } from './sql.ts'

describe('database', () => {
  let ctx: TestContext
  before(async () => {
    ctx = await createContext()
  })
  after(() => ctx.close())

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

  it('a server that does not respond is unavailable, and does not delay the next query', async () => {
    const db = openDb(ctx.databaseUrl, ctx.log, 1, 100)
    await expect(db.query(prepared('sleep', 'SELECT pg_sleep(20)'))).to.be.rejected.and.eventually.satisfy(
      isDatabaseAway,
    )
    await expect(db.transaction((tx) => tx.query('SELECT pg_sleep(20)'))).to.be.rejected.and.eventually.satisfy(
      isDatabaseAway,
    )
    assert.strictEqual((await db.query(prepared('one', 'SELECT 1 AS one'))).rows.length, 1)
    await ctx.db.query(sql`
      SELECT pg_terminate_backend(pid)
      FROM pg_stat_activity
      WHERE query LIKE '%pg_sleep(20)%' AND pid <> pg_backend_pid()
    `)
    await db.close()
  })
})
