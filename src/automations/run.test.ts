/**
 * Slices of automations on PostgreSQL, one by one: which enrolments are claimed or skipped, and what their steps
 * change.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { assert } from 'chai'
import { findTemplateUsage } from '#src/campaigns/template-usage.ts'
import { deleteAudience } from '#src/contacts/audiences.ts'
import { deleteContact } from '#src/contacts/change-contact.ts'
import { purgeDeletedAudiences } from '#src/contacts/purge-contacts.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { changeAutomation } from './change-automation.ts'
import { findEnrolmentPath } from './enrolment-path.ts'
import { enrolAudienceMembers } from './date-triggers.ts'
import { runSlice, type RunDeps } from './run.ts'
import { readSteps } from './steps.ts'
import { createRunBench, FREE, tag } from './run.test-data.ts'

describe('slices of automations', () => {
  let ctx: TestContext
  let parts: RunDeps
  let workspaceId = ''
  before(async () => {
    ctx = await createContext()
    parts = { ctx, plans: { free: FREE } }
  })
  after(() => ctx.close())
  beforeEach(async () => {
    await ctx.db.query(`UPDATE automations SET status = 'archived'`)
    workspaceId = await ctx.newWorkspace()
  })

  const { make, addContacts, addAudience, enrolAll, enrol, count, tags, dueNow, addDomain } = createRunBench(
    () => ctx,
    () => workspaceId,
  )

  it('thousands of enrolments in some automations do not delay another automation', async () => {
    await addContacts(1500)
    for (let i = 0; i < 3; i++) await enrolAll(await make([tag('x')]))
    const late = await make([tag('y')])
    await enrol(late)
    await runSlice(parts)
    assert.strictEqual(await count(late, 'completed'), 1)
  })
  it('the path of a contact has the steps that it passed, in order and only once', async () => {
    await addContacts(1)
    const automation = await make([tag('x'), tag('y')])
    await enrol(automation)
    await runSlice(parts)
    await runSlice(parts)
    const { rows } = await ctx.db.query<{ id: string }>('SELECT id FROM enrolments WHERE automation_id = $1', [
      automation,
    ])
    const path = await findEnrolmentPath(ctx.db, automation, rows[0]?.id ?? '')
    assert.strictEqual(path?.state, 'completed')
    const steps = path?.passed.map(({ step, answer }) => [step, answer])
    assert.lengthOf(steps ?? [], 2)
    assert.lengthOf(new Set(steps?.map(([step]) => step)), 2)
    assert.ok(path?.passed.every(({ at, answer }) => answer === null && !Number.isNaN(at.getTime())))
    assert.isNull(await findEnrolmentPath(ctx.db, newId(), rows[0]?.id ?? ''), 'of another automation')
  })
  it('a workspace with many automations gets no larger share of a slice', async () => {
    await addContacts(20)
    for (let i = 0; i < 80; i++) await enrolAll(await make([tag(`x${i}`)]))
    workspaceId = await ctx.newWorkspace()
    await addContacts(300)
    const few = await make([tag('y')])
    await enrolAll(few)
    await runSlice(parts)
    assert.strictEqual(await count(few, 'completed'), 300)
  })
  it('audiences that start at the same time are enrolled side by side', async () => {
    const audienceId = await addAudience()
    await addContacts(3500, audienceId)
    const at = new Date(ctx.clock.now() + 60_000).toISOString()
    const onMoment = { triggerType: 'date_time', triggerConfig: { at, audience_id: audienceId } } as const
    const ids = [await make([{ type: 'delay', days: 1 }], onMoment), await make([{ type: 'delay', days: 1 }], onMoment)]
    await ctx.db.query(`UPDATE automations SET starts_at = now() - interval '1 second' WHERE workspace_id = $1`, [
      workspaceId,
    ])
    await enrolAudienceMembers(ctx)
    for (const id of ids) assert.strictEqual(await count(id, 'active'), 1000)
    while (await enrolAudienceMembers(ctx)) {
      /* until all are */
    }
    for (const id of ids) assert.strictEqual(await count(id, 'active'), 3500)
  })

  it('contacts locked by other transactions are skipped until they are free, without deadlock', async () => {
    await addContacts(3)
    const id = await make([tag('x')])
    await enrolAll(id)
    await ctx.db.transaction(async (tx) => {
      await tx.query(`SELECT FROM contacts WHERE workspace_id = $1 AND email = 'p0@people.example' FOR UPDATE`, [
        workspaceId,
      ])
      const taken = await Promise.race([runSlice(parts), sleep(5000, 'waits', { ref: false })])
      assert.strictEqual(taken, 2)
      await tx.query(`DELETE FROM contacts WHERE workspace_id = $1 AND email = 'p0@people.example'`, [workspaceId])
    })
    assert.strictEqual(await runSlice(parts), 0)
    assert.deepEqual([await count(id, 'completed'), await count(id, 'active')], [2, 0])
  })

  it('removal from an audience keeps the contact, even if another audience was just deleted', async () => {
    const [left, deleted] = [await addAudience(), await addAudience()]
    for (const audienceId of [left, deleted]) await addContacts(1, audienceId)
    await deleteAudience(ctx.db, workspaceId, deleted)
    const id = await make([{ type: 'remove_from_audience', audience_id: left }, tag('x')])
    await enrol(id)
    await runSlice(parts)
    while (await purgeDeletedAudiences(ctx.db)) {
      /* until nothing is left of it */
    }
    assert.deepEqual([await tags(), await count(id, 'completed')], [['x'], 1])
  })
  it('contacts in several automations, some deleted meanwhile: no deadlock and no lost change', async () => {
    await addContacts(300)
    const audience_id = await addAudience()
    const joining = { type: 'add_to_audience', audience_id }
    const ids = [await make([tag('a'), joining]), await make([joining, tag('b')])]
    for (const id of ids) await enrolAll(id)
    const { rows: gone } = await ctx.db.query<{ id: string }>(
      'SELECT id FROM contacts WHERE workspace_id = $1 ORDER BY random() LIMIT 100',
      [workspaceId],
    )
    const active = async (): Promise<number> =>
      (await count(ids[0] ?? '', 'active')) + (await count(ids[1] ?? '', 'active'))
    const run = async (): Promise<void> => {
      while ((await active()) > 0) await runSlice(parts)
    }
    const remove = ({ id }: { readonly id: string }): Promise<boolean> =>
      ctx.db.transaction((tx) => deleteContact(tx, workspaceId, id))
    const [, , ...deleted] = await Promise.all([run(), run(), ...gone.map(remove)])
    assert.ok(deleted.every((isDeleted) => isDeleted))
    const { rows } = await ctx.db.query(
      sql`
        SELECT DISTINCT array_length(c.tags, 1) AS tags,
          (SELECT count(*)::int FROM memberships m WHERE m.contact_id = c.id) AS audiences
        FROM contacts c
        WHERE workspace_id = $1
      `,
      [workspaceId],
    )
    assert.deepEqual(rows, [{ tags: 2, audiences: 1 }])
  })
  it('adds any valid tag once, up to the limit of a contact', async () => {
    await addContacts(1)
    const odd = ['a|b', "quo'te", '{x,y}', 'NULL', 'ü "z"', ' spaced ']
    await enrol(await make([...odd.map(tag), tag('a|b'), tag('gone'), { type: 'remove_tag', tag: 'gone' }]))
    await runSlice(parts)
    assert.deepEqual(await tags(), [...odd.slice(1, -1), 'spaced', 'a|b'])
    await enrol(await make([{ type: 'remove_tag', tag: 'a|b' }, ...Array.from({ length: 99 }, (_, i) => tag(`t${i}`))]))
    await runSlice(parts)
    assert.deepEqual([(await tags()).length, (await tags()).includes('a|b')], [100, false])
  })
  it('rescheduling a date_time automation moves enrolments that have not started', async () => {
    await addContacts(1)
    const at = (hours: number): string => new Date(ctx.clock.now() + hours * 3_600_000).toISOString()
    const id = await make([tag('x')], { triggerType: 'date_time', triggerConfig: { at: at(1) } })
    await enrol(id)
    const due = async (): Promise<Date | undefined> =>
      (await ctx.db.query<{ at: Date }>('SELECT due_at AS at FROM enrolments WHERE automation_id = $1', [id])).rows[0]
        ?.at
    for (const hours of [50, 2]) {
      const moment = at(hours)
      assert.strictEqual((await changeAutomation(ctx, workspaceId, id, { triggerConfig: { at: moment } })).kind, 'done')
      assert.strictEqual((await due())?.toISOString(), moment)
    }
    assert.strictEqual(
      (await changeAutomation(ctx, workspaceId, id, { triggerType: 'manual', triggerConfig: {} })).kind,
      'done',
    )
    await runSlice(parts)
    assert.deepEqual(await tags(), ['x'])
  })
  it('moved contacts continue in the version that moved them, even if a later version moves nobody', async () => {
    await addContacts(1)
    const steps = (name: string): readonly object[] => [
      { type: 'delay', id: 'd', hours: 1 },
      { ...tag(name), id: 't' },
    ]
    const id = await make(steps('first'))
    await enrol(id)
    await runSlice(parts)
    for (const [name, isMoving] of [
      ['second', true],
      ['third', false],
    ] as const) {
      const read = readSteps(steps(name))
      assert.ok(read.ok)
      assert.strictEqual(
        (await changeAutomation(ctx, workspaceId, id, { steps: read.steps, movesEnrolled: isMoving })).kind,
        'done',
      )
    }
    await dueNow(id)
    await runSlice(parts)
    assert.deepEqual(await tags(), ['second'])
  })
  it('a template is in use while a contact is in a version that sends it', async () => {
    await addContacts(1)
    await addDomain()
    const template = newId()
    await ctx.db.query(`INSERT INTO templates (id, workspace_id, name, subject, body) VALUES ($1, $2, 'T', 'S', 'x')`, [
      template,
      workspaceId,
    ])
    const id = await make([
      { type: 'delay', hours: 1 },
      { type: 'send_email', template_id: template, from: 'me@sender.example' },
    ])
    await enrol(id)
    await runSlice(parts)
    const read = readSteps([tag('x')])
    assert.ok(read.ok)
    assert.strictEqual((await changeAutomation(ctx, workspaceId, id, { steps: read.steps })).kind, 'done')
    assert.strictEqual((await findTemplateUsage(ctx.db, workspaceId, template))?.kind, 'automation')
    await dueNow(id)
    await runSlice(parts)
    assert.strictEqual(await findTemplateUsage(ctx.db, workspaceId, template), null)
  })
  it('two concurrent slices share the remaining quota; the others wait with a reason', async () => {
    await addContacts(1200)
    await addDomain()
    const id = await make([{ type: 'send_email', subject: 'S', body: 'B', from: 'me@sender.example' }])
    await enrolAll(id)
    const limited: RunDeps = { ...parts, plans: { free: { ...FREE, monthlyQuota: 700 } } }
    while ((await Promise.all([runSlice(limited), runSlice(limited)])).some((taken) => taken > 0)) {
      /* until nobody is due */
    }
    const {
      rows: [row],
    } = await ctx.db.query(
      sql`
        SELECT (SELECT count(*) FROM messages WHERE workspace_id = $1) AS mails,
          count(*) FILTER (WHERE reason LIKE 'the quota%') AS held, max(troubles) AS troubles
        FROM enrolments
        WHERE automation_id = $2
      `,
      [workspaceId, id],
    )
    assert.deepEqual(row, { mails: 700, held: 500, troubles: 0 })
  })
})
