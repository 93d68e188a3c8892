import { assert } from 'chai'
import fc from 'fast-check'
import { createAudience } from '#src/contacts/audiences.ts'
import { saveContacts, type ContactRow } from '#src/contacts/save-contacts.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { compileSegment } from './compile-filter.ts'
import { filterOf, filters } from './filter.test-data.ts'
import { countSelection, readSlice } from './selection.ts'

const NOW = Date.UTC(2026, 0, 1)
const DAY_MS = 24 * 3600 * 1000

describe('segments', () => {
  const NASTY = fc.constantFrom(
    `'`,
    `''; DROP TABLE contacts; --`,
    `$1`,
    `\\`,
    `") OR true --`,
    `%`,
    `_`,
    `{}`,
    `]`,
    'a',
    'plan',
    'vip',
    '42',
    'ß',
    '__proto__',
    'constructor',
  )
  const AUDIENCE = newId()
  let ctx: TestContext
  let workspaceId: string
  let audienceId: string
  const emails = ['anna@x.example', 'ben@x.example', 'cleo@y.example', 'dora@y.example']
  before(async () => {
    ctx = await createContext()
    workspaceId = await ctx.newWorkspace()
    audienceId = (
      await createAudience(ctx.db, workspaceId, { name: 'a', description: null, isDoubleOptIn: false }, new Date())
    ).id
    const rows: ContactRow[] = [
      {
        email: 'anna@x.example',
        firstName: 'Anna',
        tags: ['vip', 'it'],
        customAttributes: { plan: 'pro', age: 42, size: '9', deep: { a: 1 } },
      },
      {
        email: 'ben@x.example',
        firstName: `O'Ben`,
        tags: ['vip'],
        customAttributes: { plan: 'free', age: 9, ok: true },
      },
      { email: 'cleo@y.example', customAttributes: { plan: null, age: 'old' } },
    ]
    await ctx.db.transaction((tx) => saveContacts(tx, { workspaceId, audienceId, now: new Date() }, rows))
    await ctx.db.transaction((tx) =>
      saveContacts(tx, { workspaceId, audienceId: null, now: new Date() }, [{ email: 'dora@y.example' }]),
    )
    await ctx.db.query(`UPDATE memberships SET is_subscribed = false WHERE email = 'ben@x.example'`)
    await ctx.db.query(`UPDATE contacts SET created_at = '2025-12-31T00:00:00Z' WHERE email = 'dora@y.example'`)
    await ctx.db.query(`UPDATE contacts SET score = 0.5 WHERE email = 'anna@x.example'`)
    await ctx.db.query(
      `INSERT INTO suppressions (workspace_id, address, cause) VALUES ($1, 'cleo@y.example', 'test')`,
      [workspaceId],
    )
    await ctx.db.query(
      sql`
        INSERT INTO recipients (
          message_id, n, workspace_id, tier, kind, address, domain, state, is_open, due_at, is_only, updated_at
        )
        SELECT $1, n, $2, 'bulk', 'to', address, 'x.example', state, false, now(), false, now()
        FROM (
          VALUES (0, 'Anna@x.example', 'delivered'), (1, 'ben@x.example', 'bounced'),
            (2, 'cleo@y.example', 'suppressed')
        ) v (n, address, state)
      `,
      [newId(), workspaceId],
    )
    await ctx.db.query(
      sql`
        INSERT INTO events (id, workspace_id, type, recipient, created_at)
        VALUES ($1, $2, 'email.opened', 'anna@x.example', now())
      `,
      [newId(), workspaceId],
    )
    // an open by a scanner does not count
    await ctx.db.query(
      sql`
        INSERT INTO events (id, workspace_id, type, recipient, data, created_at)
        VALUES ($1, $2, 'email.opened', 'ben@x.example', '{"machine": true}', now())
      `,
      [newId(), workspaceId],
    )
  })
  after(() => ctx.close())

  async function find(given: unknown, inAudience = false): Promise<string[]> {
    const selection = {
      workspaceId,
      audienceId: inAudience ? audienceId : null,
      filter: filterOf(given),
      isSubscribedOnly: false,
    }
    const order = { columns: 'c.email', after: null, limit: 100, nowMs: Date.now() }
    const rows = await readSlice<{ email: string }>(ctx.db, selection, order)
    assert.strictEqual(await countSelection(ctx.db, selection, Date.now()), rows.length)
    return rows.map(({ email }) => email.slice(0, email.indexOf('@'))).toSorted()
  }

  const CASES: readonly (readonly [unknown, readonly string[]])[] = [
    [{ all: [] }, ['anna', 'ben', 'cleo', 'dora']],
    [{ any: [] }, []],
    [{ tag: 'vip' }, ['anna', 'ben']],
    [{ tag: 'vip', has: false }, ['cleo', 'dora']],
    [{ all: [{ tag: 'vip' }, { not: { tag: 'it' } }] }, ['ben']],
    [{ attribute: 'plan', value: 'pro' }, ['anna']],
    [{ attribute: 'plan', op: 'ne', value: 'pro' }, ['ben', 'cleo', 'dora']],
    [{ attribute: 'age', op: 'gt', value: 9 }, ['anna']],
    [{ attribute: 'age', op: 'lt', value: 42 }, ['ben']],
    [{ attribute: 'age', value: 42 }, ['anna']],
    [{ attribute: 'age', op: 'ne', value: 42 }, ['ben', 'cleo', 'dora']],
    [{ attribute: 'size', op: 'lt', value: 10 }, ['anna']],
    [{ attribute: 'ok', value: true }, ['ben']],
    [{ attribute: 'plan', op: 'contains', value: 'R' }, ['anna', 'ben']],
    [{ attribute: 'age', op: 'exists' }, ['anna', 'ben', 'cleo']],
    [{ attribute: 'plan', op: 'exists', value: false }, ['cleo', 'dora']],
    [{ field: 'firstName', op: 'contains', value: `o'b` }, ['ben']],
    [{ field: 'firstName', op: 'exists', value: false }, ['cleo', 'dora']],
    [{ field: 'email', op: 'gt', value: 'c' }, ['cleo', 'dora']],
    [{ field: 'score', op: 'gt', value: 0.4 }, ['anna']],
    [{ field: 'createdAt', op: 'before', value: '2026-01-01T00:00:00Z' }, ['dora']],
    [{ status: 'subscribed' }, ['anna', 'cleo']],
    [{ status: 'unsubscribed' }, ['ben']],
    [{ status: 'member', audienceId: newId() }, []],
    [{ not: { status: 'member' } }, ['dora']],
    [{ status: 'blocked' }, ['cleo']],
    [{ activity: 'delivered' }, ['anna']],
    [{ activity: 'bounced', withinDays: 7 }, ['ben']],
    [{ not: { activity: 'mailed' } }, ['cleo', 'dora']],
    [{ activity: 'opened', withinDays: 1 }, ['anna']],
    [{ activity: 'clicked' }, []],
  ]
  for (const [given, expected] of CASES) {
    it(`${JSON.stringify(given)}: ${expected.join(', ') || 'nobody'}`, async () => {
      assert.deepEqual(await find(given), expected)
      assert.deepEqual(
        await find(given, true),
        expected.filter((name) => name !== 'dora'),
      )
    })
  }

  it('activity before the given days does not count', async () => {
    ctx.advance(40 * DAY_MS)
    const filter = filterOf({
      any: [
        { activity: 'delivered', withinDays: 30 },
        { activity: 'opened', withinDays: 30 },
      ],
    })
    assert.strictEqual(
      await countSelection(ctx.db, { workspaceId, audienceId: null, filter, isSubscribedOnly: false }, ctx.clock.now()),
      0,
    )
  })

  it('another workspace has none of these contacts', async () => {
    const selection = {
      workspaceId: await ctx.newWorkspace(),
      audienceId,
      filter: filterOf({ all: [] }),
      isSubscribedOnly: false,
    }
    assert.strictEqual(await countSelection(ctx.db, selection, NOW), 0)
    assert.strictEqual(await countSelection(ctx.db, { ...selection, audienceId: null }, NOW), 0)
  })

  it('the SQL text depends only on the shape of the filter: it contains no name or value of the caller', () => {
    fc.assert(
      fc.property(filters(NASTY, fc.constant(AUDIENCE)), (given) => {
        const plain = filterOf(
          JSON.parse(JSON.stringify(given), (key, value: unknown) =>
            typeof value === 'string' &&
            (key === 'tag' || key === 'attribute' || (key === 'value' && !value.startsWith('2026')))
              ? 'x'
              : value,
          ),
        )
        const [hostile, harmless] = [
          compileSegment(filterOf(given), { nowMs: NOW, first: 3 }),
          compileSegment(plain, { nowMs: NOW, first: 3 }),
        ]
        assert.strictEqual(hostile.sql, harmless.sql)
        assert.deepEqual(
          [...hostile.sql.matchAll(/\$(\d+)/g)].map(([, n]) => Number(n)).filter((n, i, all) => all.indexOf(n) === i),
          hostile.values.map((_, i) => i + 3),
        )
      }),
      { numRuns: 500 },
    )
  })

  it('every filter runs, and every contact matches it or its negation', async () => {
    await fc.assert(
      fc.asyncProperty(filters(NASTY, fc.constantFrom(AUDIENCE, audienceId)), async (given) => {
        const both = [...(await find(given)), ...(await find({ not: given }))].toSorted()
        assert.deepEqual(
          both,
          emails.map((email) => email.slice(0, email.indexOf('@'))),
        )
      }),
      { numRuns: 60 },
    )
  })
})
