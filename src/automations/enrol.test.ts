/**
 * Enrolments on PostgreSQL: every way to enrol works exactly once, counts without waiting, and ends with the contact.
 */
import { Readable } from 'node:stream'
import { assert } from 'chai'
import { saveContacts } from '#src/contacts/save-contacts.ts'
import { newId } from '#src/platform/id.ts'
import { runImports } from '#src/imports/import-runner.ts'
import { storeUpload } from '#src/imports/upload.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { changeAutomation, createAutomation, type AutomationChange } from './change-automation.ts'
import { enrolContact, listEnrolments, trackEvent, unenrolContact } from './enrol.ts'
import { findAutomation } from './store.ts'
import { readSteps, type Step } from './steps.ts'
import { exitArchived, applyCounterDeltas } from './maintenance.ts'

describe('enrolments', () => {
  let ctx: TestContext
  let workspaceId: string
  before(async () => {
    ctx = await createContext()
  })
  after(() => ctx.close())
  beforeEach(async () => {
    workspaceId = await ctx.newWorkspace()
  })

  const now = new Date()
  const steps = (): readonly Step[] => {
    const read = readSteps([{ type: 'delay', days: 1 }])
    return read.ok ? read.steps : assert.fail()
  }
  async function add(change: AutomationChange): Promise<string> {
    const made = await createAutomation(ctx, workspaceId, { status: 'active', steps: steps(), ...change, name: 'x' })
    return made.kind === 'done' ? made.automation.id : assert.fail(JSON.stringify(made))
  }
  const onEvent = (name: string): Promise<string> =>
    add({ triggerType: 'contact_event', triggerConfig: { event_name: name } })
  const onJoin = (audienceId: string): Promise<string> =>
    add({ triggerType: 'contact_added_to_audience', triggerConfig: { audience_id: audienceId } })
  async function addAudience(): Promise<string> {
    const id = newId()
    await ctx.db.query(`INSERT INTO audiences (id, workspace_id, name, subscribe_token) VALUES ($1, $2, 'a', $3)`, [
      id,
      workspaceId,
      newId(),
    ])
    return id
  }
  const save = (emails: readonly string[], audienceId: string | null): Promise<unknown> =>
    ctx.db.transaction((tx) =>
      saveContacts(
        tx,
        { workspaceId, audienceId, now },
        emails.map((email) => ({ email })),
      ),
    )
  const emails = (n: number): string[] => Array.from({ length: n }, (_, i) => `c${i}@x.example`)
  const counts = async (id: string): Promise<number[]> => {
    const found = await findAutomation(ctx.db, workspaceId, id)
    return found === null ? assert.fail() : [found.enrolledCount, found.completedCount, found.activeCount]
  }
  const stored = async (id: string): Promise<number> =>
    (await ctx.db.query<{ n: number }>('SELECT count(*) AS n FROM enrolments WHERE automation_id = $1', [id])).rows[0]
      ?.n ?? assert.fail()
  const track = (email: string, name: string): Promise<number> =>
    trackEvent(ctx.db, { workspaceId, email }, { name, properties: null }, now)

  it('an import enrols the contacts that it adds; a dry run enrols none', async () => {
    const audienceId = await addAudience()
    const automation = await onJoin(audienceId)
    for (const [isDryRun, enrolled] of [
      [true, 0],
      [false, 3],
    ] as const) {
      const file = Readable.from([
        Buffer.from(
          `email,status\n${emails(3)
            .map((email) => `${email},\n`)
            .join('')}gone@x.example,unsubscribed\n`,
        ),
      ])
      const upload = await storeUpload(
        ctx,
        { workspaceId, audienceId, isDryRun, mapping: {}, unknownColumns: 'ignore' },
        file,
      )
      assert.strictEqual(upload.kind, 'stored')
      while (await runImports(ctx)) {
        /* until none waits */
      }
      assert.deepEqual(await counts(automation), [enrolled, 0, enrolled])
    }
  })
  it('joining an audience enrols in the same transaction', async () => {
    const audience = await addAudience()
    const [here, alsoHere] = [await onJoin(audience), await onJoin(audience)]
    const elsewhere = await onJoin(await addAudience())
    await save(emails(3), audience)
    assert.deepEqual(
      [await counts(here), await counts(alsoHere), await counts(elsewhere)],
      [
        [3, 0, 3],
        [3, 0, 3],
        [0, 0, 0],
      ],
    )
    await save(emails(4), audience)
    assert.deepEqual(await counts(here), [4, 0, 4], 'who is in the audience does not join again')
    await assert.isRejected(
      ctx.db.transaction(async (tx) => {
        await saveContacts(tx, { workspaceId, audienceId: audience, now }, [{ email: 'never@x.example' }])
        throw new Error('rolled back')
      }),
    )
    assert.strictEqual(await stored(here), 4)
  })
  it('an import batch enrols in one statement, at the first step of the current version', async () => {
    const audience = await addAudience()
    const id = await onJoin(audience)
    const changed = await changeAutomation(ctx, workspaceId, id, { steps: steps() })
    const first = changed.kind === 'done' ? changed.automation.steps[0]?.id : assert.fail()
    await save(emails(2000), audience)
    const { rows } = await ctx.db.query(
      sql`
        SELECT version, step, count(*) AS n, bool_and(due_at <= now()) AS due
        FROM enrolments
        WHERE automation_id = $1
        GROUP BY 1, 2
      `,
      [id],
    )
    assert.deepEqual(rows, [{ version: 2, step: first, n: 2000, due: true }])
    const { rows: notes } = await ctx.db.query('SELECT enrolled FROM enrolment_changes WHERE automation_id = $1', [id])
    assert.deepEqual(notes, [{ enrolled: 2000 }])
  })
  it('unsubscribed contacts are not enrolled, and inactive automations enrol nobody', async () => {
    const audience = await addAudience()
    const [id, paused] = [await onJoin(audience), await onJoin(audience)]
    await changeAutomation(ctx, workspaceId, paused, { status: 'paused' })
    await save(['one@x.example'], null)
    await ctx.db.query(
      sql`
        INSERT INTO memberships (audience_id, contact_id, workspace_id, email, is_subscribed)
        SELECT $1, id, workspace_id, email, false
        FROM contacts
        WHERE workspace_id = $2
      `,
      [audience, workspaceId],
    )
    await save(['two@x.example'], audience)
    assert.deepEqual([await stored(id), await stored(paused)], [1, 0])
  })

  it('fifty events at once, for one contact and for fifty, enrol each contact once', async () => {
    const id = await onEvent('e')
    await save(emails(50), null)
    const same = await Promise.all(Array.from({ length: 50 }, () => track('c0@x.example', 'e')))
    assert.strictEqual(
      same.reduce((sum, n) => sum + n, 0),
      1,
    )
    const others = await Promise.all(emails(50).map((email) => track(email, 'e')))
    assert.strictEqual(
      others.reduce((sum, n) => sum + n, 0),
      49,
    )
    assert.deepEqual([await counts(id), await stored(id)], [[50, 0, 50], 50])
  })
  it('deleting a contact deletes its enrolments, even during enrolment; past counts stay', async () => {
    const id = await onEvent('e')
    await save(emails(20), null)
    await Promise.all(
      emails(20).flatMap((email) => [
        track(email, 'e'),
        ctx.db.query('DELETE FROM contacts WHERE workspace_id = $1 AND email = $2', [workspaceId, email]),
      ]),
    )
    assert.strictEqual(await stored(id), 0)
    const [enrolled, completed, active] = await counts(id)
    assert.deepEqual([(enrolled ?? 0) <= 20, completed, active], [true, 0, 0])
  })
  it('an ended enrolment is counted once, however often deltas are applied', async () => {
    const id = await onEvent('e')
    await save(emails(30), null)
    for (const email of emails(30)) await track(email, 'e')
    await ctx.db.query(
      sql`
        UPDATE enrolments
        SET state = 'completed', ended_at = now()
        WHERE automation_id = $1 AND contact_id IN (SELECT id FROM contacts WHERE workspace_id = $2 AND email < 'c2')
      `,
      [id, workspaceId],
    )
    await ctx.db.query(`UPDATE enrolments SET due_at = now() WHERE automation_id = $1`, [id])
    const [expected] = [await counts(id)]
    assert.deepEqual([expected[0], (expected[1] ?? 0) + (expected[2] ?? 0)], [30, 30])
    const readers = Array.from({ length: 20 }, () => counts(id))
    await Promise.all([...Array.from({ length: 4 }, () => applyCounterDeltas(ctx.db)), ...readers])
    for (const read of await Promise.all(readers)) assert.deepEqual(read, expected, 'a reader never sees half of it')
    assert.deepEqual(await counts(id), expected)
    assert.deepEqual((await ctx.db.query('SELECT 1 FROM enrolment_changes')).rows, [])
  })
  it('archiving an automation ends its enrolments', async () => {
    const id = await onEvent('e')
    await save(emails(3), null)
    for (const email of emails(3)) await track(email, 'e')
    await unenrolContact(ctx.db, { workspaceId, email: 'c0@x.example' }, id, now)
    await changeAutomation(ctx, workspaceId, id, { status: 'archived' })
    await applyCounterDeltas(ctx.db)
    await Promise.all([exitArchived(ctx.db, now), exitArchived(ctx.db, now)])
    const { items } = await listEnrolments(ctx.db, id, { page: 1, limit: 10, state: 'exited' })
    assert.deepEqual(
      items.map(({ email, reason }) => [email, reason]).toSorted((a, b) => String(a).localeCompare(String(b))),
      [
        ['c0@x.example', 'unenrolled'],
        ['c1@x.example', 'the automation was archived'],
        ['c2@x.example', 'the automation was archived'],
      ],
    )
    assert.deepEqual(await counts(id), [3, 0, 0])
    assert.strictEqual(await exitArchived(ctx.db, now), false)
  })
  it('a contact only in deleted audiences is unknown', async () => {
    const id = await onEvent('e')
    const audience = await addAudience()
    await save(['ghost@x.example'], audience)
    await ctx.db.query('UPDATE audiences SET deleted_at = now() WHERE id = $1', [audience])
    assert.strictEqual(await track('ghost@x.example', 'e'), 0)
    const order = { automationId: id, properties: null }
    assert.deepEqual(await enrolContact(ctx.db, { workspaceId, email: 'ghost@x.example' }, order, now), {
      kind: 'no-contact',
    })
  })
  it('deleting a workspace deletes its automations and enrolments', async () => {
    const id = await onEvent('e')
    await save(emails(2), null)
    await track('c0@x.example', 'e')
    await ctx.db.query('DELETE FROM workspaces WHERE id = $1', [workspaceId])
    assert.strictEqual(await stored(id), 0)
  })
})
