import { assert } from 'chai'
import fc from 'fast-check'
import { createAudience } from '#src/contacts/audiences.ts'
import { saveContacts, type ContactRow } from '#src/contacts/save-contacts.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { compileSegment } from './compile-filter.ts'
import { ACTIVITIES, SEGMENT_FIELDS, OPERATORS, readFilter, STATUSES, type Filter } from './filter.ts'
import { countSelection, readSlice } from './selection.ts'

const NOW = Date.UTC(2026, 0, 1)
const DAY_MS = 24 * 3600 * 1000

function filterOf(given: unknown): Filter {
  const read = readFilter(given)
  return read.ok ? read.filter : assert.fail(JSON.stringify(read.details))
}

describe('filters', () => {
  const CANONICAL: readonly (readonly [unknown, Filter])[] = [
    [{ tag: 'vip' }, { tag: 'vip', has: true }],
    [
      { attribute: 'plan', value: 'pro' },
      { attribute: 'plan', op: 'eq', value: 'pro' },
    ],
    [
      { attribute: 'plan', op: 'exists' },
      { attribute: 'plan', op: 'exists', value: true },
    ],
    [
      { field: 'first_name', op: 'contains', value: 'a' },
      { field: 'firstName', op: 'contains', value: 'a' },
    ],
    [
      { field: 'deliverability_score', op: 'gt', value: 0.5 },
      { field: 'score', op: 'gt', value: 0.5 },
    ],
    [
      { field: 'created_at', op: 'before', value: '2026-01-01' },
      { field: 'createdAt', op: 'lt', value: '2026-01-01T00:00:00.000Z' },
    ],
    [{ status: 'subscribed' }, { status: 'subscribed', audienceId: null }],
    [
      { activity: 'opened', within_days: 30 },
      { activity: 'opened', withinDays: 30 },
    ],
    [{ not: { any: [{ tag: 'a', has: false }] } }, { not: { any: [{ tag: 'a', has: false }] } }],
    [{ all: [] }, { all: [] }],
  ]
  for (const [given, expected] of CANONICAL)
    it(`${JSON.stringify(given)} is accepted`, () => assert.deepEqual(filterOf(given), expected))

  const nested = (levels: number): unknown => (levels === 0 ? { tag: 'a' } : { not: nested(levels - 1) })
  const WRONG: readonly (readonly [unknown, string, RegExp])[] = [
    [null, 'filter', /must be an object/],
    [[], 'filter', /must be an object/],
    [{}, 'filter', /must have one of/],
    [{ tag: 'a', field: 'email' }, 'filter', /must have one of/],
    [{ all: {} }, 'filter.all', /list/],
    [{ all: [{ tag: 'a' }, { tag: '' }] }, 'filter.all.1.tag', /is empty/],
    [{ field: 'password', value: 'x' }, 'filter.field', /must be one of/],
    [{ field: 'email; DROP TABLE contacts', value: 'x' }, 'filter.field', /must be one of/],
    [{ field: 'constructor', value: 'x' }, 'filter.field', /must be one of/],
    [{ field: 'email', op: 'like', value: 'x' }, 'filter.op', /must be one of/],
    [{ field: 'score', value: 'x' }, 'filter.value', /must be a number/],
    [{ field: 'score', op: 'contains', value: 1 }, 'filter.op', /texts/],
    [{ field: 'createdAt', op: 'before', value: 'yesterday' }, 'filter.value', /ISO 8601/],
    [{ field: 'email', op: 'eq' }, 'filter.value', /is required/],
    [{ field: 'email', op: 'exists', value: 'x' }, 'filter.value', /true or false/],
    [{ status: 'gone' }, 'filter.status', /must be one of/],
    [{ status: 'member', audienceId: 'x' }, 'filter.audienceId', /UUID/],
    [{ activity: 'opened', withinDays: 0 }, 'filter.withinDays', /at least 1/],
    [{ tag: 'x'.repeat(501) }, 'filter.tag', /at most 500/],
    [{ tag: 'a\0' }, 'filter.tag', /characters/],
    [nested(6), 'filter.not.not.not.not.not.not', /deeper than 6/],
    [nested(1000), 'filter.not.not.not.not.not.not', /deeper than 6/],
    [{ any: Array.from({ length: 100_000 }, () => ({ tag: 'a' })) }, 'filter', /at most 50 conditions/],
    [{ any: Array.from({ length: 6 }, () => ({ activity: 'opened' })) }, 'filter', /at most 5 conditions on activity/],
  ]
  for (const [given, path, message] of WRONG) {
    it(`${JSON.stringify(given)?.slice(0, 60)} is rejected: ${message.source}`, () => {
      const read = readFilter(given)
      assert.ok(!read.ok)
      assert.strictEqual(read.details[0]?.path, path)
      assert.match(read.details[0].message, message)
    })
  }

  it('any JSON is accepted or rejected, never an exception', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (given) => {
        readFilter(given)
      }),
    )
  })
})

/** Random filters of all kinds; names and values are drawn from `texts`. */
function filters(texts: fc.Arbitrary<string>, audiences: fc.Arbitrary<string>): fc.Arbitrary<unknown> {
  const value = fc.oneof(texts, fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e9, max: 1e9 }), fc.boolean())
  const textFields = Object.entries(SEGMENT_FIELDS)
    .filter(([, type]) => type === 'text')
    .map(([name]) => name)
  const leaf = fc.oneof(
    fc.record({ tag: texts, has: fc.boolean() }),
    fc.record({ attribute: texts, op: fc.constantFrom(...OPERATORS.filter((op) => op !== 'exists')), value }),
    fc.record({ attribute: texts, op: fc.constant('exists'), value: fc.boolean() }),
    fc.record({
      field: fc.constantFrom(...textFields),
      op: fc.constantFrom('eq', 'ne', 'gt', 'lt', 'contains'),
      value: texts,
    }),
    fc.record({
      field: fc.constantFrom(...Object.keys(SEGMENT_FIELDS)),
      op: fc.constant('exists'),
      value: fc.boolean(),
    }),
    fc.record({
      field: fc.constant('score'),
      op: fc.constantFrom('eq', 'ne', 'gt', 'lt'),
      value: fc.constantFrom(0, 0.5, 1),
    }),
    fc.record({
      field: fc.constantFrom('createdAt', 'updatedAt'),
      op: fc.constantFrom('before', 'after'),
      value: fc.constant('2026-01-01T00:00:00Z'),
    }),
    fc.record({ status: fc.constantFrom(...STATUSES), audienceId: fc.option(audiences) }),
    fc.record({ activity: fc.constantFrom(...ACTIVITIES), withinDays: fc.option(fc.integer({ min: 1, max: 100 })) }),
  )
  const group = (inner: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
    fc.oneof(
      fc.record({ all: fc.array(inner, { maxLength: 3 }) }),
      fc.record({ any: fc.array(inner, { maxLength: 3 }) }),
      fc.record({ not: inner }),
    )
  return fc.oneof(leaf, group(leaf), group(group(leaf)))
}

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
