import { assert } from 'chai'
import pg from 'pg'
import { setTimeout as sleep } from 'node:timers/promises'
import { type OpenDatabase, openDatabase } from '#test/support/database.ts'
import { watchLockWaits } from './lock-waits.ts'

const WAITING = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`

describe('watching PostgreSQL', () => {
  let database: OpenDatabase
  before(async () => {
    database = await openDatabase()
  })
  after(() => database.close())

  it('counts transactions that write', async () => {
    const stop = await watchLockWaits(database.url)
    await database.db.query('CREATE TABLE "one" (id int)')
    await database.db.query('INSERT INTO "one" SELECT generate_series(1, 100)')
    const { writes } = await stop()
    assert.isAtLeast(writes, 2)
  })

  it('reports how long a connection waits for a lock', async () => {
    const [holder, waiter] = [new pg.Client(database.url), new pg.Client(database.url)]
    await Promise.all([holder.connect(), waiter.connect()])
    const stop = await watchLockWaits(database.url)
    await holder.query('SELECT pg_advisory_lock(7)')
    const waiting = waiter.query('SELECT pg_advisory_lock(7)')
    while ((await database.db.query(WAITING)).rows.length === 0) await sleep(10)
    const { lockMs } = await stop()
    await holder.query('SELECT pg_advisory_unlock(7)')
    await waiting
    await Promise.all([holder.end(), waiter.end()])
    assert.isAbove(lockMs, 0)
  })
})
