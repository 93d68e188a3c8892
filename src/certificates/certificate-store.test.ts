/** The rows of certificates: who needs them, which is due, and whose turn it is to request one. */
import { assert } from 'chai'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { findDue, listCertificates, readIssued, reportNeeded, storeFailure, storeIssued } from './certificate-store.ts'
import type { NeededCertificate } from './needed-names.ts'
import { withTurn } from './request-turn.ts'

const WEB: NeededCertificate = { use: 'web', name: 'app.example', otherNames: [] }
const ISSUED = { chain: 'chain', privateKey: 'key', expiresAt: new Date('2030-01-01'), renewAt: new Date('2029-12-01') }

describe('stored certificates', () => {
  let ctx: TestContext
  before(async () => {
    ctx = await createContext()
  })
  after(() => ctx.close())
  beforeEach(() => ctx.db.query('DELETE FROM certificates'))

  const asHolder = (work: (holder: string) => Promise<void>): Promise<boolean> => withTurn(ctx, work)
  const due = async (): Promise<NonNullable<Awaited<ReturnType<typeof findDue>>>> =>
    (await findDue(ctx.db)) ?? assert.fail('none is due')

  it('is due when it is needed first, not when that is reported again, and when its names change', async () => {
    await reportNeeded(ctx.db, [WEB], 'settings')
    const first = await due()
    await asHolder(async (holder) => assert.isTrue(await storeIssued({ ...ctx, holder }, first, ISSUED)))
    await reportNeeded(ctx.db, [WEB], 'settings')
    assert.isNull(await findDue(ctx.db))
    await reportNeeded(ctx.db, [{ ...WEB, otherNames: ['www.example'] }], 'settings')
    assert.deepEqual((await due()).otherNames, ['www.example'])
  })
  it('is stored encrypted, for the roles of its use', async () => {
    await reportNeeded(ctx.db, [WEB], 'settings')
    const found = await due()
    await asHolder(async (holder) => void (await storeIssued({ ...ctx, holder }, found, ISSUED)))
    assert.deepEqual(
      (await readIssued(ctx, 'web', {})).map(({ name, privateKey }) => [name, privateKey]),
      [['app.example', 'key']],
    )
    const { rows } = await ctx.db.query<{ web: Buffer; smtp: Buffer | null }>(
      'SELECT web_private_key AS web, smtp_private_key AS smtp FROM certificates',
    )
    assert.isFalse(rows[0]?.web.includes('key'))
    assert.isNull(rows[0]?.smtp)
  })
  it('one process has the turn; the result of one that lost it is not stored', async () => {
    await reportNeeded(ctx.db, [WEB], 'settings')
    const found = await due()
    await asHolder(async (late) => {
      assert.isFalse(await asHolder(() => assert.fail('two have the turn')))
      await ctx.db.query(sql`UPDATE acme_turn SET held_until = now() - interval '1 second'`)
      await asHolder(async () => {
        assert.isFalse(await storeIssued({ ...ctx, holder: late }, found, ISSUED))
        await storeFailure({ ...ctx, holder: late }, found.id, { error: 'late', retryMs: 1000 })
      })
    })
    const [status] = await listCertificates(ctx.db)
    assert.deepEqual([status?.state, status?.failures], ['waiting', 0])
  })
  it('a failure is stored with its reason, and is due later; nobody renews what nobody needs', async () => {
    await reportNeeded(ctx.db, [WEB], 'settings')
    const found = await due()
    await asHolder((holder) => storeFailure({ ...ctx, holder }, found.id, { error: 'no DNS', retryMs: 3_600_000 }))
    const [status] = await listCertificates(ctx.db)
    assert.deepEqual([status?.state, status?.lastError], ['failing', 'no DNS'])
    assert.isNull(await findDue(ctx.db))
    await ctx.db.query(sql`UPDATE certificates SET due_at = now(), wanted_at = now() - interval '15 days'`)
    assert.isNull(await findDue(ctx.db))
    assert.strictEqual((await listCertificates(ctx.db))[0]?.state, 'unused')
  })
})
