/**
 * Contacts in automations, with the real worker: which mail is sent, when and to whom, and that no step is repeated or
 * skipped.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { assert } from 'chai'
import { startAutomations } from '#worker/automation-runs.ts'
import { startAutomationCalls } from '#worker/automation-calls.ts'
import { createAutomationMaintenanceRound } from '#worker/automations.ts'
import { startLoop, type Loop } from '#worker/loop.ts'
import { changeAutomation, createAutomation, type AutomationChange } from '#src/automations/change-automation.ts'
import { enrolContact, listEnrolments, trackEvent } from '#src/automations/enrol.ts'
import { readStepCounts } from '#src/automations/inspect.ts'
import { wakeAutomationWorkers } from '#src/automations/wake-workers.ts'
import { runSlice } from '#src/automations/run.ts'
import { readSteps } from '#src/automations/steps.ts'
import type { Automation } from '#src/automations/store.ts'
import { saveContacts } from '#src/contacts/save-contacts.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'

/** Before, while and after the step is taken. */
const random = (): number => Math.random() * 100
const PATIENCE_MS = 15_000
const FROM = 'shop@sender.example'
const mail = (id: string, more: object = {}): object => ({
  type: 'send_email',
  id,
  subject: `S ${id}`,
  body: `<p>${id} {{firstName}}</p>`,
  from: FROM,
  ...more,
})
const tag = (name: string): object => ({ type: 'add_tag', tag: name })

