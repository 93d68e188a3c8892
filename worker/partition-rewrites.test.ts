/**
 * Old weeks become months and held partitions small ones, with real rows that change meanwhile and workers that die.
 * What is stored is compared as digests: nothing is lost, doubled or older than it was.
 */
import { assert } from 'chai'
import { type RewriteOptions, rewritePartitions } from '#src/retention/partition-rewrites.ts'
import { readMessage } from '#src/messages/read.ts'
import { refreshOpenWeeks } from '#src/queue/open-weeks.ts'
import { saveRule } from '#src/retention/periods.ts'
import { monthName, monthOf, PARTITIONED, type PartitionedTable, partitionName } from '#src/stores/partition-names.ts'
import type { Queryable } from '#src/stores/db.ts'
import { listPartitions } from '#src/stores/partitions.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { countTouched } from '#test/support/touched-partitions.ts'
import { createWriter } from './partition-rewrites.test-data.ts'
import { createPartitionDropRound } from './retention.ts'
import { ALL, DAY_MS, storedMail, type StoredMail } from './retention.test-data.ts'

const TABLES = Object.keys(PARTITIONED) as PartitionedTable[]
const OLD_DAYS = 200
/** Two weeks of a month. */
const MONTH = monthOf(Date.now() - OLD_DAYS * DAY_MS)
const FIRST_DAYS = Math.floor((Date.now() - MONTH.from) / DAY_MS) - 1
const SECOND_DAYS = FIRST_DAYS - 7

