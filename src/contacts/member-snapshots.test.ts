/** Pages in the order of scores: exactly the members of the first page's moment, whatever changes meanwhile. */
import { assert } from 'chai'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import type { AudienceMember, MemberPage, MemberQuery } from './audience-member.ts'
import { createAudience } from './audiences.ts'
import { createMemberLister } from './member-pages.ts'
import { DELETE_UNREAD_SNAPSHOTS } from './member-snapshots.ts'
import { saveContacts } from './save-contacts.ts'

describe('pages in the order of scores', () => {
  const MEMBERS = 1210
  const LIMIT = 110
  let ctx: TestContext
  let workspaceId: string
  let audienceId: string
  let serial = 0
  before(async function () {
    this.timeout(120_000)
    ctx = await createContext()
    workspaceId = await ctx.newWorkspace()
  })
  after(() => ctx.close())

  async function add(count: number): Promise<void> {
    const rows = Array.from({ length: count }, () => ({ email: `${serial++}@x.example` }))
    await ctx.db.transaction((tx) => saveContacts(tx, { workspaceId, audienceId, now: new Date() }, rows))
  }
  /** Selects some of the members, by a number. */
  const some = (n: number): string =>
    `audience_id = '${audienceId}' AND (hashtext(contact_id::text) & 1023) BETWEEN ${n} AND ${n + 40}`
  const remove = (n: number): Promise<unknown> => ctx.db.query(`DELETE FROM memberships WHERE ${some(n)}`)
  const toggle = (n: number): Promise<unknown> =>
    ctx.db.query(`UPDATE memberships SET is_subscribed = NOT is_subscribed WHERE ${some(n)}`)
  const page = (query: Partial<MemberQuery>, reuseMs = 0): Promise<MemberPage | null> =>
    createMemberLister(ctx.db, reuseMs)(workspaceId, {
      keyId: newId(),
      audienceId,
      page: 1,
      limit: LIMIT,
      sort: 'deliverabilityScore',
      direction: 'asc',
      isSubscribedOnly: false,
      ...query,
    })
  /** Moves a third of the members. */
  const rescore = (): Promise<unknown> =>
    ctx.db.query(
      sql`
        UPDATE contacts
        SET score = random()
        WHERE random() < 0.33 AND id IN (SELECT contact_id FROM memberships WHERE audience_id = $1)
      `,
      [audienceId],
    )
  const memberIds = async (): Promise<string[]> =>
    (
      await ctx.db.query<{ id: string }>(
        'SELECT contact_id AS id FROM memberships WHERE audience_id = $1 ORDER BY score, contact_id',
        [audienceId],
      )
    ).rows.map(({ id }) => id)
  const idsOf = (found: { readonly members: readonly AudienceMember[] } | null): string[] =>
    (found?.members ?? []).map(({ id }) => id)

  /** Reads all pages, with `meanwhile` after each. */
  async function readAll(query: Partial<MemberQuery>, meanwhile: () => Promise<unknown>): Promise<string[]> {
    const ids: string[] = []
    const keyId = newId()
    for (let number = 1, pages = 1; number <= pages; number++) {
      const found = await page({ keyId, ...query, page: number })
      ids.push(...idsOf(found))
      pages = Math.ceil((found?.total ?? 0) / LIMIT)
      await meanwhile()
    }
    return ids
  }
  beforeEach(async () => {
    const audience = { name: 'a', description: null, isDoubleOptIn: false }
    audienceId = (await createAudience(ctx.db, workspaceId, audience, new Date())).id
    await add(MEMBERS)
    await rescore()
  })

  for (const direction of ['asc', 'desc'] as const)
    it(`no contact is repeated or skipped while scores change and members come and go, ${direction}`, async () => {
      const before = await memberIds()
      let n = 0
      const read = await readAll({ direction }, async () => {
        await rescore()
        if (n % 5 === 0) await add(3)
        if (n === 6) await remove(300)
        n++
      })
      const after = new Set(await memberIds())
      const expected = before.filter((id) => after.has(id))
      const order = direction === 'asc' ? before : before.toReversed()
      assert.ok(expected.length < before.length)
      assert.strictEqual(new Set(read).size, read.length)
      assert.deepEqual(
        read.filter((id) => after.has(id)),
        order.filter((id) => after.has(id)),
      )
    })

  it('two readings of one key, and one of another key, each have their own order', async () => {
    const keyId = newId()
    const readers = [keyId, keyId, newId()].map((reader) => ({ reader, ids: [] as string[] }))
    for (let number = 1; number <= Math.ceil(MEMBERS / LIMIT) + readers.length; number++) {
      for (const [late, { reader, ids }] of readers.entries()) {
        const own = number - late // each begins one page after the one before
        if (own >= 1) ids.push(...idsOf(await page({ keyId: reader, page: own })))
      }
      await rescore()
    }
    for (const { ids } of readers) assert.deepEqual([ids.length, new Set(ids).size], [MEMBERS, MEMBERS])
  })

  it('a page may be requested again, and pages in any order', async () => {
    const keyId = newId()
    const read = async (number: number): Promise<string[]> => {
      await rescore()
      return idsOf(await page({ keyId, page: number }))
    }
    const [first, second, again, fifth] = [await read(1), await read(2), await read(2), await read(5)]
    assert.deepEqual(again, second)
    assert.deepEqual(await read(5), fifth)
    assert.strictEqual(new Set([...first, ...second, ...fifth, ...(await read(3))]).size, 4 * LIMIT)
  })

  it('two that begin at the same time share a snapshot; a new member shows in the next listing', async () => {
    const ids = async (): Promise<string[]> => idsOf(await page({}, 60_000))
    const first = await ids()
    await rescore()
    assert.deepEqual(await ids(), first)
    await add(1)
    assert.deepEqual(await ids(), (await memberIds()).slice(0, LIMIT))
  })

  it('subscribed members only: those who unsubscribe meanwhile are left out', async () => {
    await toggle(100)
    const read = await readAll({ isSubscribedOnly: true }, async () => {
      await rescore()
      await toggle(500)
    })
    assert.strictEqual(new Set(read).size, read.length)
  })

  it('a snapshot that nobody reads is deleted, and a page without one begins anew', async () => {
    const keyId = newId()
    await page({ keyId })
    const wait = (): Promise<unknown> =>
      ctx.db.query(`UPDATE member_snapshots SET read_at = read_at - interval '40 minutes'`)
    await wait()
    assert.strictEqual(idsOf(await page({ keyId, page: 2 })).length, LIMIT)
    await wait()
    await ctx.db.query(DELETE_UNREAD_SNAPSHOTS)
    assert.strictEqual((await ctx.db.query('SELECT FROM member_snapshots')).rowCount, 1)
    await wait()
    await ctx.db.query(DELETE_UNREAD_SNAPSHOTS)
    for (const table of ['member_snapshots', 'member_snapshot_blocks', 'member_listings'])
      assert.strictEqual((await ctx.db.query(`SELECT FROM ${table}`)).rowCount, 0, table)
    assert.deepEqual(idsOf(await page({ keyId, page: 3 })), (await memberIds()).slice(2 * LIMIT, 3 * LIMIT))
    assert.deepEqual(idsOf(await page({ keyId: newId(), page: 99 })), [])
  })
})
