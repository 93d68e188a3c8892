import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { createContext, type TestContext } from '#test/support/context.ts'
import { until } from '#test/support/until.ts'
import { isDatabaseAway, openDb, prepared } from './db.ts'

describe('database', () => {
  let ctx: TestContext
  before(async () => {
    ctx = await createContext()
  })
  after(() => ctx.close())

  it('a connection that ends between two statements of a transaction rejects that transaction, as "away", and nothing else', async () => {
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
    await assert.rejects(lost, isDatabaseAway)
    assert.equal((await ctx.db.transaction((tx) => tx.query('SELECT 1'))).rows.length, 1)
  })

  it('without its socket it is away; another file that is not there is another matter', async () => {
    const db = openDb('postgres://x@localhost/x?host=/nonexistent', ctx.log, 1)
    await assert.rejects(db.query('SELECT 1'), isDatabaseAway)
    await db.close()
    assert.throws(
      () => readFileSync('/nonexistent/file'),
      (error) => !isDatabaseAway(error),
    )
  })

  it('a server that says nothing is away, and what is asked next does not wait behind it', async () => {
    const db = openDb(ctx.databaseUrl, ctx.log, 1, 100)
    await assert.rejects(db.query(prepared('sleep', 'SELECT pg_sleep(20)')), isDatabaseAway)
    await assert.rejects(
      db.transaction((tx) => tx.query('SELECT pg_sleep(20)')),
      isDatabaseAway,
    )
    assert.equal((await db.query(prepared('one', 'SELECT 1 AS one'))).rows.length, 1)
    await ctx.db.query(`
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(20)%' AND pid <> pg_backend_pid()`)
    await db.close()
  })
})
