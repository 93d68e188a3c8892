import { assert } from 'chai'
import fc from 'fast-check'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { submissionOf } from '#test/support/submission.ts'
import { createAcceptor } from './accept.ts'
import { countMessages } from './search-count.ts'
import { nextSliceSize, searchMessages, type SearchFilter, type SearchResult } from './search.ts'
import { STATES, type State } from './state.ts'
import { hasStatus, STATUSES, statusOf } from './status.ts'

const ANY: SearchFilter = {
  recipient: null,
  sender: null,
  subject: null,
  tag: null,
  status: null,
  tier: null,
  campaignId: null,
  after: null,
  before: null,
}
const NAMES = Object.keys(STATES) as State[]

describe('the next slice of a search', () => {
  const CASES: readonly [name: string, size: number, last: Parameters<typeof nextSliceSize>[1], expected: number][] = [
    ['is twice as large while there is time', 400, { examined: 400, took: 1, left: 99 }, 800],
    ['has a limit', 4000, { examined: 4000, took: 1, left: 99 }, 4000],
    ['fits into the time that is left', 2000, { examined: 2000, took: 50, left: 25 }, 1000],
    ['is not smaller than the first one', 100, { examined: 100, took: 90, left: 10 }, 100],
    [
      'is twice as large when the time is over but the minimum is not reached',
      200,
      { examined: 200, took: 200, left: -100 },
      400,
    ],
    ['is twice as large after a week without messages', 200, { examined: 0, took: 5, left: 10 }, 400],
  ]
  for (const [name, size, last, expected] of CASES)
    it(name, () => assert.strictEqual(nextSliceSize(size, last), expected))
})

