import { assert } from 'chai'
import { changeAutomation, createAutomation } from '#src/automations/change-automation.ts'
import { listEnrolments, trackEvent } from '#src/automations/enrol.ts'
import { readSteps } from '#src/automations/steps.ts'
import { newId } from '#src/platform/id.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { createAutomationMaintenanceRound } from './automations.ts'

describe('automation maintenance', () => {
  let ctx: TestContext
  before(async () => {
    ctx = await createContext()
  })
  after(() => ctx.close())

  it('two workers apply the counters and end archived enrolments; then nothing is left', async () => {
    const workspaceId = await ctx.newWorkspace()
    const steps = readSteps([{ type: 'exit' }])
    const made = await createAutomation(ctx, workspaceId, {
      name: 'x',
      status: 'active',
      triggerType: 'contact_event',
      triggerConfig: { event_name: 'e' },
      steps: steps.ok ? steps.steps : [],
    })
    const id = made.kind === 'done' ? made.automation.id : assert.fail(made.kind)
    const emails = Array.from({ length: 20 }, (_, i) => `c${i}@x.example`)
    for (const email of emails) {
      await ctx.db.query('INSERT INTO contacts (id, workspace_id, email) VALUES ($1, $2, $3)', [
        newId(),
        workspaceId,
        email,
      ])
      assert.strictEqual(
        await trackEvent(ctx.db, { workspaceId, email }, { name: 'e', properties: null }, new Date()),
        1,
      )
    }
    await changeAutomation(ctx, workspaceId, id, { status: 'archived' })
    const workers = [createAutomationMaintenanceRound(ctx), createAutomationMaintenanceRound(ctx)]
    for (let i = 0; i < 3; i++) assert.deepEqual(await Promise.all(workers.map((worker) => worker())), [false, false])
    const { total } = await listEnrolments(ctx.db, id, { page: 1, limit: 1, state: 'exited' })
    const { rows } = await ctx.db.query(
      'SELECT enrolled_count, completed_count, active_count FROM automations WHERE id = $1',
      [id],
    )
    assert.deepEqual([total, rows], [20, [{ enrolled_count: 20, completed_count: 0, active_count: 0 }]])
  })
})
