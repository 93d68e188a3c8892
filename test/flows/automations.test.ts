/** Contacts in automations, with the real worker: which mail is sent, when and to whom. */
import { setTimeout as sleep } from 'node:timers/promises'
import { assert } from 'chai'
import { changeAutomation } from '#src/automations/change-automation.ts'
import { trackEvent } from '#src/automations/enrol.ts'
import { readStepCounts } from '#src/automations/inspect.ts'
import { wakeAutomationWorkers } from '#src/automations/wake-workers.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { FROM, mail, setUpAutomations, stepsOf, tag, waitFor } from './automations.test-data.ts'

describe('automations, end to end', () => {
  const scene = setUpAutomations()
  const { make, addContacts, addAudience, enrol, subjects, states, tagsOf, ended } = scene

  it('mails, waits, asks and ends', async () => {
    await addContacts(['ada@people.example'])
    const automation = await make([
      mail('one'),
      { type: 'delay', seconds: 1 },
      {
        type: 'condition',
        condition: { type: 'attribute', attribute: 'event.total', operator: 'gt', value: 2 },
        yes: [tag('big'), mail('two')],
        no: [tag('small')],
      },
    ])
    await enrol(automation)
    await waitFor(subjects, (all) => all.length === 1)
    assert.deepEqual(await subjects(), ['S one'])
    assert.deepEqual(await ended(automation), [{ state: 'completed', step: null, reason: null }])
    assert.deepEqual(await subjects(), ['S one', 'S two'])
    assert.deepEqual(await tagsOf('ada@people.example'), ['big'])
    const {
      rows: [message],
    } = await scene.ctx.db.query(
      sql`
        SELECT tier, to_list, params, content_id IS NOT NULL AS "isRecipe", html
        FROM messages
        WHERE workspace_id = $1
        LIMIT 1
      `,
      [scene.workspaceId],
    )
    assert.deepEqual(message, {
      tier: 'bulk',
      to_list: [{ email: 'ada@people.example', name: null }],
      params: { event: { total: 3 } },
      isRecipe: true,
      html: null,
    })
    const counts = await readStepCounts(scene.ctx.db, automation.id)
    const sums = counts.map(({ passed, waiting }) => `${passed} ${waiting}`)
    assert.deepEqual(sums, Array(5).fill('1 0'), 'five of six steps were passed once, and nobody waits')
  })

  it('joining an audience starts the automation', async () => {
    const audience = await addAudience()
    const automation = await make([mail('welcome')], {
      triggerType: 'contact_added_to_audience',
      triggerConfig: { audience_id: audience },
    })
    await addContacts(['bea@people.example'], audience)
    await ended(automation)
    assert.deepEqual(await subjects(), ['S welcome'])
  })

  it('a contact that leaves the audience gets no further mail', async () => {
    const audience = await addAudience()
    const automation = await make([mail('one'), { type: 'delay', seconds: 1 }, mail('two')], {
      triggerType: 'contact_added_to_audience',
      triggerConfig: { audience_id: audience },
    })
    await addContacts(['bea@people.example'], audience)
    await waitFor(subjects, (all) => all.length === 1)
    await scene.ctx.db.query('UPDATE memberships SET is_subscribed = false WHERE audience_id = $1', [audience])
    assert.deepEqual(await ended(automation), [
      { state: 'exited', step: null, reason: 'the contact is no longer subscribed to the audience' },
    ])
    assert.deepEqual(await subjects(), ['S one'])
  })

  it('an event ends a wait, and its time does', async () => {
    await addContacts(['ada@people.example', 'bea@people.example'])
    const wait = (seconds: number): object => ({
      type: 'wait_for_event',
      id: 'w',
      event_name: 'paid',
      seconds,
      yes: [tag('paid')],
      no: [tag('reminded')],
    })
    const [long, short] = [await make([wait(3600)]), await make([wait(1)])]
    await enrol(long)
    await enrol(short, 'bea@people.example')
    // before, while or after the step is run
    await sleep(Math.random() * 100)
    assert.strictEqual(
      await trackEvent(
        scene.ctx.db,
        { workspaceId: scene.workspaceId, email: 'ada@people.example' },
        { name: 'paid', properties: { amount: 5 } },
        new Date(scene.ctx.clock.now()),
      ),
      0,
    )
    wakeAutomationWorkers(scene.ctx)
    assert.deepEqual((await ended(long))[0]?.state, 'completed')
    await ended(short)
    assert.deepEqual([await tagsOf('ada@people.example'), await tagsOf('bea@people.example')], [['paid'], ['reminded']])
  })

  it('contacts finish the version they started, or move to the new one', async () => {
    await addContacts(['ada@people.example', 'bea@people.example'])
    const first = [{ type: 'delay', id: 'd', seconds: 1 }, mail('m')]
    const [stay, move] = [await make(first), await make(first)]
    await enrol(stay)
    await enrol(move)
    await waitFor(
      () => states(move),
      ([one]) => one?.step === 'm',
    )
    const second = { steps: stepsOf([{ type: 'delay', id: 'd', seconds: 1 }, mail('m', { subject: 'new' })]) }
    await changeAutomation(scene.ctx, scene.workspaceId, stay.id, second)
    await changeAutomation(scene.ctx, scene.workspaceId, move.id, { ...second, movesEnrolled: true })
    await ended(stay)
    await ended(move)
    assert.deepEqual(
      (await subjects()).toSorted((a, b) => a.localeCompare(b)),
      ['new', 'S m'],
    )
  })

  it('a saved template is sent in its new version', async () => {
    await addContacts(['ada@people.example'])
    const template = newId()
    await scene.ctx.db.query(
      `INSERT INTO templates (id, workspace_id, name, subject, body) VALUES ($1, $2, 'T', 'first', 'x')`,
      [template, scene.workspaceId],
    )
    const automation = await make([
      { type: 'send_email', id: 'm', template_id: template, from: FROM },
      { type: 'delay', seconds: 1 },
      { type: 'send_email', id: 'n', template_id: template, from: FROM },
    ])
    await enrol(automation)
    await waitFor(subjects, (all) => all.length === 1)
    await scene.ctx.db.query(`UPDATE templates SET subject = 'second', version = 2 WHERE id = $1`, [template])
    await ended(automation)
    assert.deepEqual(await subjects(), ['first', 'second'])
  })

  it('steps add to and remove from audiences; automations that enrol in each other in a loop stop', async () => {
    await addContacts(['ada@people.example'])
    const [left, right] = [await addAudience(), await addAudience()]
    const round = (from: string, to: string) =>
      make(
        [
          { type: 'add_to_audience', audience_id: to },
          { type: 'remove_from_audience', audience_id: from },
        ],
        { triggerType: 'contact_added_to_audience', triggerConfig: { audience_id: from } },
      )
    const [first, second] = [await round(left, right), await round(right, left)]
    await addContacts(['ada@people.example'], left)
    const begun = async (): Promise<number> => (await states(first)).length + (await states(second)).length
    await waitFor(
      async () => [await begun(), (await sleep(300), await begun())],
      ([before, after]) => (before ?? 0) > 2 && before === after,
    )
    assert.ok((await begun()) <= 41, String(await begun()))
  })

  it('a date trigger enrols the members of an audience', async () => {
    const audience = await addAudience()
    await addContacts(
      Array.from({ length: 2100 }, (_, i) => `m${i}@people.example`),
      audience,
    )
    await scene.ctx.db.query(
      `UPDATE memberships SET is_subscribed = false WHERE audience_id = $1 AND email = 'm7@people.example'`,
      [audience],
    )
    const automation = await make([tag('at')], {
      triggerType: 'date_time',
      triggerConfig: { at: new Date(scene.ctx.clock.now() + 700).toISOString(), audience_id: audience },
    })
    wakeAutomationWorkers(scene.ctx)
    assert.deepEqual(await states(automation), [])
    const count = async () =>
      (
        await scene.ctx.db.query<{ n: number }>(
          `SELECT count(*)::int AS n FROM enrolments WHERE automation_id = $1 AND state = 'completed'`,
          [automation.id],
        )
      ).rows[0]?.n
    await waitFor(count, (n) => n === 2099)
    await changeAutomation(scene.ctx, scene.workspaceId, automation.id, { name: 'B' })
    await sleep(300)
    assert.strictEqual(await count(), 2099, 'once')
  })
})
