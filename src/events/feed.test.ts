import { assert } from 'chai'
import fc from 'fast-check'
import { Client } from 'pg'
import { newId } from '#src/platform/id.ts'
import { renumberRestoredEvents } from '#src/stores/restored-events.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { startPostgres, type TestServer } from '#test/support/stores.ts'
import { FEED_START, readCursor, writeCursor, type FeedPosition } from './cursor.ts'
import { readFeed, type FeedFilter, type FeedPage } from './feed.ts'

const ALL: FeedFilter = { types: null, messageId: null, recipient: null, from: null, to: null }

describe('cursors of the feed', () => {
  it('decode to the encoded position; anything else is invalid', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, 2n ** 64n - 1n), (tx) => {
        const position = { tx: String(tx), id: newId() }
        assert.deepEqual(readCursor(writeCursor(position)), position)
      }),
    )
    fc.assert(fc.property(fc.string(), (text) => assert.ok(readCursor(text) === null)))
    const tooLarge = Buffer.from(`${2n ** 64n}.${'0'.repeat(32)}`).toString('base64url')
    for (const text of ['', 'evt_', tooLarge]) assert.strictEqual(readCursor(text), null)
  })
  it('may be the id of an event', () => {
    assert.deepEqual(readCursor('evt_019a9A000000700080000000000000aa'), {
      tx: null,
      id: '019a9a00-0000-7000-8000-0000000000aa',
    })
  })
})

