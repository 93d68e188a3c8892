/** How events and opens reach enrolments between two steps, on PostgreSQL, in slices that run one by one. */
import { assert } from 'chai'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { runSlice, type RunDeps } from './run.ts'
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

  const { make, addContacts, enrol, track, count, tags, dueNow, addDomain, properties } = createRunBench(
    () => ctx,
    () => workspaceId,
  )

  const wait = (name: string, yes: string): object => ({
    type: 'wait_for_event',
    id: `w-${name}`,
    event_name: name,
    hours: 1,
    yes: [tag(yes)],
  })
  it('two events that arrive before the next slice are both consumed', async () => {
    await addContacts(1)
    const id = await make([wait('a', 'A'), wait('b', 'B')])
    await enrol(id)
    await runSlice(parts)
    for (const [name, of] of [
      ['a', 1],
      ['b', 2],
    ] as const)
      await track(name, { [name]: of })
    await runSlice(parts)
    assert.deepEqual(await tags(), ['A', 'B'])
    assert.deepEqual(await properties(id), { a: 1, b: 2 })
  })
  it('events are consumed in any order of arrival', async () => {
    await addContacts(1)
    const id = await make([wait('a', 'A'), wait('b', 'B')])
    await enrol(id)
    await runSlice(parts)
    await dueNow(id)
    for (const name of ['b', 'a']) await track(name)
    await runSlice(parts)
    assert.deepEqual(await tags(), ['A', 'B'])
  })
  it('one event ends one wait', async () => {
    await addContacts(1)
    const id = await make([wait('paid', 'once'), { ...wait('paid', 'twice'), id: 'again' }])
    await enrol(id)
    await track('paid')
    await runSlice(parts)
    assert.deepEqual([await tags(), await count(id, 'active')], [['once'], 1])
  })
  it('the event that starts an automation ends no wait in it', async () => {
    await addContacts(1)
    const id = await make([wait('paid', 'paid')], {
      triggerType: 'contact_event',
      triggerConfig: { event_name: 'paid' },
    })
    assert.strictEqual(await track('paid', { n: 1 }), 1)
    await runSlice(parts)
    assert.strictEqual(await count(id, 'active'), 1)
    assert.strictEqual(await track('paid', { n: 2 }), 0)
    await runSlice(parts)
    assert.deepEqual([await count(id, 'completed'), await properties(id)], [1, { n: 2 }])
  })
  it('an event that no step waits for changes no properties', async () => {
    await addContacts(1)
    const id = await make([{ type: 'delay', hours: 1 }, tag('x')])
    await enrol(id, { plan: 'basic' })
    await track('other', { plan: 'gold' })
    await runSlice(parts)
    assert.deepEqual(await properties(id), { plan: 'basic' })
  })
  it('an enrolment held at a mail step receives events', async () => {
    await addContacts(1)
    const id = await make([tag('x')])
    await ctx.db.query(`UPDATE automation_versions SET steps = $2, first_step = 'm' WHERE automation_id = $1`, [
      id,
      JSON.stringify([
        {
          type: 'send_email',
          id: 'm',
          template_id: null,
          subject: 'S',
          body: 'B',
          from: 'me@sender.example',
          from_name: null,
          reply_to: null,
        },
        {
          type: 'wait_for_event',
          id: 'w',
          event_name: 'paid',
          seconds: 3600,
          yes: [{ type: 'add_tag', id: 't', tag: 'paid' }],
          no: [],
        },
      ]),
    ])
    await enrol(id)
    await runSlice(parts)
    await track('paid')
    await dueNow(id)
    await runSlice(parts)
    await addDomain()
    await dueNow(id)
    await runSlice(parts)
    assert.deepEqual(await tags(), ['paid'])
  })
  it('the merged properties of many events stay small', async () => {
    await addContacts(1)
    const id = await make(Array.from({ length: 5 }, (_, i) => wait(`e${i}`, `t${i}`)))
    await enrol(id)
    for (let i = 0; i < 5; i++) await track(`e${i}`, { [`p${i}`]: 'x'.repeat(9000) })
    await runSlice(parts)
    assert.ok(JSON.stringify(await properties(id)).length < 25_000)
    assert.strictEqual(await count(id, 'completed'), 1)
  })

  type Happened = readonly (readonly [type: string, isMachine: boolean])[]
  const OPENINGS: readonly (readonly [what: string, events: Happened, tags: readonly string[]])[] = [
    ['nothing', [], []],
    [
      'a scanner',
      [
        ['email.opened', true],
        ['email.clicked', true],
      ],
      [],
    ],
    [
      'an open after the open of a scanner',
      [
        ['email.opened', true],
        ['email.opened', false],
      ],
      ['opened'],
    ],
    ['a click', [['email.clicked', false]], ['opened', 'clicked']],
  ]
  for (const [what, events, expected] of OPENINGS) {
    it(`conditions on opens and clicks see only actions of people: ${what}`, async () => {
      const asks = (type: string): object => ({ type: 'condition', condition: { type }, yes: [tag(type)], no: [] })
      await addContacts(1)
      await addDomain()
      const mail = { type: 'send_email', subject: 'S', body: 'B', from: 'me@sender.example' }
      const id = await make([mail, { type: 'delay', hours: 1 }, asks('opened'), asks('clicked')])
      await enrol(id)
      await runSlice(parts)
      for (const [type, isMachine] of events)
        await ctx.db.query(
          sql`
            INSERT INTO events (id, workspace_id, type, message_id, data, created_at)
            SELECT $1, workspace_id, $2, id, $3, now()
            FROM messages
            WHERE workspace_id = $4
          `,
          [newId(), type, JSON.stringify({ machine: isMachine }), workspaceId],
        )
      await dueNow(id)
      await runSlice(parts)
      assert.deepEqual([await tags(), await count(id, 'completed')], [expected, 1])
    })
  }
})
