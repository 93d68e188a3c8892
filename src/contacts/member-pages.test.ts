/**
 * Pages, counts and the pagination index under random changes: after any sequence of adding, removing, renaming,
 * unsubscribing, applying counter deltas and rebuilding the index, every page in every sort order equals a slice of the
 * sorted list of all members, and the counts equal a full count.
 */
import { assert } from 'chai'
import fc from 'fast-check'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { createAudience, deleteAudience } from './audiences.ts'
import { purgeDeletedAudiences } from './purge-contacts.ts'
import { applyCounterDeltas } from './apply-counter-deltas.ts'
import { rebuildPaginationIndex } from './pagination-index.ts'
import type { MemberPage, MemberQuery } from './audience-member.ts'
import { createMemberLister } from './member-pages.ts'
import { saveContacts } from './save-contacts.ts'
import { MEMBER_SORTS, type MemberSort } from './member-sorts.ts'

/** The sort expressions of the model, on the contacts themselves. */
const SQL: Readonly<Record<MemberSort, string>> = {
  createdAt: 'c.id',
  email: 'c.email',
  firstName: `lower(left(coalesce(c.first_name, ''), 64)) COLLATE "C"`,
  lastName: `lower(left(coalesce(c.last_name, ''), 64)) COLLATE "C"`,
  deliverabilityScore: 'coalesce(c.score, 0)',
}
const DEADLOCK = '40P01'
const NAMES = ['', 'anna', 'Bert', 'zoë', 'Ω', 'smith', 'Smith', 'x'.repeat(70)]

