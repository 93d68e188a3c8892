import { assert } from 'chai'
import { readOverdue } from '#src/retention/overdue.ts'
import { defaultPeriods, saveRule } from '#src/retention/periods.ts'
import { partitionName, type PartitionedTable, weekOf } from '#src/stores/partition-names.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { until } from '#test/support/until.ts'
import { ALL, DAY_MS, storedMail, type StoredMail } from './retention.test-data.ts'
import { createPartitionDropRound, createRetentionRound } from './retention.ts'

describe('dropped partitions', () => {
  let ctx: TestContext
  let workspaceId: string
  let mail: StoredMail
  beforeEach(async () => {
    ctx = await createContext()
    workspaceId = await ctx.newWorkspace()
    mail = storedMail(ctx, workspaceId)
  })
  afterEach(() => ctx.close())

  const store: StoredMail['store'] = (...given) => mail.store(...given)
  const run = (): Promise<void> => mail.run()
  const partsOf = (id: string): Promise<string[]> => mail.partsOf(id)

  const OLD_DAYS = 500
  const oldPartition = (table: PartitionedTable): string => partitionName(table, weekOf(Date.now() - OLD_DAYS * DAY_MS))
  const mark = (name: string): Promise<unknown> => ctx.db.query(`COMMENT ON TABLE ${name} IS 'mailstead: expired'`)
  const lengthen = (): Promise<unknown> =>
    saveRule(ctx.db, { plan: 'enterprise' }, { bodies: 1000, events: 1000, messages: 1000 })

  /** Begins a detach that cannot end, and is cut off: the partition is pending. */
  const leavePending = async (table: PartitionedTable): Promise<void> => {
    await whileReading(table, () =>
      ctx.db.session(60_000, async (own) => {
        await own.query('SET statement_timeout = 500')
        const detach = `ALTER TABLE ${table} DETACH PARTITION ${oldPartition(table)} CONCURRENTLY`
        await assert.isRejected(own.query(detach), /timeout/)
      }),
    )
  }

  /** As a backup does. */
  const whileReading = (table: PartitionedTable, work: () => Promise<unknown>): Promise<unknown> =>
    ctx.db.transaction(async (tx) => {
      await tx.query(`LOCK TABLE ${table}, ${oldPartition(table)} IN ACCESS SHARE MODE`)
      await work()
    }, 'bulk')

  const statesOf = async (name: string): Promise<unknown> => {
    const { rows } = await ctx.db.query(
      sql`
        SELECT i.inhdetachpending AS "isPending", obj_description(c.oid, 'pg_class') AS comment
        FROM pg_class c
        LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
        WHERE c.oid = to_regclass($1)`,
      [name],
    )
    return rows
  }

  it('drops a partition that was detached by a worker that died', async () => {
    await store(OLD_DAYS)
    await store(0)
    const name = oldPartition('events')
    await mark(name)
    await ctx.db.query(`ALTER TABLE events DETACH PARTITION ${name} CONCURRENTLY`)
    await ctx.db.query(`CREATE TABLE events_20200106 (id uuid)`) // of the operator
    await run()
    assert.deepEqual(await statesOf(name), [])
    assert.deepEqual(await statesOf('events_20200106'), [{ isPending: null, comment: null }])
  })

  it('finalizes and drops a partition that a worker was detaching when it died', async () => {
    await store(OLD_DAYS)
    await store(0)
    await mark(oldPartition('events'))
    await leavePending('events')
    await run()
    assert.deepEqual(await statesOf(oldPartition('events')), [])
  })

  it("leaves a detach of the operator alone, and drops other tables' partitions", async () => {
    const id = await store(OLD_DAYS)
    await store(0)
    await leavePending('events')
    await run()
    assert.deepEqual(await statesOf(oldPartition('events')), [{ isPending: true, comment: null }])
    assert.deepEqual(await partsOf(id), [])
  })

  it('attaches again what was begun when the period becomes longer, with its mail', async () => {
    const id = await store(OLD_DAYS)
    await store(0)
    await mark(oldPartition('messages')) // its detach failed
    await mark(oldPartition('events'))
    await leavePending('events')
    await mark(oldPartition('attempts'))
    await ctx.db.query(`ALTER TABLE attempts DETACH PARTITION ${oldPartition('attempts')} CONCURRENTLY`)
    await lengthen()
    await run()
    assert.deepEqual(await partsOf(id), ALL)
    for (const table of ['messages', 'events', 'attempts'] as const)
      assert.deepEqual(await statesOf(oldPartition(table)), [{ isPending: false, comment: null }], table)
  })

  it('attaches again what was begun if its week has mail that is still to be sent', async () => {
    const id = await store(OLD_DAYS, 'scheduled')
    await store(0)
    await mark(oldPartition('recipients'))
    await ctx.db.query(`ALTER TABLE recipients DETACH PARTITION ${oldPartition('recipients')} CONCURRENTLY`)
    await run()
    assert.deepEqual(await partsOf(id), ALL.slice(0, -1))
  })

  it('a step that fails stops no other', async () => {
    const id = await store(OLD_DAYS)
    await store(0)
    const name = oldPartition('messages')
    await ctx.db.query(`CREATE VIEW of_operator AS SELECT id FROM ${name}`) // prevents the drop
    await run()
    assert.deepEqual(await partsOf(id), [])
    assert.deepEqual(await statesOf(name), [{ isPending: null, comment: 'mailstead: expired' }])
  })

  it('leaves everything to the worker that detaches now', async () => {
    await store(OLD_DAYS)
    await store(0)
    const pending = async (): Promise<number> =>
      (await ctx.db.query(`SELECT FROM pg_inherits WHERE inhparent = 'events'::regclass AND inhdetachpending`)).rows
        .length
    let drops: Promise<unknown> = Promise.resolve()
    await whileReading('events', async () => {
      drops = createPartitionDropRound(ctx)()
      await until(async () => (await pending()) === 1)
      await createPartitionDropRound(ctx)() // does not wait
      assert.strictEqual(await pending(), 1)
    })
    await drops
    assert.deepEqual(await statesOf(oldPartition('events')), [])
  })

  it('never drops the week of the newest message, and reports nothing about it', async () => {
    const id = await store(OLD_DAYS)
    await createPartitionDropRound(ctx)()
    assert.deepEqual(await partsOf(id), ALL)
    const overdue = await readOverdue(ctx.db, defaultPeriods(ctx.config), ctx.clock.now())
    assert.deepEqual(
      overdue.filter(({ what }) => what.startsWith('partition')),
      [],
    )
  })

  it('deletes nothing while a clock is wrong or was not measured', async () => {
    const id = await store(OLD_DAYS)
    await store(0)
    await saveRule(ctx.db, { workspaceId }, { messages: 100 })
    for (const skewMs of [null, 3600_000, -3600_000]) {
      const db = { ...ctx.db, clock: { ...ctx.db.clock, skewMs: () => skewMs } }
      await createPartitionDropRound({ ...ctx, db })()
      await createRetentionRound({ ...ctx, db })()
      assert.deepEqual(await partsOf(id), ALL, String(skewMs))
    }
  })
})