describe('the feed of events', () => {
  let ctx: TestContext
  let workspaceId: string
  // a cluster of its own: open transactions of other tests would hold the feed back
  let postgres: TestServer
  before(async () => {
    postgres = await startPostgres()
    ctx = await createContext({}, postgres.url)
  })
  beforeEach(async () => {
    workspaceId = await ctx.newWorkspace()
  })
  after(async () => {
    await ctx.close()
    await postgres.stop()
  })

  const INSERT = `INSERT INTO events (id, workspace_id, type, recipient, created_at) VALUES ($1, $2, $3, $4, $5)`
  const values = (id: string, type = 'email.queued', recipient: string | null = null): unknown[] => [
    id,
    workspaceId,
    type,
    recipient,
    new Date(ctx.clock.now()),
  ]
  async function add(count: number, type?: string, recipient?: string): Promise<string[]> {
    const ids = Array.from({ length: count }, () => newId())
    for (const id of ids) await ctx.db.query(INSERT, values(id, type, recipient))
    return ids
  }
  async function read(
    after: FeedPosition = FEED_START,
    limit = 100,
    filter: Partial<FeedFilter> = {},
  ): Promise<FeedPage> {
    const page = await readFeed(ctx.db, { workspaceId, after, limit, filter: { ...ALL, ...filter } })
    assert.ok(page !== null)
    return page
  }
  const idsOf = ({ events }: FeedPage): string[] => events.map(({ id }) => id)
  /** All events of the feed, read in pages. */
  async function readOn(after: FeedPosition, limit: number): Promise<{ ids: string[]; at: FeedPosition }> {
    const ids: string[] = []
    for (let at = after; ;) {
      const page = await read(at, limit)
      ids.push(...idsOf(page))
      at = page.next
      if (!page.hasMore) return { ids, at }
    }
  }

  it('is read in pages, in order, and continued where it ended', async () => {
    const first = await add(5)
    assert.deepEqual((await readOn(FEED_START, 2)).ids, first)
    const { at } = await readOn(FEED_START, 5)
    assert.deepEqual(idsOf(await read(at)), [])
    const second = await add(2)
    assert.deepEqual(idsOf(await read(at)), second)
  })

  it('continues after a known event, and rejects one of another workspace', async () => {
    const [one = '', ...others] = await add(3)
    assert.deepEqual(idsOf(await read({ tx: null, id: one })), others)
    workspaceId = await ctx.newWorkspace()
    assert.strictEqual(
      await readFeed(ctx.db, { workspaceId, after: { tx: null, id: one }, limit: 1, filter: ALL }),
      null,
    )
    assert.deepEqual(idsOf(await read()), [])
  })

  it('holds back events that an open transaction may still precede', async () => {
    const slow = new Client({ connectionString: ctx.databaseUrl })
    await slow.connect()
    await slow.query('BEGIN')
    const early = newId()
    await slow.query(INSERT, values(early))
    const late = await add(2)
    const heldBack = await read()
    assert.deepEqual([idsOf(heldBack), heldBack.isHeldBack], [[], true])
    await slow.query('COMMIT')
    await slow.end()
    assert.deepEqual([idsOf(await read(heldBack.next)), (await read()).isHeldBack], [[early, ...late], false])
  })

  it('returns every event once when transactions commit late, out of order or not at all', async () => {
    const clients = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const client = new Client({ connectionString: ctx.databaseUrl })
        await client.connect()
        return client
      }),
    )
    const committed: string[] = []
    const seen: string[] = []
    let [at, isWriting]: [FeedPosition, boolean] = [FEED_START, true]
    const write = async (client: Client, seed: number): Promise<void> => {
      for (let round = 0; round < 12; round++) {
        const ids = Array.from({ length: 1 + ((seed + round) % 3) }, () => newId())
        await client.query('BEGIN')
        for (const id of ids) {
          await client.query(INSERT, values(id))
          await new Promise((resolve) => setTimeout(resolve, (seed * 7 + round * 5) % 13))
        }
        const isKept = (seed + round) % 5 !== 0
        await client.query(isKept ? 'COMMIT' : 'ROLLBACK')
        if (isKept) committed.push(...ids)
      }
    }
    const watch = async (): Promise<void> => {
      for (let isLast = false; !isLast;) {
        isLast = !isWriting
        const found = await readOn(at, 3)
        seen.push(...found.ids)
        at = found.at
      }
    }
    const watching = watch()
    await Promise.all(clients.map(write))
    isWriting = false
    await watching
    await Promise.all(clients.map((client) => client.end()))
    const rest = await readOn(at, 3)
    const all = [...seen, ...rest.ids]
    assert.strictEqual(new Set(all).size, all.length, 'nothing twice')
    assert.deepEqual(
      all.toSorted((a, b) => a.localeCompare(b)),
      committed.toSorted((a, b) => a.localeCompare(b)),
    )
  })

  it('advances past all events that a filter read, even if none matches', async () => {
    const others = Array.from({ length: 5100 }, () => newId())
    await ctx.db.query(
      sql`
        INSERT INTO events (id, workspace_id, type, created_at)
        SELECT id, $2, 'email.queued', now()
        FROM unnest($1::uuid[]) id
      `,
      [others, workspaceId],
    )
    const [matching] = await add(1, 'email.bounced', 'Anna@b.example')
    const first = await read(FEED_START, 10, { types: ['email.bounced'] })
    assert.deepEqual([idsOf(first), first.hasMore], [[], true])
    const second = await read(first.next, 10, { types: ['email.bounced'] })
    assert.deepEqual([idsOf(second), second.hasMore], [[matching], false])
    assert.deepEqual(idsOf(await read(first.next, 10, { recipient: 'anna@B.example' })), [matching])
    assert.deepEqual(idsOf(await read(first.next, 10, { from: new Date(ctx.clock.now() + 60_000) })), [])
    assert.deepEqual(idsOf(await read(first.next, 10, { to: new Date(ctx.clock.now() - 60_000) })), [])
  })

  it('after a restore into another cluster, hides no event and accepts earlier cursors', async () => {
    const old = await add(4)
    const far = '9000000000'
    // as a dump restores them: transaction numbers that this cluster has not reached
    await ctx.db.query('UPDATE events SET tx = $2::xid8 WHERE workspace_id = $1', [workspaceId, far])
    assert.deepEqual(idsOf(await read()), [])
    await renumberRestoredEvents((statement) => ctx.db.query(statement))
    const fresh = await add(2)
    assert.deepEqual(idsOf(await read()), [...old, ...fresh])
    assert.deepEqual(idsOf(await read({ tx: far, id: old[1] ?? '' })), [...old.slice(2), ...fresh])
    assert.deepEqual(
      idsOf(await read({ tx: far, id: newId() })),
      [...old, ...fresh],
      'an event that is gone: all again, rather than too few',
    )
  })
})
