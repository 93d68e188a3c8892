import { randomBytes } from 'node:crypto'
import { assert } from 'chai'
import { newId } from '#src/platform/id.ts'
import type { Db, Statement } from '#src/stores/db.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { submissionOf } from '#test/support/submission.ts'
import { loadAttachments } from './claim.ts'
import { createBatchStore } from './message-store.ts'
import type { Attachment, Submission } from './submission.ts'

describe('a batch with attachments', () => {
  let ctx: TestContext
  let workspace: string
  before(async () => {
    ctx = await createContext()
  })
  after(() => ctx.close())
  beforeEach(async () => {
    workspace = await ctx.newWorkspace()
  })

  const fileOf = (size: number, fields: Partial<Attachment> = {}): Attachment => ({
    filename: 'ä "b", {c}.pdf',
    contentType: 'application/pdf',
    contentId: null,
    content: randomBytes(size),
    ...fields,
  })
  const withFiles = (attachments: readonly Attachment[], fields: Partial<Submission> = {}): Submission =>
    submissionOf(workspace, { attachments, ...fields })
  const keyed = (key: string): Partial<Submission> => ({
    idempotency: { key, bodyHash: Buffer.from(key), answer: 'stored' },
  })

  /** Stores a batch. `how`: the statements outside of transactions, and the transactions. */
  const store = async (batch: readonly Submission[]): Promise<{ how: string[]; results: string[] }> => {
    const how: string[] = []
    const db = {
      query: (statement: Statement, values: unknown[]) => {
        how.push(statement.name)
        return ctx.db.query(statement, values)
      },
      transaction: (...args: Parameters<Db['transaction']>) => {
        how.push('transaction')
        return ctx.db.transaction(...args)
      },
    } as unknown as Db
    const { results } = await createBatchStore({ db, clock: ctx.clock })(batch)
    return { how, results: results.map(({ kind }) => kind) }
  }

  const batches: readonly [what: string, make: () => Submission[], how: string][] = [
    ['without any', () => [withFiles([])], 'messages-store-at-once'],
    [
      'with some',
      () => [
        withFiles([]),
        withFiles([fileOf(200_000), fileOf(0, { contentId: 'logo@shop' }), fileOf(3)]),
        withFiles([fileOf(1)]),
      ],
      'messages-store-at-once-attached',
    ],
    [
      'with keys',
      () => [withFiles([fileOf(10)], keyed('a')), withFiles([], keyed('b')), withFiles([fileOf(20)])],
      'messages-store-at-once-keyed-attached',
    ],
    [
      'with more than is copied at once',
      () => [withFiles([fileOf(3_000_000)]), withFiles([fileOf(2_000_000)])],
      'transaction',
    ],
  ]
  for (const [what, make, how] of batches)
    it(`${what} is stored by one ${how}, each file with its message`, async () => {
      const batch = make()
      assert.deepEqual(await store(batch), { how: [how], results: batch.map(() => 'stored') })
      for (const { id, attachments } of batch)
        assert.deepEqual([...(await loadAttachments(ctx.db, id))], [...attachments])
    })

  it('stores nothing of a message that is refused, and all of the others', async () => {
    const first = withFiles([fileOf(5)], keyed('once'))
    await store([first])
    const again = { ...withFiles([fileOf(5)], keyed('once')), id: newId() }
    const other = withFiles([fileOf(6)])
    const { how, results } = await store([again, other])
    assert.deepEqual(
      [how, results],
      [
        ['messages-store-at-once-keyed-attached', 'transaction'],
        ['replayed', 'stored'],
      ],
    )
    assert.deepEqual([...(await loadAttachments(ctx.db, again.id))], [])
    assert.deepEqual([...(await loadAttachments(ctx.db, other.id))], [...other.attachments])
  })
})
