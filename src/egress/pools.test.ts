/** The source pool of a domain: its own, its workspace's or its region's. */
import { assert } from 'chai'
import { addDomain, trustDomain } from '#src/domains/domains.ts'
import { loadSendingDomain } from '#src/domains/signing-keys.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { addPool, listPools, removePool, setEgressPool } from './pools.ts'

describe('the pool of a domain', () => {
  let ctx: TestContext
  before(async () => {
    ctx = await createContext()
  })
  after(() => ctx.close())

  it("is its own, else its workspace's, else its region's; a removed pool is no longer used", async () => {
    const workspaceId = await ctx.newWorkspace()
    const added = await addDomain(ctx, { workspaceId, name: 'pools.example', region: 'af-south-1' })
    assert.ok('domain' in added)
    const { id } = added.domain
    await trustDomain(ctx.db, id)
    const pool = async (): Promise<string | null> => {
      const sending = await loadSendingDomain(ctx, id)
      return sending.kind === 'ready' ? sending.pool : null
    }
    assert.strictEqual(await pool(), 'af-south')
    for (const name of ['of-workspace', 'of-domain']) assert.strictEqual(await addPool(ctx, name), null)
    assert.strictEqual(await setEgressPool(ctx.db, { table: 'workspaces', id: workspaceId }, 'of-workspace'), null)
    assert.strictEqual(await pool(), 'of-workspace')
    assert.strictEqual(await setEgressPool(ctx.db, { table: 'domains', id }, 'of-domain'), null)
    assert.strictEqual(await pool(), 'of-domain')
    assert.deepEqual(
      (await listPools(ctx.db)).map(({ name, workspaces, domains }) => [name, workspaces, domains]),
      [
        ['of-domain', 0, 1],
        ['of-workspace', 1, 0],
      ],
    )
    assert.strictEqual(await removePool(ctx.db, 'of-domain'), null)
    assert.strictEqual(await pool(), 'of-workspace')
    assert.strictEqual(await setEgressPool(ctx.db, { table: 'workspaces', id: workspaceId }, null), null)
    assert.strictEqual(await pool(), 'af-south')
    assert.strictEqual(
      await setEgressPool(ctx.db, { table: 'domains', id }, 'none-such'),
      'no pool named none-such exists',
    )
  })
})
