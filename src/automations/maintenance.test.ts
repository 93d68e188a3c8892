/** What maintenance deletes after the retention period, and what it retains. */
import { assert } from 'chai'
import { saveContacts } from '#src/contacts/save-contacts.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { deleteOldCalls } from './webhook-calls.ts'
import { createAutomation } from './change-automation.ts'
import { enrolContact } from './enrol.ts'
import { readStepCounts } from './inspect.ts'
import { runSlice } from './run.ts'
import { readSteps } from './steps.ts'
import { findAutomation } from './store.ts'
import { deleteEnded, applyCounterDeltas, applyStepCounterDeltas } from './maintenance.ts'

const DAY_MS = 86_400_000

describe('maintenance of automations', () => {
  let ctx: TestContext
  let workspaceId: string
  before(async () => {
    ctx = await createContext()
    workspaceId = await ctx.newWorkspace()
    await ctx.db.query(
      sql`
        INSERT INTO domains (id, workspace_id, domain, verification_status)
        VALUES ($1, $2, 'sender.example', 'verified')
      `,
      [newId(), workspaceId],
    )
  })
  after(() => ctx.close())

  const later = (days: number): Date => new Date(ctx.clock.now() + days * DAY_MS)
  const left = async (table: string): Promise<number> =>
    (await ctx.db.query<{ n: number }>(`SELECT count(*)::int AS n FROM ${table}`)).rows[0]?.n ?? assert.fail()

  it('ended enrolments and message links are deleted after 90 days; counts and active ones stay', async () => {
    const mail = { type: 'send_email', id: 'm', subject: 'S', body: 'B', from: 'me@sender.example' }
    const later300 = [
      { type: 'delay', id: 'd', days: 300 },
      { ...mail, id: 'n' },
    ]
    const steps = readSteps([
      mail,
      { type: 'condition', id: 'q', condition: { type: 'has_tag', tag: 'vip' }, yes: later300, no: [] },
    ])
    assert.ok(steps.ok, JSON.stringify(steps))
    const made = await createAutomation(ctx, workspaceId, { name: 'A', status: 'active', steps: steps.steps })
    assert.strictEqual(made.kind, 'done', JSON.stringify(made))
    const { id } = made.automation
    const rows = [{ email: 'a@x.example' }, { email: 'b@x.example', tags: ['vip'] }, { email: 'c@x.example' }]
    await ctx.db.transaction((tx) => saveContacts(tx, { workspaceId, audienceId: null, now: later(0) }, rows))
    for (const { email } of rows)
      await enrolContact(ctx.db, { workspaceId, email }, { automationId: id, properties: null }, later(0))
    await runSlice({ ctx, plans: {} })
    const figures = async (): Promise<unknown> => {
      const automation = await findAutomation(ctx.db, workspaceId, id)
      return [
        automation?.enrolledCount,
        automation?.completedCount,
        automation?.activeCount,
        await readStepCounts(ctx.db, id),
      ]
    }
    const before = await figures()
    assert.deepEqual([await left('enrolments'), await left('automation_mails')], [3, 3])
    await deleteEnded(ctx.db, later(89))
    assert.deepEqual([await left('enrolments'), await left('automation_mails')], [3, 3])
    await Promise.all([deleteEnded(ctx.db, later(91)), deleteEnded(ctx.db, later(91))])
    assert.deepEqual([await left('enrolments'), await left('automation_mails')], [1, 1])
    await applyCounterDeltas(ctx.db)
    await applyStepCounterDeltas(ctx.db)
    assert.deepEqual(await figures(), before)
    await ctx.db.query('DELETE FROM contacts WHERE workspace_id = $1', [workspaceId])
    assert.deepEqual([await left('enrolments'), await left('automation_mails')], [0, 0])
  })
  it('webhook calls are deleted 30 days after they were created, except pending ones', async () => {
    for (const state of ['pending', 'delivered', 'failed'])
      await ctx.db.query(
        sql`
          INSERT INTO automation_calls (
            id, workspace_id, automation_id, enrolment_id, step, lane, url, body, state, due_at, created_at
          )
          VALUES ($1, $2, $1, $1, 's', 'x', 'x', '', $3, now(), now())
        `,
        [newId(), workspaceId, state],
      )
    await deleteOldCalls({ db: ctx.db, clock: { now: () => later(29).getTime() } })
    assert.strictEqual(await left('automation_calls'), 3)
    await deleteOldCalls({ db: ctx.db, clock: { now: () => later(31).getTime() } })
    assert.strictEqual(await left('automation_calls'), 1)
  })
})
