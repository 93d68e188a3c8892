import { assert } from 'chai'
import { defaultPeriods, saveRule } from '#src/retention/periods.ts'
import { markGone } from '#src/retention/row-deletion.ts'
import { readOverdue } from '#src/retention/overdue.ts'
import { WEEK_MS, weekOf } from '#src/stores/partition-names.ts'
import { listWeeks } from '#src/stores/partitions.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { ALL, DAY_MS, FACTS, storedMail, type StoredMail } from './retention.test-data.ts'

const TABLES = [
  'messages',
  'recipients',
  'message_tags',
  'message_bodies',
  'attachments',
  'attempts',
  'events',
] as const

describe('retention', () => {
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

  it('deletes bodies after 30 days, events after 90, messages after 400', async () => {
    const ages = [20, 60, 120, 500]
    const ids = []
    for (const days of ages) ids.push(await store(days))
    await run()
    const parts = []
    for (const id of ids) parts.push(await partsOf(id))
    assert.deepEqual(parts, [ALL, ['message', 'recipient', 'tag', 'attempt', 'event'], FACTS, []])
    for (const table of TABLES)
      assert.notInclude(await listWeeks(ctx.db, table), weekOf(Date.now() - 500 * DAY_MS), table)
    const bodyWeek = weekOf(Date.now() - 60 * DAY_MS)
    assert.include(await listWeeks(ctx.db, 'messages'), bodyWeek)
    for (const table of ['message_bodies', 'attachments'] as const)
      assert.notInclude(await listWeeks(ctx.db, table), bodyWeek, table)
  })

  it('clears bodies in the messages of earlier versions, and looks for none in later messages', async () => {
    const storeBefore = async (days: number): Promise<string> => {
      const id = await mail.store(days)
      await ctx.db.query(`UPDATE messages SET html = 'x', has_body_row = false WHERE id = $1`, [id])
      return id
    }
    await ctx.db.query(`UPDATE body_storage SET apart_since = now() - interval '50 days'`)
    const ids = [await storeBefore(60), await storeBefore(45), await storeBefore(20)]
    await run()
    const { rows } = await ctx.db.query<{ html: string | null }>('SELECT html FROM messages ORDER BY id')
    assert.lengthOf(ids, rows.length)
    assert.deepEqual(
      rows.map(({ html }) => html),
      [null, 'x', 'x'],
    )
  })

  it('carries mail over that is still to be sent, complete, and deletes it when it was sent', async () => {
    const [open, closed] = [await store(500, 'scheduled'), await store(500)]
    await store(0)
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
    // events wait for the end of their week: on some weekdays those of 13 days are still there
    const [id, young] = [await store(15), await store(2)]
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
