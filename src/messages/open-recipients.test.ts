/** Walks through what waits: each recipient once, however many are due in the same millisecond. */
import { assert } from 'chai'
import { createAcceptor } from './accept.ts'
import { testRecipients, submissionOf } from '#test/support/submission.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { failQueuedMail } from './removed-domain-mail.ts'
import { cursorText, listOpen, readCursor } from './queue-view.ts'
import { memberOf } from '#src/queue/keys.ts'
import { readWaiting, type Cursor } from './open-recipients.ts'
import { readWaitingEntries } from './waiting-entries.ts'

const START = `timestamptz '2026-01-02 03:04:05Z'`
const HASH = 'hashtext(message_id::text || n)'

/** SQL expressions for the due time of a recipient; all but the last stay within one millisecond. */
const DUE_TIMES = {
  'the same microsecond': `timestamptz '2026-01-02 03:04:05.000600Z'`,
  'a microsecond apart': `${START} + (${HASH} & 999) * interval '1 microsecond'`,
  'on the millisecond': `timestamptz '2026-01-02 03:04:05.001Z'`,
  'milliseconds and microseconds apart': `${START} + (${HASH} & 8191) * interval '1 microsecond'`,
} as const

const MANY = 1200
const MOST_SLICES = 500

describe('walks through waiting recipients', () => {
  let ctx: TestContext
  let workspaceId: string
  before(async () => {
    ctx = await createContext()
  })
  after(() => ctx.close())
  beforeEach(async () => {
    await ctx.db.query('DELETE FROM recipients')
    workspaceId = await ctx.newWorkspace()
    const acceptor = createAcceptor(ctx)
    await Promise.all(
      Array.from({ length: MANY / 50 }, () =>
        acceptor.accept(submissionOf(workspaceId, { tier: 'bulk', recipients: testRecipients(50) })),
      ),
    )
  })

  const walk = async (
    next: (cursor: Cursor | null) => Promise<{ readonly names: readonly string[]; readonly next: Cursor | null }>,
  ): Promise<string[]> => {
    const met: string[] = []
    let cursor: Cursor | null = null
    for (let slices = 0; slices < MOST_SLICES; slices++) {
      const slice: Awaited<ReturnType<typeof next>> = await next(cursor)
      met.push(...slice.names)
      cursor = slice.next
      if (cursor === null) return met
    }
    throw new Error('it does not end')
  }
  const each = (met: readonly string[]): readonly number[] => [met.length, new Set(met).size]

  for (const [what, dueAt] of Object.entries(DUE_TIMES)) {
    it(`${what}: filling the schedule, the operator's list and the removal of a domain`, async () => {
      await ctx.db.query(`UPDATE recipients SET due_at = ${dueAt}`)
      assert.deepEqual(
        each(
          await walk(async (cursor) => {
            const { due, next } = await readWaiting(ctx.db, 'bulk', new Date(), { cursor, limit: 37 })
            return { names: due.map((one) => `${one.messageId} ${one.n}`), next }
          }),
        ),
        [MANY, MANY],
      )
      const members = await walk(async (cursor) => {
        const { due, next } = await readWaiting(ctx.db, 'bulk', new Date(), { cursor, limit: 100 })
        return { names: due.map((one) => memberOf(one)), next }
      })
      const { rows } = await ctx.db.query<{ at: number }>(
        `SELECT DISTINCT date_part('epoch', due_at) * 1000 AS at FROM recipients`,
      )
      const entries = await walk(async (cursor) => {
        const found = await readWaitingEntries(ctx.db, 'bulk', { cursor, limit: 100 })
        const lines = found.entries.split('\n').slice(0, -1)
        assert.strictEqual(found.count, lines.length)
        assert.strictEqual(String(found.firstMs ?? ''), lines[0]?.split(' ')[0] ?? '')
        return { names: lines, next: found.next }
      })
      assert.deepEqual(
        entries.map((line) => line.split(' ')[1]),
        members,
        'the entries that PostgreSQL writes have the members of the schedule',
      )
      const times = new Set(rows.map(({ at }) => Math.round(at)))
      assert.isTrue(entries.every((line) => times.has(Number(line.split(' ')[0]))))
      assert.deepEqual(
        each(
          await walk(async (cursor) => {
            const { open, next } = await listOpen(
              { db: ctx.db, now: new Date(), shapingFile: null },
              {},
              { cursor: cursor === null ? null : readCursor(cursorText(cursor)), limit: 41 },
            )
            return { names: open.map((one) => `${one.messageId} ${one.n}`), next }
          }),
        ),
        [MANY, MANY],
      )
      // of a domain that has none of it: nothing moves, and so nothing but the cursor ends the walk
      const removed = { domainId: '00000000-0000-7000-8000-000000000000', workspaceId, domain: 'gone.example' }
      assert.strictEqual(await failQueuedMail(ctx, removed), 0)
    }).timeout(10_000)
  }
})
