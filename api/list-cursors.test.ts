/**
 * Every list of the API by cursor: the same items in the same order as by page number, at any limit; and a cursor is
 * of use only in the list, workspace, filter and order of the request that returned it.
 */
import { assert } from 'chai'
import { sql } from '#src/stores/sql.ts'
import type { ListCase } from '#test/support/list-case.ts'
import { LISTS, seedLists, type ListSeed } from '#test/support/lists.ts'
import { fieldsOf } from '#test/support/schema-fields.ts'
import { listOf, OPERATOR_TOKEN, startApi, textOf, type Json, type Tenant, type TestApi } from '#test/support/api.ts'
import { ROUTES } from './table.ts'

/** More than any list of this test has. */
const ALL = 1000

describe('lists by cursor', function () {
  this.timeout(120_000)
  let api: TestApi
  let other: Tenant
  let mine: ListSeed
  let theirs: ListSeed
  before(async () => {
    api = await startApi({ DNS_SERVERS: '127.0.0.1:1', RDAP_URL: 'none' })
    other = await api.addTenant()
    mine = await seedLists(api, api)
    theirs = await seedLists(api, other)
  })
  after(() => api.stop())

  interface Listed {
    readonly status: number
    readonly items: readonly unknown[]
    readonly next: string | null
    readonly data: Readonly<Record<string, unknown>>
    readonly text: string
  }
  async function list(one: ListCase, query: Readonly<Record<string, string | number>>, of = mine): Promise<Listed> {
    const [path = '', filter] = one.path(of.ids).split('?')
    const search = new URLSearchParams(filter)
    for (const [name, value] of Object.entries(query)) search.set(name, String(value))
    const tenant = of === mine ? api : other
    const key = one.isOperator === true ? OPERATOR_TOKEN : one.isRegular === true ? tenant.regular : tenant.admin
    const credentials = one.isPersonal === true ? { key: null, headers: of.owner } : { key }
    const { status, body } = await api.call('GET', `${path}?${search.toString()}`, credentials)
    const data = (Array.isArray(body['data']) ? { ...body, items: body['data'] } : body['data']) as never
    const fields = data as unknown as Readonly<Record<string, unknown>>
    return {
      status,
      items: status === 200 ? listOf(fields[one.items]).map((item) => item[one.id ?? 'id']) : [],
      next: (fields?.['next_cursor'] ?? null) as string | null,
      data: fields,
      text: JSON.stringify(body),
    }
  }
  async function readByCursor(one: ListCase, limit: number, query: Readonly<Record<string, string>> = {}) {
    const items: unknown[] = []
    for (let cursor: string | null = ''; cursor !== null;) {
      const page = await list(one, { ...query, limit, cursor })
      assert.strictEqual(page.status, 200, page.text)
      assert.property(page.data, 'next_cursor')
      assert.isAtMost(page.items.length, limit)
      items.push(...page.items)
      cursor = page.next
      assert.isAtMost(items.length, ALL, 'the list does not end')
    }
    return items
  }
  async function readByNumber(one: ListCase, limit: number): Promise<unknown[]> {
    const items: unknown[] = []
    for (let page = 1; ; page++) {
      const found = await list(one, { limit, page })
      assert.notProperty(found.data, 'next_cursor', 'only a request with a cursor gets one')
      if (found.items.length === 0) return items
      items.push(...found.items)
    }
  }
  const firstCursor = async (one: ListCase, of = mine): Promise<string> =>
    textOf((await list(one, { limit: 1, cursor: '' }, of)).next)
  function pagingOf(one: ListCase, { data }: Listed): object {
    const { next_cursor: _, [one.items]: _items, ...fields } = data
    return fields
  }
  function assertRefused(answer: Listed, reason: RegExp): void {
    assert.deepEqual([answer.status, (answer.data as Json | undefined)?.['next_cursor']], [400, undefined], answer.text)
    assert.match(answer.text, reason)
    assert.match(answer.text, /start again with an empty cursor/)
  }

  it('covers every list in the table of routes', () => {
    // `limit` of statistics and summaries is the number of values in a response
    const lists = ROUTES.filter(
      ({ method, name, query }) =>
        method === 'GET' &&
        fieldsOf(query).includes('limit') &&
        !/statistics$|^get-dmarc-summary$|^admin-get-dmarc$/.test(name),
    )
    assert.sameMembers(
      lists.map(({ name }) => name),
      [...new Set(LISTS.map(({ route }) => route))],
      'add it to test/support/lists.ts',
    )
    for (const { name, query } of lists) assert.include(fieldsOf(query), 'cursor', name)
  })

  for (const one of LISTS)
    describe(one.name ?? one.route, () => {
      it('has the same items as by page number, at limits 1 to 3', async () => {
        const all = (await list(one, { limit: ALL })).items
        assert.isAtLeast(all.length, 4, 'too few to test pages')
        for (const limit of [1, 2, 3]) {
          assert.deepEqual(await readByCursor(one, limit), all)
          if (one.hasNoNumbers !== true) assert.deepEqual(await readByNumber(one, limit), all)
        }
      })
      it('has exact totals and numbers of pages', async () => {
        if (one.hasNoNumbers === true) return
        const first = await list(one, { limit: 3, cursor: '' })
        const second = await list(one, { limit: 3, cursor: first.next ?? '' })
        const numbered = await list(one, { limit: 3, page: 2 })
        assert.deepEqual(pagingOf(one, second), pagingOf(one, numbered))
      })
      it('continues to the end from a position in `after`', async () => {
        if (one.hasAfter !== true) return
        const first = await list(one, { limit: 1 })
        const after = textOf(first.data['next'])
        const rest = (await list(one, { limit: ALL, after })).items
        assert.isAtLeast(rest.length, 3, 'too few to test pages')
        assert.deepEqual(await readByCursor(one, 1, { after }), rest)
      })
      it('ends with null, also if the last page is full', async () => {
        const { length } = (await list(one, { limit: ALL })).items
        assert.strictEqual((await list(one, { limit: length, cursor: '' })).next, null)
        assert.strictEqual((await list(one, { limit: ALL, cursor: '' })).next, null)
      })
      it('refuses a cursor that was changed, and other text', async () => {
        const cursor = await firstCursor(one)
        const at = cursor.length - 9
        const changed = cursor.slice(0, at) + (cursor[at] === 'A' ? 'B' : 'A') + cursor.slice(at + 1)
        for (const text of [changed, 'cur_', 'cur_AAAA', cursor.slice(0, 40)])
          assertRefused(await list(one, { cursor: text }), /is not a cursor of this service/)
      })
      it('refuses the cursor of another workspace, and its own there', async () => {
        if (one.isOperator === true) return
        const [own, foreign] = [await firstCursor(one), await firstCursor(one, theirs)]
        assertRefused(await list(one, { cursor: foreign }), /belongs to another list, filter or order/)
        assertRefused(await list(one, { cursor: own }, theirs), /belongs to another list, filter or order/)
      })
      it('refuses the cursor of another list', async () => {
        const neighbour = LISTS[(LISTS.indexOf(one) + 1) % LISTS.length] ?? one
        assertRefused(await list(one, { cursor: await firstCursor(neighbour) }), /belongs to another list/)
      })
      it('refuses its cursor with another filter or order', async () => {
        if (one.otherFilter === undefined) return
        const cursor = await firstCursor(one)
        assertRefused(await list(one, { cursor, ...one.otherFilter }), /belongs to another list, filter or order/)
      })
    })

  it('a cursor does not show what is in it', async () => {
    const suppressions = LISTS.find(({ route }) => route === 'list-suppressions') ?? assert.fail()
    const cursor = await firstCursor(suppressions)
    assert.notInclude(Buffer.from(cursor.slice(4), 'base64url').toString('latin1'), 'example')
  })
  it('refuses the cursor of a snapshot that was deleted', async () => {
    const byCount = LISTS.find(({ name }) => name === 'get-audiences by contactCount') ?? assert.fail()
    const cursor = await firstCursor(byCount)
    await api.db.query(sql`DELETE FROM list_snapshots`)
    assertRefused(await list(byCount, { cursor }), /was not used for an hour and has expired/)
  })
})