describe('automations, end to end', () => {
  let ctx: TestContext
  let loops: Loop[]
  let workspaceId = ''

  before(async () => {
    ctx = await createContext({ ALLOW_PRIVATE_TARGETS: '127.0.0.0/8' })
    loops = [
      startAutomations(ctx, ctx.redisUrl),
      startAutomationCalls(ctx),
      startLoop(ctx.log, {
        name: 'automation maintenance',
        everyMs: 5000,
        round: createAutomationMaintenanceRound(ctx),
      }),
    ]
  })
  after(async () => {
    await Promise.all(loops.map((loop) => loop.stop()))
    await ctx.close()
  })
  beforeEach(async () => {
    workspaceId = await ctx.newWorkspace()
    await ctx.db.query(`UPDATE domains SET verification_status = 'pending' WHERE domain = 'sender.example'`)
    await ctx.db.query(
      sql`
        INSERT INTO domains (id, workspace_id, domain, verification_status)
        VALUES ($1, $2, 'sender.example', 'verified')
      `,
      [newId(), workspaceId],
    )
  })

  const now = (): Date => new Date(ctx.clock.now())
  async function make(steps: readonly object[], change: AutomationChange = {}): Promise<Automation> {
    const made = await createAutomation(ctx, workspaceId, {
      status: 'active',
      steps: read(steps),
      ...change,
      name: 'A',
    })
    assert.strictEqual(made.kind, 'done', JSON.stringify(made))
    return made.automation
  }
  function read(steps: readonly object[]) {
    const found = readSteps(steps)
    assert.ok(found.ok, JSON.stringify(found))
    return found.steps
  }
  async function addContacts(emails: readonly string[], audienceId: string | null = null): Promise<void> {
    const to = { workspaceId, audienceId, now: now() }
    const saved = await ctx.db.transaction((tx) =>
      saveContacts(
        tx,
        to,
        emails.map((email) => ({ email, firstName: 'Ada' })),
      ),
    )
    assert.strictEqual(saved.kind, 'saved')
  }
  async function addAudience(): Promise<string> {
    const id = newId()
    await ctx.db.query(`INSERT INTO audiences (id, workspace_id, name, subscribe_token) VALUES ($1, $2, 'a', $3)`, [
      id,
      workspaceId,
      newId(),
    ])
    return id
  }
  const enrol = async (automation: Automation, email = 'ada@people.example'): Promise<void> => {
    assert.strictEqual(
      (
        await enrolContact(
          ctx.db,
          { workspaceId, email },
          { automationId: automation.id, properties: { total: 3 } },
          now(),
        )
      ).kind,
      'enrolled',
    )
    wakeAutomationWorkers(ctx)
  }
  const subjects = async (): Promise<string[]> =>
    (
      await ctx.db.query<{ subject: string }>('SELECT subject FROM messages WHERE workspace_id = $1 ORDER BY id', [
        workspaceId,
      ])
    ).rows.map(({ subject }) => subject)
  const states = async ({ id }: Automation) =>
    (await listEnrolments(ctx.db, id, { page: 1, limit: 1000, state: null })).items.map(({ state, step, reason }) => ({
      state,
      step,
      reason,
    }))
  const tagsOf = async (email: string): Promise<string[]> =>
    (
      await ctx.db.query<{ tags: string[] }>('SELECT tags FROM contacts WHERE workspace_id = $1 AND email = $2', [
        workspaceId,
        email,
      ])
    ).rows[0]?.tags ?? []
  async function until<T>(look: () => Promise<T>, is: (found: T) => boolean): Promise<T> {
    for (const end = Date.now() + PATIENCE_MS; ; await sleep(20)) {
      const found = await look()
      if (is(found)) return found
      if (Date.now() > end) assert.fail(`not in time: ${JSON.stringify(found).slice(0, 500)}`)
    }
  }
  const ended = (automation: Automation) =>
    until(
      () => states(automation),
      (all) => all.length > 0 && all.every(({ state }) => state !== 'active'),
    )

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
    await until(subjects, (all) => all.length === 1)
    assert.deepEqual(await subjects(), ['S one'])
    assert.deepEqual(await ended(automation), [{ state: 'completed', step: null, reason: null }])
    assert.deepEqual(await subjects(), ['S one', 'S two'])
    assert.deepEqual(await tagsOf('ada@people.example'), ['big'])
    const {
      rows: [message],
    } = await ctx.db.query(
      sql`
        SELECT tier, to_list, params, content_id IS NOT NULL AS "isRecipe", html
        FROM messages
        WHERE workspace_id = $1
        LIMIT 1
      `,
      [workspaceId],
    )
    assert.deepEqual(message, {
      tier: 'bulk',
      to_list: [{ email: 'ada@people.example', name: null }],
      params: { event: { total: 3 } },
      isRecipe: true,
      html: null,
    })
    const counts = await readStepCounts(ctx.db, automation.id)
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
    await until(subjects, (all) => all.length === 1)
    await ctx.db.query('UPDATE memberships SET is_subscribed = false WHERE audience_id = $1', [audience])
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
    await sleep(random())
    assert.strictEqual(
      await trackEvent(
        ctx.db,
        { workspaceId, email: 'ada@people.example' },
        { name: 'paid', properties: { amount: 5 } },
        now(),
      ),
      0,
    )
    wakeAutomationWorkers(ctx)
    assert.deepEqual((await ended(long))[0]?.state, 'completed')
    await ended(short)
    assert.deepEqual([await tagsOf('ada@people.example'), await tagsOf('bea@people.example')], [['paid'], ['reminded']])
  })

  it('a paused automation holds all contacts at their steps', async () => {
    await addContacts(['ada@people.example'])
    const automation = await make([{ type: 'delay', seconds: 1 }, mail('late')])
    await enrol(automation)
    await until(
      () => states(automation),
      ([one]) => one?.step === 'late',
    )
    await changeAutomation(ctx, workspaceId, automation.id, { status: 'paused' })
    await sleep(1500)
    assert.deepEqual(await subjects(), [])
    await changeAutomation(ctx, workspaceId, automation.id, { status: 'active' })
    await ended(automation)
    assert.deepEqual(await subjects(), ['S late'])
  })

  it('contacts finish the version they started, or move to the new one', async () => {
    await addContacts(['ada@people.example', 'bea@people.example'])
    const first = [{ type: 'delay', id: 'd', seconds: 1 }, mail('m')]
    const [stay, move] = [await make(first), await make(first)]
    await enrol(stay)
    await enrol(move)
    await until(
      () => states(move),
      ([one]) => one?.step === 'm',
    )
    const second = { steps: read([{ type: 'delay', id: 'd', seconds: 1 }, mail('m', { subject: 'new' })]) }
    await changeAutomation(ctx, workspaceId, stay.id, second)
    await changeAutomation(ctx, workspaceId, move.id, { ...second, movesEnrolled: true })
    await ended(stay)
    await ended(move)
    assert.deepEqual(
      (await subjects()).toSorted((a, b) => a.localeCompare(b)),
      ['new', 'S m'],
    )
  })

  it('a contact whose step was removed leaves, with that reason', async () => {
    await addContacts(['ada@people.example'])
    const automation = await make([{ type: 'delay', seconds: 1 }, mail('m')])
    await enrol(automation)
    await until(
      () => states(automation),
      ([one]) => one?.step === 'm',
    )
    await changeAutomation(ctx, workspaceId, automation.id, { steps: read([tag('x')]), movesEnrolled: true })
    assert.match((await ended(automation))[0]?.reason ?? '', /no longer exists/)
  })

  it('a contact whose mail may not be sent waits at its step with the reason, then continues', async () => {
    await addContacts(['ada@people.example'])
    const automation = await make([mail('m')])
    await ctx.db.query(`UPDATE domains SET verification_status = 'failed' WHERE workspace_id = $1`, [workspaceId])
    await enrol(automation)
    const [held] = await until(
      () => states(automation),
      ([one]) => one?.reason != null,
    )
    assert.deepEqual([held?.state, held?.step], ['active', 'm'])
    assert.match(held?.reason ?? '', /not an address of a verified domain/)
    await ctx.db.query(`UPDATE domains SET verification_status = 'verified' WHERE workspace_id = $1`, [workspaceId])
    await ctx.db.query('UPDATE enrolments SET due_at = now() WHERE automation_id = $1', [automation.id])
    wakeAutomationWorkers(ctx)
    assert.deepEqual(await ended(automation), [{ state: 'completed', step: null, reason: null }])
    assert.deepEqual(await subjects(), ['S m'])
  })

  it('a saved template is sent in its new version', async () => {
    await addContacts(['ada@people.example'])
    const template = newId()
    await ctx.db.query(
      `INSERT INTO templates (id, workspace_id, name, subject, body) VALUES ($1, $2, 'T', 'first', 'x')`,
      [template, workspaceId],
    )
    const automation = await make([
      { type: 'send_email', id: 'm', template_id: template, from: FROM },
      { type: 'delay', seconds: 1 },
      { type: 'send_email', id: 'n', template_id: template, from: FROM },
    ])
    await enrol(automation)
    await until(subjects, (all) => all.length === 1)
    await ctx.db.query(`UPDATE templates SET subject = 'second', version = 2 WHERE id = $1`, [template])
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
    await until(
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
    await ctx.db.query(
      `UPDATE memberships SET is_subscribed = false WHERE audience_id = $1 AND email = 'm7@people.example'`,
      [audience],
    )
    const automation = await make([tag('at')], {
      triggerType: 'date_time',
      triggerConfig: { at: new Date(ctx.clock.now() + 700).toISOString(), audience_id: audience },
    })
    wakeAutomationWorkers(ctx)
    assert.deepEqual(await states(automation), [])
    const count = async () =>
      (
        await ctx.db.query<{ n: number }>(
          `SELECT count(*)::int AS n FROM enrolments WHERE automation_id = $1 AND state = 'completed'`,
          [automation.id],
        )
      ).rows[0]?.n
    await until(count, (n) => n === 2099)
    await changeAutomation(ctx, workspaceId, automation.id, { name: 'B' })
    await sleep(300)
    assert.strictEqual(await count(), 2099, 'once')
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
        await ctx.db.query<{ state: string; tries: number; answer: string }>(
          'SELECT state, tries, answer FROM automation_calls WHERE automation_id = $1',
          [automation.id],
        )
      ).rows[0]
    await until(call, (one) => one?.tries === 1)
    assert.deepEqual(await call(), { state: 'pending', tries: 1, answer: '503 hm' })
    await ctx.db.query('UPDATE automation_calls SET due_at = now() WHERE automation_id = $1', [automation.id])
    wakeAutomationWorkers(ctx)
    await until(call, (one) => one?.state === 'delivered')
    assert.strictEqual(heard.length, 2)
    assert.strictEqual(heard[0]?.id, heard[1]?.id)
    assert.strictEqual(heard[0]?.body.contact.email, 'ada@people.example')
    server.close()
  })

  it('thousands enrolled at the same time each get one mail, with two workers of which one is killed', async () => {
    const emails = Array.from({ length: 3000 }, (_, i) => `p${i}@people.example`)
    await addContacts(emails)
    const automation = await make([tag('seen'), mail('m')])
    await ctx.db.query(
      sql`
        INSERT INTO enrolments (automation_id, version, workspace_id, contact_id, step, due_at, created_at)
        SELECT a.id, a.version, c.workspace_id, c.id, v.first_step, now(), now()
        FROM contacts c, automations a
        JOIN automation_versions v ON v.automation_id = a.id
        WHERE a.id = $1 AND c.workspace_id = $2
      `,
      [automation.id, workspaceId],
    )
    const plans = { free: { monthlyQuota: null, requestsPerSecond: null, maxDomains: null, isLaunch: true } }
    const breaking = {
      ...ctx,
      db: {
        ...ctx.db,
        transaction: <T>(work: (tx: never) => Promise<T>) =>
          ctx.db.transaction(async (tx) => {
            await work(tx as never)
            throw Object.assign(new Error('cut'), { code: '57P01' })
          }),
      },
    } as unknown as TestContext
    await assert.isRejected(runSlice({ ctx: breaking, plans }))
    await ended(automation)
    const {
      rows: [sent],
    } = await ctx.db.query<{ n: number; distinct: number }>(
      `SELECT count(*)::int AS n, count(DISTINCT to_list)::int AS distinct FROM messages WHERE workspace_id = $1`,
      [workspaceId],
    )
    assert.deepEqual(sent, { n: 3000, distinct: 3000 })
  })

  it('a contact whose step always fails does not delay others, and leaves in the end', async () => {
    await addContacts(['ada@people.example', 'bea@people.example'])
    const automation = await make([tag('x')])
    await enrol(automation)
    // more than a tag list takes: the update of this contact fails
    await ctx.db.query(sql`
      CREATE FUNCTION refuse_bea() RETURNS trigger LANGUAGE plpgsql AS $f$
      BEGIN
        RAISE EXCEPTION 'not this one';
      END $f$
    `)
    await ctx.db.query(sql`
      CREATE TRIGGER refuse_bea
      BEFORE UPDATE ON contacts
      FOR EACH ROW WHEN (OLD.email LIKE 'bea@%' AND OLD.workspace_id = '${workspaceId}')
      EXECUTE FUNCTION refuse_bea()
    `)
    await enrol(automation, 'bea@people.example')
    await until(
      () => tagsOf('ada@people.example'),
      (tags) => tags.includes('x'),
    )
    const bea = async () =>
      (
        await ctx.db.query<{ state: string; troubles: number; reason: string }>(
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
      await until(bea, (one) => one?.troubles === i)
      await ctx.db.query('UPDATE enrolments SET due_at = now() WHERE automation_id = $1', [automation.id])
      wakeAutomationWorkers(ctx)
    }
    assert.deepEqual(await bea(), {
      state: 'exited',
      troubles: 5,
      reason: 'the step failed: not this one',
    })
    await ctx.db.query('DROP TRIGGER refuse_bea ON contacts')
  })
})
