import { assert } from 'chai'
import { newId } from '#src/platform/id.ts'
import { defaultPeriods, saveRule } from '#src/retention/periods.ts'
import { markGone } from '#src/retention/row-deletion.ts'
import { readOverdue } from '#src/retention/overdue.ts'
import {
  ensurePartitions,
  listWeeks,
  partitionName,
  type PartitionedTable,
  WEEK_MS,
  weekOf,
} from '#src/stores/partitions.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { until } from '#test/support/until.ts'
import { createPartitionDropRound, createRetentionRound } from './retention.ts'

const DAY_MS = 24 * 3600 * 1000

describe('retention', () => {
  let ctx: TestContext
  let workspaceId: string
  beforeEach(async () => {
    ctx = await createContext()
    workspaceId = await ctx.newWorkspace()
  })
  afterEach(() => ctx.close())

  /** Stores a message of that age with everything that belongs to it. */
  const store = async (days: number, state = 'delivered', owner = workspaceId): Promise<string> => {
    const ms = Date.now() - days * DAY_MS
    await ensurePartitions((statement) => ctx.db.query(statement), ms)
    const id = newId(ms)
    const at = new Date(ms)
    await ctx.db.query(
      sql`
        INSERT INTO messages (id, workspace_id, tier, from_email, to_list, subject, html, content_size, recipient_count,
          created_at)
        VALUES ($1, $2, 'normal', 'a@sender.example', '[]', 'Hi', '<p>Hi</p>', 9, 1, $3)`,
      [id, owner, at],
    )
    await ctx.db.query(
      sql`
        INSERT INTO recipients (message_id, n, workspace_id, tier, kind, address, domain, state, is_open, due_at,
          is_only, updated_at)
        VALUES ($1, 0, $2, 'normal', 'to', 'b@receiver.example', 'receiver.example', $3, $3 = 'scheduled', $4, true,
          $4)`,
      [id, owner, state, at],
    )
    await ctx.db.query(
      `INSERT INTO attachments (message_id, n, filename, content_type, content) VALUES ($1, 0, 'a', 'text/plain', '')`,
      [id],
    )
    await ctx.db.query(`INSERT INTO message_tags (workspace_id, tag, message_id) VALUES ($1, 'tag', $2)`, [owner, id])
    await ctx.db.query(
      sql`
        INSERT INTO attempts (message_id, n, attempt, at, outcome, duration_ms, conversation)
        VALUES ($1, 0, 1, $2, 'delivered', 1, '')`,
      [id, at],
    )
    await ctx.db.query(
      sql`
        INSERT INTO events (id, workspace_id, type, message_id, n, sequence, recipient, created_at)
        VALUES ($1, $2, 'email.delivered', $3, 0, 1, 'b@receiver.example', $4)`,
      [newId(ms), owner, id, at],
    )
    return id
  }

  const run = async (): Promise<void> => {
    await createPartitionDropRound(ctx)()
    const round = createRetentionRound(ctx)
    while (await round());
  }

  /** Which parts of a message are stored. */
  const partsOf = async (id: string): Promise<string[]> => {
    const { rows } = await ctx.db.query<{ part: string }>(
      sql`
        SELECT 'message' AS part
        FROM messages
        WHERE id = $1
        UNION ALL
        SELECT 'text'
        FROM messages
        WHERE id = $1 AND html IS NOT NULL
        UNION ALL
        SELECT 'recipient'
        FROM recipients
        WHERE message_id = $1
        UNION ALL
        SELECT 'attachment'
        FROM attachments
        WHERE message_id = $1
        UNION ALL
        SELECT 'tag'
        FROM message_tags
        WHERE message_id = $1
        UNION ALL
        SELECT 'attempt'
        FROM attempts
        WHERE message_id = $1
        UNION ALL
        SELECT 'event'
        FROM events
        WHERE message_id = $1`,
      [id],
    )
    return rows.map(({ part }) => part)
  }

  const ALL = ['message', 'text', 'recipient', 'attachment', 'tag', 'attempt', 'event']
  const FACTS = ['message', 'recipient', 'tag']

  it('deletes bodies after 30 days, events after 90, messages after 400', async () => {
    const ages = [20, 60, 120, 500]
    const ids = []
    for (const days of ages) ids.push(await store(days))
    await run()
    const parts = []
    for (const id of ids) parts.push(await partsOf(id))
    assert.deepEqual(parts, [ALL, ['message', 'recipient', 'tag', 'attempt', 'event'], FACTS, []])
    for (const table of ['messages', 'recipients', 'message_tags', 'attachments', 'attempts', 'events'] as const)
      assert.notInclude(await listWeeks(ctx.db, table), weekOf(Date.now() - 500 * DAY_MS), table)
  })

  it('carries mail over that is still to be sent, complete, and deletes it when it was sent', async () => {
    const [open, closed] = [await store(500, 'scheduled'), await store(500)]
    await run()
    assert.deepEqual(await partsOf(open), ALL.slice(0, -1), 'only its events are gone')
    assert.deepEqual(await partsOf(closed), [])
    await ctx.db.query(`UPDATE recipients SET state = 'delivered', is_open = false WHERE message_id = $1`, [open])
    await run()
    assert.deepEqual(await partsOf(open), [])
  })

  it('applies the rule of a workspace before that of its plan, and the longest to partitions', async () => {
    const short = await ctx.newWorkspace('free')
    await saveRule(ctx.db, { plan: 'enterprise' }, { messages: 1000 })
    await saveRule(ctx.db, { plan: 'free' }, { bodies: 10, messages: 50 })
    await saveRule(ctx.db, { workspaceId: short }, { messages: 100 })
    const [long, own, old] = [await store(500), await store(60, 'delivered', short), await store(120, 'sent', short)]
    const early = await store(15, 'delivered', short)
    await run()
    assert.deepEqual(await partsOf(long), FACTS)
    assert.deepEqual(await partsOf(own), ['message', 'recipient', 'tag', 'attempt', 'event'])
    assert.deepEqual(await partsOf(old), [])
    assert.deepEqual(await partsOf(early), ['message', 'recipient', 'tag', 'attempt', 'event'])
  })

  it('continues with a slice that another worker began, and finds mail that was open in an earlier walk', async () => {
    const open = await store(60, 'scheduled')
    await saveRule(ctx.db, { workspaceId }, { bodies: 5, events: 10, messages: 20 })
    await ctx.newWorkspace() // keeps the partitions
    await run()
    assert.deepEqual(
      await partsOf(open),
      ALL.filter((part) => part !== 'event'),
    )
    await ctx.db.query(`UPDATE recipients SET state = 'delivered', is_open = false WHERE message_id = $1`, [open])
    ctx.advance(DAY_MS)
    await run()
    assert.deepEqual(await partsOf(open), [])
  })

  it('deletes the mail of a deleted workspace a week later', async () => {
    const [id, young] = [await store(9), await store(2)]
    await ctx.newWorkspace()
    await markGone(ctx.db, workspaceId)
    await ctx.db.query('DELETE FROM workspaces WHERE id = $1', [workspaceId])
    await run()
    assert.deepEqual(await partsOf(id), [])
    assert.deepEqual(
      await partsOf(young),
      ALL.filter((part) => part !== 'text' && part !== 'attachment'),
    )
  })

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
    const name = oldPartition('events')
    const first = whileReading('events', async () => {
      const drops = createPartitionDropRound(ctx)()
      await until(async () => JSON.stringify(await statesOf(name)).includes('true'))
      await createPartitionDropRound(ctx)() // does not wait
      assert.deepEqual(await statesOf(name), [{ isPending: true, comment: 'mailstead: expired' }])
      return { drops }
    })
    await first
    await until(async () => JSON.stringify(await statesOf(name)) === '[]')
  })

  it('never drops the week of the newest message, and reports nothing about it', async () => {
    const id = await store(OLD_DAYS)
    await run()
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

  it('reports what is overdue, and nothing after a round', async () => {
    const defaults = defaultPeriods(ctx.config)
    const overdue = async (): Promise<[string, number][]> =>
      (await readOverdue(ctx.db, defaults, ctx.clock.now())).map(({ period, lateMs }) => [
        period,
        Math.round(lateMs / WEEK_MS),
      ])
    await store(500)
    await store(0)
    const before = await overdue()
    assert.isAbove(before.find(([period]) => period === 'messages')?.[1] ?? 0, 12)
    await run()
    assert.deepEqual(await overdue(), [
      ['bodies', 0],
      ['events', 0],
      ['messages', 0],
    ])
  })

  it('does not touch recent mail', async () => {
    const id = await store(0)
    await run()
    assert.deepEqual(await partsOf(id), ALL)
  })
})
