/**
 * Pages of a list by position: while rows are inserted, deleted and changed between the pages, each row that stays is
 * read exactly once, in every order and direction.
 */
import { assert } from 'chai'
import fc from 'fast-check'
import { newId } from '#src/platform/id.ts'
import { openDatabase, type OpenDatabase } from '#test/support/database.ts'
import { DELETE_UNREAD_LIST_SNAPSHOTS, ExpiredSnapshotError } from './list-snapshots.ts'
import { newestFirst, readPage, type ListOrder, type ListPosition, type PageQuery } from './page.ts'
import { sql } from './sql.ts'

interface Item {
  readonly id: string
}

describe('pages of a list', function () {
  this.timeout(60_000)
  let database: OpenDatabase
  before(async () => {
    database = await openDatabase()
    await database.db.query(sql`
      CREATE TABLE items (id uuid PRIMARY KEY, at timestamptz NOT NULL, name text NOT NULL, list integer NOT NULL);
      CREATE INDEX items_listed ON items (list, at, id);
      CREATE TABLE owners (name text PRIMARY KEY);
      INSERT INTO owners VALUES ('anna'), ('bert');
    `)
  })
  after(() => database.close())

  let list = 0
  const insert = async (at: number, name: string): Promise<string> => {
    const id = newId()
    // microseconds, which a Date does not have
    const values = [id, at, name, list]
    await database.db.query(
      `INSERT INTO items VALUES ($1, 'epoch'::timestamptz + $2 * interval '1 microsecond', $3, $4)`,
      values,
    )
    return id
  }
  const queryOf = (order: ListOrder, rest: Partial<PageQuery> = {}): PageQuery => ({
    columns: 'i.id',
    from: 'items i',
    where: 'i.list = $1',
    order,
    values: [list],
    ...rest,
  })
  const byTime = (direction: ListOrder['direction'], isMutable = false): ListOrder => ({
    by: [
      { sql: 'i.at', type: 'timestamptz' },
      { sql: 'i.id', type: 'uuid' },
    ],
    direction,
    isMutable,
  })

  /** Reads all pages; calls `between` after each. */
  async function readAll(query: PageQuery, limit: number, between = async (): Promise<void> => {}): Promise<string[]> {
    const ids: string[] = []
    for (let at: ListPosition | null | undefined = null; at !== undefined;) {
      const page: { items: readonly Item[]; next?: ListPosition | null } = await readPage<Item>(database.db, query, {
        page: 1,
        limit,
        at,
      })
      ids.push(...page.items.map(({ id }) => id))
      at = page.next ?? undefined
      await between()
    }
    return ids
  }

  const times = fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 12 })
  const changes = fc.array(
    fc.record({
      kind: fc.constantFrom('insert' as const, 'delete' as const, 'move' as const),
      at: fc.integer({ min: 0, max: 5 }),
      item: fc.nat(),
    }),
    { maxLength: 20 },
  )

  for (const direction of ['ASC', 'DESC'] as const)
    for (const isMutable of [false, true])
      it(`repeats and skips nothing: ${direction}, keys that ${isMutable ? 'change' : 'stay'}`, async () => {
        await fc.assert(
          fc.asyncProperty(times, changes, fc.integer({ min: 1, max: 4 }), async (start, steps, limit) => {
            list++
            const initial: string[] = []
            for (const at of start) initial.push(await insert(at, 'anna'))
            const query = queryOf(byTime(direction, isMutable))
            const before = await readAll(query, 100)
            const deleted = new Set<string>()
            const rest = [...steps]
            const found = await readAll(query, limit, async () => {
              const step = rest.shift()
              if (step === undefined) return
              const id = initial[step.item % initial.length] ?? ''
              if (step.kind === 'insert') await insert(step.at, 'anna')
              if (step.kind === 'delete') {
                deleted.add(id)
                await database.db.query('DELETE FROM items WHERE id = $1', [id])
              }
              if (step.kind === 'move' && isMutable)
                await database.db.query(
                  `UPDATE items SET at = 'epoch'::timestamptz + $2 * interval '1 microsecond' WHERE id = $1`,
                  [id, step.at],
                )
            })
            assert.strictEqual(new Set(found).size, found.length, 'an item was repeated')
            const stayed = before.filter((id) => !deleted.has(id))
            assert.deepEqual(
              found.filter((id) => stayed.includes(id)),
              stayed,
            )
          }),
          { numRuns: 40 },
        )
      })

  it('reads the rows of the page only once where others are joined to them', async () => {
    list++
    const ids = [await insert(1, 'anna'), await insert(2, 'bert'), await insert(3, 'anna')]
    const joined = { columns: 'i.id, o.name AS owner', joins: 'JOIN owners o ON o.name = i.name' }
    for (const isMutable of [false, true])
      assert.deepEqual(await readAll(queryOf(byTime('ASC', isMutable), joined), 1), ids)
  })
  it('counts the items for the first page only', async () => {
    list++
    for (let n = 0; n < 5; n++) await insert(n, 'anna')
    const query = queryOf(newestFirst('i.id'))
    const first = await readPage<Item>(database.db, query, { page: 1, limit: 2, at: null })
    await insert(9, 'anna')
    const second = await readPage<Item>(database.db, query, { page: 1, limit: 2, at: first.next ?? null })
    assert.deepEqual([first.total, second.total, second.next?.before], [5, 5, 4])
    assert.strictEqual((await readPage<Item>(database.db, query, { page: 1, limit: 2 })).total, 6)
  })
  it('a deep page reads no more rows than the first', async () => {
    list++
    await database.db.query(
      sql`
        INSERT INTO items
        SELECT gen_random_uuid(), 'epoch'::timestamptz + (n / 10) * interval '1 second', 'anna', $1
        FROM generate_series(1, 20000) n
      `,
      [list],
    )
    await database.db.query('ANALYZE items')
    const order = byTime('DESC')
    const position = { key: ['1970-01-01 00:03:00+00', newId()], before: 18_000, total: 20_000 }
    const statements: string[] = []
    const recorder = {
      query: async (statement: unknown, values: readonly unknown[] = []): Promise<never> => {
        const explained = await database.db.query<{ 'QUERY PLAN': string }>(
          `EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF) ${String(statement)}`,
          values,
        )
        statements.push(explained.rows.map((row) => row['QUERY PLAN']).join('\n'))
        return { rows: [], rowCount: 0 } as never
      },
    }
    await readPage(recorder, queryOf(order), { page: 1, limit: 10, at: position })
    const plan = statements.join('\n')
    assert.match(plan, /Index (?:Only )?Scan Backward using items_listed/)
    assert.notMatch(plan, /Sort|Rows Removed by Filter: \d{2,}/)
    const buffers = Math.max(...[...plan.matchAll(/shared hit=(\d+)/g)].map(([, pages]) => Number(pages)))
    assert.isBelow(buffers, 40, plan)
  })
  it('the snapshot of an order ends when it is not read for an hour', async () => {
    list++
    for (let n = 0; n < 3; n++) await insert(n, 'anna')
    const query = queryOf(byTime('ASC', true))
    const { next = null } = await readPage<Item>(database.db, query, { page: 1, limit: 1, at: null })
    await database.db.query(DELETE_UNREAD_LIST_SNAPSHOTS)
    assert.strictEqual((await readPage(database.db, query, { page: 1, limit: 1, at: next })).items.length, 1)
    await database.db.query(`UPDATE list_snapshots SET read_at = now() - interval '61 minutes'`)
    await database.db.query(DELETE_UNREAD_LIST_SNAPSHOTS)
    const error = await readPage(database.db, query, { page: 1, limit: 1, at: next }).catch((thrown: unknown) => thrown)
    assert.instanceOf(error, ExpiredSnapshotError)
  })
  it('a list that fits one page takes no snapshot', async () => {
    list++
    await insert(1, 'anna')
    const { rows } = await database.db.query('SELECT 1 FROM list_snapshots')
    await readAll(queryOf(byTime('ASC', true)), 1)
    assert.strictEqual((await database.db.query('SELECT 1 FROM list_snapshots')).rows.length, rows.length)
  })
})
