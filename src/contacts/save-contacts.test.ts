/** Saving contacts: what is stored, what is cleared, who joins, and concurrent saves. */
import { assert } from 'chai'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { createAudience, deleteAudience, findAudience } from './audiences.ts'
import { changeContact, deleteContact, updateContact } from './change-contact.ts'
import { subscribe, unsubscribe } from './membership.ts'
import { saveContacts, type ContactRow, type SavedContact } from './save-contacts.ts'

describe('saving contacts', () => {
  let ctx: TestContext
  let workspaceId: string
  let audienceId: string
  before(async () => {
    ctx = await createContext()
  })
  after(() => ctx.close())
  beforeEach(async () => {
    workspaceId = await ctx.newWorkspace()
    audienceId = await newAudience()
  })

  const now = new Date()
  const newAudience = async (): Promise<string> =>
    (await createAudience(ctx.db, workspaceId, { name: 'a', description: null, isDoubleOptIn: false }, now)).id
  const save = async (rows: ContactRow[], target: string | null = audienceId): Promise<readonly SavedContact[]> => {
    const result = await ctx.db.transaction((tx) => saveContacts(tx, { workspaceId, audienceId: target, now }, rows))
    assert.ok(result.kind === 'saved')
    return result.contacts
  }
  const contactOf = async (email: string): Promise<Record<string, unknown>> =>
    (await ctx.db.query('SELECT * FROM contacts WHERE workspace_id = $1 AND email = $2', [workspaceId, email]))
      .rows[0] ?? {}
  const membersOf = async (audience: string): Promise<{ email: string; first_key: string; is_subscribed: boolean }[]> =>
    (
      await ctx.db.query<{ email: string; first_key: string; is_subscribed: boolean }>(
        'SELECT email, first_key, is_subscribed FROM memberships WHERE audience_id = $1 ORDER BY email',
        [audience],
      )
    ).rows
  const eventsOf = async (): Promise<{ type: string; recipient: string; data: unknown }[]> =>
    (
      await ctx.db.query<{ type: string; recipient: string; data: unknown }>(
        'SELECT type, recipient, data FROM events WHERE workspace_id = $1 ORDER BY id',
        [workspaceId],
      )
    ).rows
  const countOf = async (id = audienceId): Promise<number | undefined> =>
    (await findAudience(ctx.db, workspaceId, id))?.contactCount

  it('creates contacts, adds them to the audience, stores events and counts them', async () => {
    const saved = await save([
      { email: 'b@x.example', firstName: 'Bea', tags: ['one', 'a "b" \\', '{,}'], customAttributes: { plan: 'pro' } },
      { email: 'a@x.example' },
    ])
    assert.deepEqual(
      saved.map(({ isNew, isJoined }) => [isNew, isJoined]),
      [
        [true, true],
        [true, true],
      ],
    )
    const { first_name: firstName, tags, custom_attributes: attributes, id } = await contactOf('b@x.example')
    assert.deepEqual(
      [id, firstName, tags, attributes],
      [saved[0]?.contactId, 'Bea', ['one', 'a "b" \\', '{,}'], { plan: 'pro' }],
    )
    assert.strictEqual(await countOf(), 2)
    const joinedEvent = (await eventsOf()).find(({ recipient }) => recipient === 'b@x.example')
    assert.deepEqual(joinedEvent, {
      type: 'contact.subscribed',
      recipient: 'b@x.example',
      data: { email: 'b@x.example', contact_id: saved[0]?.contactId, audience_id: audienceId },
    })
  })

  it('an omitted field stays, null clears it, attributes are merged, tags are replaced', async () => {
    const email = 'a@x.example'
    const before = {
      email,
      firstName: 'Ann',
      lastName: 'Lee',
      jobTitle: 'CTO',
      tags: ['x'],
      customAttributes: { a: 1, b: 2 },
    }
    const change = { email, firstName: null, jobTitle: 'CEO', tags: ['y', 'z'], customAttributes: { b: 3, c: null } }
    const first = await save([before])
    const again = await save([change])
    assert.deepEqual(again, [{ contactId: first[0]?.contactId, isNew: false, isJoined: false }])
    const row = await contactOf('a@x.example')
    assert.deepEqual(
      [row['first_name'], row['last_name'], row['job_title'], row['tags'], row['custom_attributes']],
      [null, 'Lee', 'CEO', ['y', 'z'], { a: 1, b: 3, c: null }],
    )
    await save([{ email: 'a@x.example', tags: null, customAttributes: null }])
    const cleared = await contactOf('a@x.example')
    assert.deepEqual([cleared['tags'], cleared['custom_attributes'], cleared['last_name']], [[], {}, 'Lee'])
    assert.strictEqual((await eventsOf()).length, 1)
  })

  it('rows with the same address are merged into one contact', async () => {
    const saved = await save([
      { email: 'a@x.example', firstName: 'One', customAttributes: { a: 1 } },
      { email: 'b@x.example' },
      { email: 'a@x.example', firstName: undefined, lastName: 'Two', customAttributes: { b: 2 } },
    ])
    assert.strictEqual(saved[0]?.contactId, saved[2]?.contactId)
    const row = await contactOf('a@x.example')
    assert.deepEqual([row['first_name'], row['last_name'], row['custom_attributes']], ['One', 'Two', { a: 1, b: 2 }])
  })

  it('an unsubscribed member stays unsubscribed; the public form resubscribes it', async () => {
    const [saved] = await save([{ email: 'a@x.example', firstName: 'Ann' }])
    const at = { workspaceId, audienceId, now }
    const contactId = saved?.contactId ?? ''
    const gone = await ctx.db.transaction((tx) => unsubscribe(tx, at, contactId))
    assert.strictEqual(gone?.hasChanged, true)
    assert.strictEqual((await ctx.db.transaction((tx) => unsubscribe(tx, at, contactId)))?.hasChanged, false)
    await save([{ email: 'a@x.example' }])
    assert.deepEqual(
      (await membersOf(audienceId)).map((one) => one.is_subscribed),
      [false],
    )
    const back = await ctx.db.transaction((tx) =>
      subscribe(tx, at, { email: 'a@x.example', firstName: 'Mallory', lastName: 'Lee' }),
    )
    assert.ok(back.kind === 'subscribed' && back.hasChanged && back.contactId === contactId)
    assert.deepEqual(
      (await membersOf(audienceId)).map((one) => one.is_subscribed),
      [true],
    )
    const row = await contactOf('a@x.example')
    assert.deepEqual([row['first_name'], row['last_name']], ['Ann', 'Lee'], 'the form does not overwrite stored names')
    const twice = await ctx.db.transaction((tx) => subscribe(tx, at, { email: 'a@x.example' }))
    assert.ok(twice.kind === 'subscribed' && !twice.hasChanged)
    assert.deepEqual(
      (await eventsOf()).map(({ type }) => type),
      ['contact.subscribed', 'contact.unsubscribed', 'contact.subscribed'],
    )
  })

  it('a change of a contact updates the sort keys of all its memberships', async () => {
    const other = await newAudience()
    const [saved] = await save([{ email: 'a@x.example', firstName: 'Ann' }])
    await save([{ email: 'a@x.example' }], other)
    const at = { workspaceId, audienceId: null, now }
    const change = { email: 'z@x.example', firstName: 'ZOE' }
    await ctx.db.transaction((tx) => updateContact(tx, at, saved?.contactId ?? '', change))
    for (const audience of [audienceId, other])
      assert.deepEqual(await membersOf(audience), [{ email: 'z@x.example', first_key: 'zoe', is_subscribed: true }])
    await save([{ email: 'z@x.example', firstName: null }], null)
    assert.strictEqual((await membersOf(other))[0]?.first_key, '')
    await ctx.db.query('UPDATE contacts SET score = 0.5 WHERE id = $1', [saved?.contactId])
    const { rows } = await ctx.db.query('SELECT DISTINCT score FROM memberships WHERE contact_id = $1', [
      saved?.contactId,
    ])
    assert.deepEqual(rows, [{ score: 0.5 }])
  })

  it("another workspace's audience and a deleted audience are not found, and nothing is stored", async () => {
    const otherWorkspace = await ctx.newWorkspace()
    const rows = [{ email: 'a@x.example' }]
    const foreign = await ctx.db.transaction((tx) =>
      saveContacts(tx, { workspaceId: otherWorkspace, audienceId, now }, rows),
    )
    assert.deepEqual(foreign, { kind: 'no audience' })
    assert.strictEqual(await deleteAudience(ctx.db, otherWorkspace, audienceId), false)
    assert.strictEqual(await deleteAudience(ctx.db, workspaceId, audienceId), true)
    assert.strictEqual(await deleteAudience(ctx.db, workspaceId, audienceId), false)
    const gone = await ctx.db.transaction((tx) => saveContacts(tx, { workspaceId, audienceId, now }, rows))
    assert.deepEqual(gone, { kind: 'no audience' })
    assert.deepEqual(await contactOf('a@x.example'), {})
  })

  it('a contact that was only in a deleted audience starts afresh; one in another audience stays', async () => {
    const other = await newAudience()
    const [orphan, retained] = await save([
      { email: 'orphan@x.example', firstName: 'Old' },
      { email: 'kept@x.example', firstName: 'Kept' },
    ])
    await save([{ email: 'kept@x.example' }], other)
    await deleteAudience(ctx.db, workspaceId, audienceId)
    const change = (id = ''): Promise<unknown> =>
      ctx.db.transaction((tx) =>
        updateContact(tx, { workspaceId, audienceId: null, now }, id, { lastName: 'x' }).then(({ kind }) => kind),
      )
    assert.deepEqual([await change(orphan?.contactId), await change(retained?.contactId)], ['no contact', 'changed'])
    const [again, same] = await save([{ email: 'orphan@x.example' }, { email: 'kept@x.example' }], other)
    assert.ok(again?.isNew && again.contactId !== orphan?.contactId)
    assert.deepEqual(same, { contactId: retained?.contactId, isNew: false, isJoined: false })
    assert.strictEqual((await contactOf('orphan@x.example'))['first_name'], null)
  })

  it('fifty concurrent saves of one address create one contact', async () => {
    const all = await Promise.all(Array.from({ length: 50 }, () => save([{ email: 'same@x.example' }])))
    assert.strictEqual(new Set(all.map(([one]) => one?.contactId)).size, 1)
    assert.strictEqual(all.filter(([one]) => one?.isJoined).length, 1)
    assert.deepEqual([await countOf(), (await membersOf(audienceId)).length, (await eventsOf()).length], [1, 1, 1])
  })

  it('batches in opposite orders, deletions and automation steps do not deadlock', async () => {
    const emails = Array.from({ length: 60 }, (_, i) => `m${i}@x.example`)
    const ids = (await save(emails.map((email) => ({ email })))).map(({ contactId }) => contactId)
    const extra = Array.from({ length: 20 }, (_, i) => `n${i}@x.example`)
    const rounds = Array.from({ length: 12 }, (_, i) => {
      const rows = [...emails, ...extra].map((email) => ({ email, firstName: `r${i}` }))
      return save(i % 2 === 0 ? rows : rows.toReversed())
    })
    const at = { workspaceId, now }
    const single = ids.slice(0, 20).map((id, i) =>
      ctx.db.transaction(async (tx) => {
        if (i % 2 === 0) await changeContact(tx, at, id, { addTags: ['t'], leaveAudience: audienceId })
        else await deleteContact(tx, workspaceId, id)
      }),
    )
    await Promise.all([...rounds, ...single])
    assert.strictEqual(await countOf(), (await membersOf(audienceId)).length)
  })

  it('an audience that is deleted while members are added keeps no visible member', async () => {
    const audiences = await Promise.all(Array.from({ length: 10 }, () => newAudience()))
    await Promise.all(
      audiences.flatMap((id, i) => [
        ctx.db.transaction((tx) =>
          saveContacts(tx, { workspaceId, audienceId: id, now }, [{ email: `r${i}@x.example` }]),
        ),
        deleteAudience(ctx.db, workspaceId, id),
      ]),
    )
    const late = await ctx.db.query(
      sql`
        SELECT 1
        FROM memberships m
        LEFT JOIN audiences a ON a.id = m.audience_id
        WHERE m.workspace_id = $1 AND a.deleted_at IS NULL
      `,
      [workspaceId],
    )
    assert.strictEqual(late.rows.length, 0)
  })

  it('automation steps change tags, attributes and audiences', async () => {
    const other = await newAudience()
    const [saved] = await save([{ email: 'a@x.example', tags: ['x', 'y'] }])
    const id = saved?.contactId ?? ''
    const change = (steps: object): Promise<string> =>
      ctx.db.transaction((tx) => changeContact(tx, { workspaceId, now }, id, steps)).then(({ kind }) => kind)
    const all = {
      addTags: ['z', 'x'],
      removeTags: ['y'],
      attributes: { a: 1 },
      joinAudience: other,
      leaveAudience: audienceId,
    }
    assert.strictEqual(await change(all), 'changed')
    const row = await contactOf('a@x.example')
    assert.deepEqual([row['tags'], row['custom_attributes']], [['x', 'z'], { a: 1 }])
    assert.deepEqual([await countOf(), await countOf(other)], [0, 1])
    assert.strictEqual(await change({ leaveAudience: other }), 'changed')
    assert.notDeepEqual(await contactOf('a@x.example'), {}, 'the contact stays without an audience')
    assert.strictEqual(await change({ joinAudience: newId() }), 'no audience')
    await ctx.db.transaction((tx) => deleteContact(tx, workspaceId, id))
    assert.strictEqual(await change({ addTags: ['z'] }), 'no contact')
  })

  it('a contact stays when it leaves its last audience while a deleted one is not purged yet', async () => {
    const other = await newAudience()
    const [saved] = await save([{ email: 'a@x.example' }])
    await save([{ email: 'a@x.example' }], other)
    await deleteAudience(ctx.db, workspaceId, audienceId)
    const steps = (leaveAudience: string): Promise<unknown> =>
      ctx.db.transaction((tx) => changeContact(tx, { workspaceId, now }, saved?.contactId ?? '', { leaveAudience }))
    assert.strictEqual(((await steps(other)) as { kind: string }).kind, 'changed')
    assert.strictEqual(((await steps(other)) as { kind: string }).kind, 'changed', 'it is still there')
  })

  it('attributes are limited to 64 KB even if they are added in several saves', async () => {
    const chunk = (i: number): ContactRow => ({
      email: 'a@x.example',
      customAttributes: { [`k${i}`]: 'x'.repeat(30_000) },
    })
    await save([chunk(1)])
    await save([chunk(2)])
    await assert.isRejected(save([chunk(3)]), /contacts_attributes_size/)
  })
})
