/**
 * Automations that are interrupted, with the real worker: pauses, removed and failing steps, refused calls and a
 * worker that loses its connection. No step is repeated or skipped.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { assert } from 'chai'
import { changeAutomation } from '#src/automations/change-automation.ts'
import { runSlice } from '#src/automations/run.ts'
import { wakeAutomationWorkers } from '#src/automations/wake-workers.ts'
import { sql } from '#src/stores/sql.ts'
import type { TestContext } from '#test/support/context.ts'
import { until } from '#test/support/until.ts'
import { mail, setUpAutomations, stepsOf, tag, waitFor } from './automations.test-data.ts'

describe('failures in automations', () => {
  const scene = setUpAutomations()
  const { make, addContacts, enrol, subjects, states, tagsOf, ended } = scene

  it('a paused automation holds all contacts at their steps', async () => {
    await addContacts(['ada@people.example'])
    const automation = await make([{ type: 'delay', seconds: 1 }, mail('late')])
    await enrol(automation)
    await waitFor(
      () => states(automation),
      ([one]) => one?.step === 'late',
    )
    await changeAutomation(scene.ctx, scene.workspaceId, automation.id, { status: 'paused' })
    await sleep(1500)
    assert.deepEqual(await subjects(), [])
    await changeAutomation(scene.ctx, scene.workspaceId, automation.id, { status: 'active' })
    await ended(automation)
    assert.deepEqual(await subjects(), ['S late'])
  })

  it('a contact whose step was removed leaves, with that reason', async () => {
    await addContacts(['ada@people.example'])
    const automation = await make([{ type: 'delay', seconds: 1 }, mail('m')])
    await enrol(automation)
    await waitFor(
      () => states(automation),
      ([one]) => one?.step === 'm',
    )
    await changeAutomation(scene.ctx, scene.workspaceId, automation.id, {
      steps: stepsOf([tag('x')]),
      movesEnrolled: true,
    })
    assert.match((await ended(automation))[0]?.reason ?? '', /no longer exists/)
  })

  it('a contact whose mail may not be sent waits at its step with the reason, then continues', async () => {
    await addContacts(['ada@people.example'])
    const automation = await make([mail('m')])
    await scene.ctx.db.query(`UPDATE domains SET verification_status = 'failed' WHERE workspace_id = $1`, [
      scene.workspaceId,
    ])
    await enrol(automation)
    const [waiting] = await waitFor(
      () => states(automation),
      ([one]) => one?.reason != null,
    )
    assert.deepEqual([waiting?.state, waiting?.step], ['active', 'm'])
    assert.match(waiting?.reason ?? '', /not an address of a verified domain/)
    await scene.ctx.db.query(`UPDATE domains SET verification_status = 'verified' WHERE workspace_id = $1`, [
      scene.workspaceId,
    ])
    await scene.ctx.db.query('UPDATE enrolments SET due_at = now() WHERE automation_id = $1', [automation.id])
    wakeAutomationWorkers(scene.ctx)
    assert.deepEqual(await ended(automation), [{ state: 'completed', step: null, reason: null }])
    assert.deepEqual(await subjects(), ['S m'])
  })

  it('a webhook step is retried until it is accepted; the contact does not wait', async () => {
    const heard: { id: string; body: { contact: { email: string } } }[] = []
    let refusals = 1
    const server = createServer((request, response) => {
      let body = ''
      request.on('data', (chunk: Buffer) => {
        body += chunk.toString()
      })
      request.on('end', () => {
        heard.push({
          id: String(request.headers['webhook-id']),
          body: JSON.parse(body) as { contact: { email: string } },
        })
        response.writeHead(refusals-- > 0 ? 503 : 200).end('hm')
      })
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    assert.ok(address !== null && typeof address === 'object')
    await addContacts(['ada@people.example'])
    const automation = await make([{ type: 'webhook', id: 'h', url: `http://127.0.0.1:${address.port}/x` }])
    await enrol(automation)
    await ended(automation)
    const call = async () =>
      (
        await scene.ctx.db.query<{ state: string; tries: number; answer: string }>(
          'SELECT state, tries, answer FROM automation_calls WHERE automation_id = $1',
          [automation.id],
        )
      ).rows[0]
    await waitFor(call, (one) => one?.tries === 1)
    assert.deepEqual(await call(), { state: 'pending', tries: 1, answer: '503 hm' })
    await scene.ctx.db.query('UPDATE automation_calls SET due_at = now() WHERE automation_id = $1', [automation.id])
    wakeAutomationWorkers(scene.ctx)
    await waitFor(call, (one) => one?.state === 'delivered')
    assert.strictEqual(heard.length, 2)
    assert.strictEqual(heard[0]?.id, heard[1]?.id)
    assert.strictEqual(heard[0]?.body.contact.email, 'ada@people.example')
    server.close()
  })

  it('thousands enrolled at the same time each get one mail, with two workers of which one is killed', async () => {
    const emails = Array.from({ length: 3000 }, (_, i) => `p${i}@people.example`)
    await addContacts(emails)
    const automation = await make([tag('seen'), mail('m')])
    await scene.ctx.db.query(
      sql`
        INSERT INTO enrolments (automation_id, version, workspace_id, contact_id, step, due_at, created_at)
        SELECT a.id, a.version, c.workspace_id, c.id, v.first_step, now(), now()
        FROM contacts c, automations a
        JOIN automation_versions v ON v.automation_id = a.id
        WHERE a.id = $1 AND c.workspace_id = $2
      `,
      [automation.id, scene.workspaceId],
    )
    const plans = { free: { monthlyQuota: null, requestsPerSecond: null, maxDomains: null, isLaunch: true } }
    const breaking = {
      ...scene.ctx,
      db: {
        ...scene.ctx.db,
        transaction: <T>(work: (tx: never) => Promise<T>) =>
          scene.ctx.db.transaction(async (tx) => {
            await work(tx as never)
            throw Object.assign(new Error('cut'), { code: '57P01' })
          }),
      },
    } as unknown as TestContext
    await assert.isRejected(runSlice({ ctx: breaking, plans }))
    const active = `SELECT FROM enrolments WHERE automation_id = $1 AND state = 'active' LIMIT 1`
    await until(async () => (await scene.ctx.db.query(active, [automation.id])).rows.length === 0)
    const {
      rows: [sent],
    } = await scene.ctx.db.query<{ n: number; distinct: number }>(
      `SELECT count(*)::int AS n, count(DISTINCT to_list)::int AS distinct FROM messages WHERE workspace_id = $1`,
      [scene.workspaceId],
    )
    assert.deepEqual(sent, { n: 3000, distinct: 3000 })
  })

  it('a contact whose step always fails does not delay others, and leaves in the end', async () => {
    await addContacts(['ada@people.example', 'bea@people.example'])
    const automation = await make([tag('x')])
    await enrol(automation)
    // more than a tag list takes: the update of this contact fails
    await scene.ctx.db.query(sql`
      CREATE FUNCTION refuse_bea() RETURNS trigger LANGUAGE plpgsql AS $f$
      BEGIN
        RAISE EXCEPTION 'not this one';
      END $f$
    `)
    await scene.ctx.db.query(sql`
      CREATE TRIGGER refuse_bea
      BEFORE UPDATE ON contacts
      FOR EACH ROW WHEN (OLD.email LIKE 'bea@%' AND OLD.workspace_id = '${scene.workspaceId}')
      EXECUTE FUNCTION refuse_bea()
    `)
    await enrol(automation, 'bea@people.example')
    await waitFor(
      () => tagsOf('ada@people.example'),
      (tags) => tags.includes('x'),
    )
    const bea = async () =>
      (
        await scene.ctx.db.query<{ state: string; troubles: number; reason: string }>(
          sql`
            SELECT e.state, e.troubles, e.reason
            FROM enrolments e
            JOIN contacts c ON c.id = e.contact_id
            WHERE e.automation_id = $1 AND c.email LIKE 'bea@%'
          `,
          [automation.id],
        )
      ).rows[0]
    for (let i = 1; i <= 5; i++) {
      await waitFor(bea, (one) => one?.troubles === i)
      await scene.ctx.db.query('UPDATE enrolments SET due_at = now() WHERE automation_id = $1', [automation.id])
      wakeAutomationWorkers(scene.ctx)
    }
    assert.deepEqual(await bea(), {
      state: 'exited',
      troubles: 5,
      reason: 'the step failed: not this one',
    })
    await scene.ctx.db.query('DROP TRIGGER refuse_bea ON contacts')
  })
})