describe('searching messages', () => {
  let ctx: TestContext
  let workspaceId: string
  before(async () => {
    ctx = await createContext()
  })
  beforeEach(async () => {
    workspaceId = await ctx.newWorkspace()
  })
  after(() => ctx.close())

  const search = (
    filter: Partial<SearchFilter>,
    more: { cursor?: string | null; skip?: number; limit?: number } = {},
  ): Promise<SearchResult> =>
    searchMessages(ctx.db, { workspaceId, filter: { ...ANY, ...filter }, cursor: null, skip: 0, limit: 100, ...more })
  const idsOf = (result: SearchResult): string[] => result.messages.map(({ id }) => id)
  const mailTo = (addresses: readonly string[]): Partial<Parameters<typeof submissionOf>[1]> => ({
    recipients: addresses.map((address) => ({ address, domain: address.split('@')[1] ?? '', kind: 'to' as const })),
  })

  it('the status of a message in SQL is the status in TypeScript, for every combination of states', async () => {
    const combinations = Array.from({ length: 2 ** NAMES.length - 1 }, (_, i) =>
      NAMES.filter((_name, k) => ((i + 1) & (1 << k)) !== 0),
    )
    const cases = STATUSES.map((status) => `CASE WHEN ${hasStatus(status, 'states')} THEN '${status}' END`).join(', ')
    const { rows } = await ctx.db.query<{ found: string[] }>(
      sql`
        SELECT array_remove(ARRAY[${cases}], NULL) AS found
        FROM (
          SELECT ord, ARRAY(SELECT jsonb_array_elements_text(j)) AS states
          FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS c (j, ord)
        ) c
        ORDER BY ord
      `,
      [JSON.stringify(combinations)],
    )
    assert.strictEqual(rows.length, 2 ** STATUSES.length - 1)
    assert.deepEqual(
      rows.map(({ found }) => found),
      combinations.map((states) => [statusOf(states)]),
    )
    assert.deepEqual(
      STATUSES.toSorted((a, b) => a.localeCompare(b)),
      NAMES.toSorted((a, b) => a.localeCompare(b)),
    )
  })

  it('finds by every field, newest first, in its own workspace only', async () => {
    const acceptor = createAcceptor(ctx)
    const accept = async (more: Parameters<typeof submissionOf>[1]): Promise<string> => {
      const submission = submissionOf(workspaceId, more)
      await acceptor.accept(submission)
      return submission.id
    }
    const first = await accept({
      ...mailTo(['Anna@b.example', 'bob@c.example']),
      subject: 'Your ÖRDER 7',
      tags: ['welcome', 'a', 'welcome'],
      tier: 'bulk',
    })
    const second = await accept({
      ...mailTo(['anna@b.example']),
      subject: 'Straße, strasse (A|B) .\\d*',
      from: { email: 'Shop@x.example', name: null },
      scheduledAt: new Date(ctx.clock.now() + 60_000),
    })
    const third = await accept({ ...mailTo(['carl@c.example']), tags: ['a'] })
    const cases: readonly (readonly [Partial<SearchFilter>, readonly string[]])[] = [
      [{}, [third, second, first]],
      [{ recipient: 'ANNA@b.example' }, [second, first]],
      [{ recipient: 'nobody@b.example' }, []],
      [{ recipient: 'c.example' }, [third, first]],
      [{ recipient: '@B.example' }, [second, first]],
      [{ recipient: 'example' }, []],
      [{ subject: 'örder' }, [first]],
      [{ subject: 'straSSe (a|b) .\\d*' }, [second]],
      [{ subject: '%' }, []],
      [{ subject: '.*' }, []],
      [{ tag: 'a' }, [third, first]],
      [{ tag: 'welcome' }, [first]],
      [{ tag: 'A' }, []],
      [{ tag: 'a', recipient: 'bob@c.example' }, [first]],
      [{ status: 'scheduled' }, [second]],
      [{ status: 'queued' }, [third, first]],
      [{ status: 'delivered' }, []],
      [{ tier: 'bulk' }, [first]],
      [{ sender: 'shop@X.example' }, [second]],
      [{ sender: 'x.example' }, [second]],
      [{ after: new Date(ctx.clock.now() + 1000) }, []],
      [{ before: new Date(ctx.clock.now() + 1000) }, [third, second, first]],
    ]
    for (const [filter, ids] of cases) assert.deepEqual(idsOf(await search(filter)), ids, JSON.stringify(filter))
    const [one] = (await search({ tag: 'welcome' })).messages
    assert.deepEqual(
      [one?.status, one?.recipientsCount, one?.to.length, one?.tags],
      ['queued', 2, submissionOf(workspaceId).to.length, ['welcome', 'a', 'welcome']],
    )
    workspaceId = await ctx.newWorkspace()
    for (const [filter] of cases) assert.deepEqual(idsOf(await search(filter)), [], JSON.stringify(filter))
  })

  it('finds the status of several recipients that get-email returns', async () => {
    const acceptor = createAcceptor(ctx)
    for (let i = 0; i < 12; i++) {
      const submission = submissionOf(workspaceId, mailTo(['a@b.example', 'b@b.example', 'c@b.example']))
      await acceptor.accept(submission)
      await ctx.db.query('UPDATE recipients SET state = ($2::text[])[n + 1] WHERE message_id = $1', [
        submission.id,
        [0, 1, 2].map((n) => NAMES[(i * (n + 3) + n) % NAMES.length]),
      ])
    }
    const all = (await search({})).messages
    for (const status of STATUSES)
      assert.deepEqual(
        idsOf(await search({ status })),
        all.filter((one) => one.status === status).map(({ id }) => id),
      )
  })

  describe('many messages', () => {
    const COUNT = 9000
    let ids: string[]
    beforeEach(async () => {
      ids = Array.from({ length: COUNT }, () => newId(ctx.clock.now())).toReversed()
      await ctx.db.query(
        sql`
          INSERT INTO messages (
            id, workspace_id, tier, from_email, to_list, subject, content_size, recipient_count, created_at
          )
          SELECT id, $2, 'bulk', 'a@b.example', '[]', CASE WHEN n % 3000 = 0 THEN 'rare' ELSE 'common' END, 0, 1, now()
          FROM unnest($1::uuid[]) WITH ORDINALITY AS i (id, n)
        `,
        [ids, workspaceId],
      )
      await ctx.db.query(
        sql`
          INSERT INTO recipients (
            message_id, n, workspace_id, tier, kind, address, domain, state, is_open, due_at, is_only, updated_at
          )
          SELECT id, 0, $2, 'bulk', 'to', CASE WHEN n % 2 = 0 THEN 'even@b.example' ELSE 'odd@b.example' END,
            'b.example', 'delivered', false, now(), true, now()
          FROM unnest($1::uuid[]) WITH ORDINALITY AS i (id, n)
        `,
        [ids, workspaceId],
      )
    })

    it('pages and cursors return all of them once', async () => {
      const walk = async (filter: Partial<SearchFilter>, limit: number): Promise<string[]> => {
        const found: string[] = []
        for (let cursor: string | null = null; ;) {
          const result: SearchResult = await search(filter, { cursor, limit })
          found.push(...idsOf(result))
          if (result.next === null) return found
          cursor = result.next
        }
      }
      const even = ids.filter((_, i) => i % 2 === 1)
      assert.deepEqual(await walk({}, 1000), ids)
      assert.deepEqual(await walk({ recipient: 'even@b.example' }, 999), even)
      assert.deepEqual(await walk({ subject: 'RARE' }, 1), [ids[2999], ids[5999], ids[8999]])
      await fc.assert(
        fc.asyncProperty(fc.nat(30), fc.integer({ min: 1, max: 50 }), async (page, limit) => {
          const skip = page * limit
          assert.deepEqual(
            idsOf(await search({ recipient: 'even@b.example' }, { skip, limit })),
            even.slice(skip, skip + limit),
          )
        }),
        { numRuns: 20 },
      )
    })

    it('are counted if that is cheap, up to a maximum', async () => {
      const count = (filter: Partial<SearchFilter>): ReturnType<typeof countMessages> =>
        countMessages(ctx.db, { workspaceId, filter: { ...ANY, ...filter } })
      assert.deepEqual(await count({}), { total: COUNT, isExact: true })
      assert.deepEqual(await count({ recipient: 'odd@b.example' }), { total: COUNT / 2, isExact: true })
      assert.strictEqual(await count({ subject: 'rare' }), null)
      await ctx.db.query(
        sql`
          INSERT INTO messages (
            id, workspace_id, tier, from_email, to_list, subject, content_size, recipient_count, created_at
          )
          SELECT id, $2, 'bulk', 'a@b.example', '[]', 's', 0, 1, now()
          FROM unnest($1::uuid[]) id
        `,
        [Array.from({ length: 1001 }, () => newId()), workspaceId],
      )
      assert.deepEqual(await count({}), { total: 10_000, isExact: false })
    })
  })
})