describe('pages of an audience', () => {
  let ctx: TestContext
  let workspaceId: string
  let audienceId: string
  let serial = 0
  before(async () => {
    ctx = await createContext()
    workspaceId = await ctx.newWorkspace()
  })
  after(() => ctx.close())

  const newAudience = async (): Promise<string> =>
    (await createAudience(ctx.db, workspaceId, { name: 'a', description: null, isDoubleOptIn: false }, new Date())).id

  /**
   * Changes many rows. Such statements lock members in no certain order, so PostgreSQL may cancel one of two at the
   * same time, and its client repeats it.
   */
  async function change(statement: string, values: readonly unknown[] = []): Promise<unknown> {
    for (;;)
      try {
        return await ctx.db.query(statement, [...values])
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && error.code === DEADLOCK)) throw error
      }
  }

  /** Adds contacts, spread over all names. `isBulk` records only sums as counter deltas. */
  async function add(count: number, isBulk: boolean): Promise<void> {
    const rows = Array.from({ length: count }, (_, i) => {
      const n = serial++
      return {
        email: `${(n * 7919) % 10_007}.${n}@x.example`,
        firstName: NAMES[i % NAMES.length] ?? '',
        lastName: `l${n % 97}`,
      }
    })
    await ctx.db.transaction((tx) => saveContacts(tx, { workspaceId, audienceId, now: new Date() }, rows, { isBulk }))
    await change(
      'UPDATE contacts SET score = (hashtext(email) & 1023) / 1023.0 WHERE workspace_id = $1 AND score IS NULL',
      [workspaceId],
    )
  }

  /** Selects some of the members, by a number. */
  const some = (n: number): string =>
    `audience_id = '${audienceId}' AND (hashtext(contact_id::text) & 1023) BETWEEN ${n} AND ${n + 40}`
  const remove = (n: number): Promise<unknown> => change(`DELETE FROM memberships WHERE ${some(n)}`)
  const toggle = (n: number): Promise<unknown> =>
    change(`UPDATE memberships SET is_subscribed = NOT is_subscribed WHERE ${some(n)}`)
  const rename = (n: number): Promise<unknown> =>
    ctx.db.query(sql`
      UPDATE contacts
      SET first_name = 'Renamed', last_name = NULL, email = 'r' || email, score = 0.25 + score / 2
      WHERE id IN (SELECT contact_id FROM memberships WHERE ${some(n)})
    `)
  const applyDeltas = async (): Promise<void> => {
    while ((await applyCounterDeltas(ctx)) === 'more') continue
  }

  const page = (query: Partial<MemberQuery>): Promise<MemberPage | null> =>
    createMemberLister(ctx.db, 0)(workspaceId, {
      keyId: newId(),
      audienceId,
      page: 1,
      limit: 1000,
      sort: 'createdAt',
      direction: 'asc',
      isSubscribedOnly: false,
      ...query,
    })

  /** Checks the first limit ascending, the second descending. */
  async function check(sort: MemberSort, isSubscribedOnly: boolean, limits: readonly number[]): Promise<void> {
    const { rows } = await ctx.db.query<{ id: string }>(
      sql`
        SELECT c.id
        FROM memberships m
        JOIN contacts c ON c.id = m.contact_id
        WHERE m.audience_id = $1 AND (m.is_subscribed OR NOT $2)
        ORDER BY ${SQL[sort]}, c.id
      `,
      [audienceId, isSubscribedOnly],
    )
    const ids = rows.map(({ id }) => id)
    for (const [i, limit] of limits.entries()) {
      const keyId = newId()
      const direction = i % 2 === 0 ? 'asc' : 'desc'
      const model = direction === 'asc' ? ids : ids.toReversed()
      const pages = Math.ceil(model.length / limit)
      // all pages if there are few, else a sample
      for (let number = 1; number <= pages + 1; number += Math.max(1, Math.floor(pages / 4))) {
        const found = await page({ keyId, page: number, limit, sort, direction, isSubscribedOnly })
        assert.strictEqual(found?.total, model.length)
        assert.deepEqual(
          found.members.map(({ id }) => id),
          model.slice((number - 1) * limit, number * limit),
          `page ${number} of ${limit}, ${sort} ${direction} ${isSubscribedOnly ? 'subscribed' : 'all'}`,
        )
      }
    }
  }

  const step = fc.oneof(
    fc.record({ do: fc.constant('add' as const), n: fc.integer({ min: 1, max: 2500 }) }),
    fc.record({ do: fc.constant('bulk' as const), n: fc.integer({ min: 1, max: 1000 }) }),
    fc.record({
      do: fc.constantFrom('remove' as const, 'toggle' as const, 'rename' as const),
      n: fc.integer({ min: 0, max: 1000 }),
    }),
    fc.record({
      do: fc.constantFrom('applyDeltas' as const, 'applyDeltas' as const, 'rebuild' as const),
      n: fc.constant(0),
    }),
  )
  const STEPS: Readonly<Record<string, (n: number) => Promise<unknown>>> = {
    add: (n) => add(n, false),
    bulk: (n) => add(n, true),
    remove,
    toggle,
    rename,
    applyDeltas,
    rebuild: () => rebuildPaginationIndex(ctx, audienceId),
  }

  it('equal slices of the sorted list after any sequence of changes', async () => {
    const sequences = fc.array(step, { minLength: 3, maxLength: 6 })
    await fc.assert(
      fc.asyncProperty(sequences, fc.integer({ min: 20, max: 90 }), async (steps, limit) => {
        audienceId = await newAudience()
        await add(7000, true)
        await rebuildPaginationIndex(ctx, audienceId)
        for (const one of steps) await STEPS[one.do]?.(one.n)
        for (const sort of MEMBER_SORTS)
          for (const isSubscribedOnly of [false, true]) await check(sort, isSubscribedOnly, [limit, 1000])
        await applyDeltas()
        for (const sort of MEMBER_SORTS) await check(sort, false, [1000, limit])
      }),
      { numRuns: 3 },
    )
  })

  it('oversized blocks are split, and the markers stay exact', async () => {
    audienceId = await newAudience()
    await add(5000, true)
    await rebuildPaginationIndex(ctx, audienceId)
    for (let i = 0; i < 4; i++) {
      await add(1500, false)
      await applyDeltas()
    }
    const { rows } = await ctx.db.query<{ sort: string; largest: number; sum: number; blocks: number }>(
      sql`
        SELECT sort, max(total) AS largest, sum(total) AS sum, count(*) AS blocks
        FROM audience_marks
        WHERE audience_id = $1
        GROUP BY sort
      `,
      [audienceId],
    )
    assert.strictEqual(rows.length, MEMBER_SORTS.length)
    for (const { sort, largest, sum, blocks } of rows)
      assert.ok(largest <= 2000 && sum === 11_000 && blocks > 5, `${sort}: ${largest} of ${sum} in ${blocks}`)
    for (const sort of MEMBER_SORTS) await check(sort, false, [70, 1000])
  })

  it('a small audience has no index; one that has grown is indexed once it is quiet', async () => {
    audienceId = await newAudience()
    const isMarked = async (): Promise<unknown> =>
      (await ctx.db.query<{ is_marked: boolean }>('SELECT is_marked FROM audiences WHERE id = $1', [audienceId]))
        .rows[0]?.is_marked
    await add(4000, false)
    await applyDeltas()
    assert.strictEqual(await isMarked(), false)
    await add(4000, true)
    await applyCounterDeltas(ctx)
    assert.strictEqual(await isMarked(), false, 'a large statement has just changed it')
    await applyCounterDeltas(ctx)
    assert.strictEqual(await isMarked(), true)
  })

  it('concurrent additions, delta batches and rebuilds lose no count', async () => {
    audienceId = await newAudience()
    await add(6000, true)
    await rebuildPaginationIndex(ctx, audienceId)
    await Promise.all([
      ...Array.from({ length: 8 }, (_, i) => add(300, i % 3 === 0)),
      ...Array.from({ length: 4 }, () => applyDeltas()),
      remove(100),
      toggle(500),
      rebuildPaginationIndex(ctx, audienceId),
      rebuildPaginationIndex(ctx, audienceId),
    ])
    for (const sort of MEMBER_SORTS) await check(sort, false, [80, 1000])
    await applyDeltas()
    for (const sort of MEMBER_SORTS) await check(sort, true, [80, 1000])
    const { rows } = await ctx.db.query(
      sql`
        SELECT 1
        FROM audiences a
        WHERE id = $1
          AND contact_count = (SELECT count(*) FROM memberships WHERE audience_id = $1)
          AND subscribed_count = (SELECT count(*) FROM memberships WHERE audience_id = $1 AND is_subscribed)
      `,
      [audienceId],
    )
    assert.strictEqual(rows.length, 1)
  })

  it('another workspace and a deleted audience have no pages', async () => {
    audienceId = await newAudience()
    const query: MemberQuery = {
      keyId: newId(),
      audienceId,
      page: 1,
      limit: 5,
      sort: 'email',
      direction: 'asc',
      isSubscribedOnly: false,
    }
    assert.strictEqual(await createMemberLister(ctx.db)(newId(), query), null)
    assert.deepEqual(await page({ page: 7 }), { members: [], total: 0 })
    await deleteAudience(ctx.db, workspaceId, audienceId)
    assert.strictEqual(await page({}), null)
  })

  it('a deleted audience is purged, with the contacts that were in no other audience', async () => {
    workspaceId = await ctx.newWorkspace()
    const [first, second] = [await newAudience(), await newAudience()]
    audienceId = first
    await add(4500, false)
    const retained = { email: 'kept@x.example' }
    for (const id of [first, second])
      await ctx.db.transaction((tx) => saveContacts(tx, { workspaceId, audienceId: id, now: new Date() }, [retained]))
    await deleteAudience(ctx.db, workspaceId, first)
    while (await purgeDeletedAudiences(ctx.db)) continue
    await applyDeltas()
    const left = await ctx.db.query<{ email: string }>('SELECT email FROM contacts WHERE workspace_id = $1', [
      workspaceId,
    ])
    assert.deepEqual(left.rows, [retained])
    for (const table of ['memberships', 'membership_changes', 'audience_marks'])
      assert.strictEqual(
        (await ctx.db.query(`SELECT 1 FROM ${table} WHERE audience_id = $1`, [first])).rows.length,
        0,
        table,
      )
  })
})