describe('rewritten partitions', () => {
  let ctx: TestContext
  let workspaceId: string
  let mail: StoredMail
  beforeEach(async () => {
    ctx = await createContext()
    workspaceId = await ctx.newWorkspace()
    mail = storedMail(ctx, workspaceId)
    await saveRule(ctx.db, { workspaceId }, { bodies: 400, events: 400, messages: 400 })
  })
  afterEach(() => ctx.close())

  const rewrite = (options: RewriteOptions = {}): Promise<boolean> =>
    rewritePartitions(ctx, { leastBytes: 0, pages: 1, pauseMs: 10, ...options })
  const isRunning = async (): Promise<boolean> => (await ctx.db.query('SELECT FROM partition_rewrites')).rows.length > 0
  const finish = async (): Promise<void> => {
    do while (await rewrite());
    while (await isRunning())
  }
  const namesOf = async (table: PartitionedTable): Promise<string[]> =>
    (await listPartitions(ctx.db, table)).map(({ name }) => name)
  const digestOf = async (table: PartitionedTable): Promise<string> => {
    const { rows } = await ctx.db.query<{ digest: string }>(
      `SELECT count(*) || ' ' || md5(string_agg(t::text, ',' ORDER BY t::text)) AS digest FROM ${table} t`,
    )
    return rows[0]?.digest ?? ''
  }
  const digests = (): Promise<string[]> => Promise.all(TABLES.map(digestOf))
  /** Nothing of a rewrite is left. */
  const assertClean = async (): Promise<void> => {
    const { rows } = await ctx.db.query(sql`
      SELECT c.relname
      FROM pg_class c
      WHERE obj_description(c.oid, 'pg_class') = 'mailstead: rewrite'
      UNION ALL
      SELECT tgname
      FROM pg_trigger
      WHERE tgname = 'mailstead_rewrite'
      UNION ALL
      SELECT target
      FROM partition_rewrites
      UNION ALL
      SELECT target
      FROM rewrite_notes
      UNION ALL
      SELECT conname
      FROM pg_constraint
      WHERE conname LIKE 'mailstead%'`)
    assert.deepEqual([...new Set(rows.map(({ relname }) => relname))], [])
  }

  /** Some messages in two weeks of the month, one of this week. */
  const storeMonth = async (): Promise<string[]> => {
    const ids: string[] = []
    for (const days of [FIRST_DAYS, FIRST_DAYS - 1, SECOND_DAYS, SECOND_DAYS - 1]) ids.push(await mail.store(days))
    await mail.store(0)
    await refreshOpenWeeks(ctx.db, Date.now())
    return ids
  }

  it('make a month of weeks, with the same rows', async () => {
    const ids = await storeMonth()
    const before = await digests()
    await finish()
    assert.deepEqual(await digests(), before)
    for (const table of TABLES) {
      const names = await namesOf(table)
      assert.include(names, monthName(table, MONTH.from))
      assert.notInclude(names, partitionName(table, MONTH.from))
    }
    for (const id of ids) assert.deepEqual(await mail.partsOf(id), ALL)
    const { rows: targets } = await ctx.db.query<{ target: string }>(
      sql`
        SELECT DISTINCT attname || ' ' || attstattarget AS target
        FROM pg_attribute
        WHERE attrelid = $1::regclass AND attstattarget >= 0 AND attnum > 0`,
      [monthName('message_bodies', MONTH.from)],
    )
    assert.includeMembers(
      targets.map(({ target }) => target),
      ['html 0', 'message_id 10'],
    )
    await assertClean()
    await mail.store(FIRST_DAYS) // its week has no partition of its own any more
  })

  it('read only the month of a message that is old', async () => {
    const [id = ''] = await storeMonth()
    await finish()
    const touched = await countTouched(ctx.db, ctx.databaseUrl, (db) => readMessage(db, workspaceId, id))
    assert.deepEqual([touched['messages'], touched['recipients']], [1, 1])
  })

  /** The session dies at its nth statement, as when the process is killed: what is open is rolled back. */
  const dyingAt = (n: number): Pick<TestContext, 'db'> => ({
    db: {
      ...ctx.db,
      session: (limitMs, work) =>
        ctx.db.session(limitMs, (own) => {
          let left = n
          const query: Queryable['query'] = (...given) =>
            left-- > 0 ? own.query(...given) : Promise.reject(new Error('the worker died'))
          return work({ query })
        }),
    },
  })

  it('lose and double nothing when a worker dies at any statement, while rows change', async () => {
    const ids = await storeMonth()
    const writer = createWriter(ctx, workspaceId, ids)
    const isComplete = async (): Promise<boolean> => {
      const names = await Promise.all(TABLES.map(namesOf))
      return TABLES.every((table, i) => names[i]?.includes(monthName(table, MONTH.from)) === true)
    }
    let deaths = 0
    for (;;) {
      const n = deaths + 1
      const isDead = await rewritePartitions({ ...ctx, ...dyingAt(n) }, { pages: 1, leastBytes: 0, pauseMs: 10 }).then(
        () => false,
        () => true,
      )
      await writer.change()
      if (isDead) deaths++
      // otherwise it waits: until PostgreSQL has noticed a death, the dead worker's session holds its lock
      else if (await isComplete()) break
    }
    assert.isAbove(deaths, 30)
    await finish()
    await writer.compare()
    assert.include(await namesOf('recipients'), monthName('recipients', MONTH.from))
    await assertClean()
  })

  it('keep every change that is made at the same time', async () => {
    const ids = await storeMonth()
    const writer = createWriter(ctx, workspaceId, ids)
    let isDone = false
    const changes = (async () => {
      while (!isDone) await writer.change()
    })()
    await finish().finally(() => (isDone = true))
    await changes
    await writer.compare()
    await assertClean()
    assert.include(await namesOf('events'), monthName('events', MONTH.from))
  })

  it('are not made of weeks with mail that is still to be sent', async () => {
    await storeMonth()
    await mail.store(FIRST_DAYS, 'scheduled')
    await ctx.db.query('UPDATE open_mail SET since = to_timestamp(0)')
    assert.isFalse(await rewrite())
    assert.include(await namesOf('messages'), partitionName('messages', MONTH.from))
  })

  it('are not made of weeks that are dropped soon, nor while an earlier version may run', async () => {
    await storeMonth()
    await saveRule(ctx.db, { workspaceId }, { bodies: 210, events: 210, messages: 210 })
    assert.isFalse(await rewrite())
    await saveRule(ctx.db, { workspaceId }, { bodies: 400, events: 400, messages: 400 })
    await ctx.db.query('UPDATE body_storage SET apart_since = NULL')
    assert.isFalse(await rewrite())
    await ctx.db.query('UPDATE body_storage SET apart_since = now()')
    await finish()
    assert.include(await namesOf('messages'), monthName('messages', MONTH.from))
  })

  it('wait for a transaction that reads for long, and replace nothing meanwhile', async () => {
    await storeMonth()
    const before = await digests()
    await ctx.db.transaction(async (tx) => {
      await tx.query(`LOCK TABLE ${TABLES.join(', ')} IN ACCESS SHARE MODE`)
      while (await rewrite());
      assert.include(await namesOf('events'), partitionName('events', MONTH.from))
    }, 'bulk')
    await finish()
    assert.deepEqual(await digests(), before)
    await assertClean()
  })

  it('begin again when a migration changes the table', async () => {
    await storeMonth()
    await rewrite({ budgetMs: 0 })
    const { rows } = await ctx.db.query<{ table: string }>('SELECT of_table AS "table" FROM partition_rewrites')
    const table = rows[0]?.table ?? assert.fail('none was begun')
    await ctx.db.query(`ALTER TABLE ${table} ADD COLUMN added integer NOT NULL DEFAULT 7`)
    const before = await digests()
    await finish()
    assert.deepEqual(await digests(), before)
    await assertClean()
  })

  it('end when one of the weeks is dropped meanwhile', async () => {
    await storeMonth()
    await rewrite({ budgetMs: 0 })
    await saveRule(
      ctx.db,
      { workspaceId },
      { bodies: FIRST_DAYS - 7, events: FIRST_DAYS - 7, messages: FIRST_DAYS - 7 },
    )
    await mail.run()
    await finish()
    assert.notInclude(await namesOf('messages'), partitionName('messages', MONTH.from))
    await assertClean()
  })

  it('of an expired week have only the mail that is still to be sent, until it is sent', async () => {
    const sent = await mail.store(500)
    const open = await mail.store(500, 'scheduled')
    await mail.store(0)
    const week = partitionName('messages', Date.now() - 500 * DAY_MS)
    await createPartitionDropRound(ctx)()
    assert.include(await namesOf('messages'), week)
    await finish()
    assert.deepEqual(await mail.partsOf(sent), [])
    assert.deepEqual(await mail.partsOf(open), ALL.slice(0, -1)) // its event is over
    assert.include(await namesOf('messages'), `${week}_open`)
    assert.isFalse(await rewrite())
    await assertClean()
    await mail.run()
    assert.deepEqual(await mail.partsOf(open), ALL.slice(0, -1))
    await ctx.db.query(`UPDATE recipients SET is_open = false, state = 'delivered' WHERE message_id = $1`, [open])
    await mail.run()
    assert.deepEqual(await mail.partsOf(open), [])
    assert.notInclude(await namesOf('messages'), `${week}_open`)
  })
})
