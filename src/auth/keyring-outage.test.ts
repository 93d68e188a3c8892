/** Authentication while PostgreSQL is unavailable: the test crashes and restarts a server of its own. */
import { assert, expect } from 'chai'
import { isDatabaseAway } from '#src/stores/db.ts'
import { createWorkspace } from '#src/workspaces/workspaces.ts'
import { adminKey, closeKeyringWorld, createdKey, keyringListens, openKeyringWorld } from '#test/support/keyring.ts'
import { startPostgres } from '#test/support/stores.ts'
import { until } from '#test/support/until.ts'
import { generateKey } from './key-format.ts'
import { deactivateKey } from './key-list.ts'
import { createKey } from './keys.ts'

describe('the keyring while PostgreSQL is unavailable', () => {
  it('accepts cached keys, rejects the call for others, and listens again afterwards', async () => {
    const server = await startPostgres()
    const world = openKeyringWorld(server.url)
    try {
      const workspace = await createWorkspace(world.db, { name: 'W', plan: 'free' })
      const key = createdKey(await createKey(world.db, adminKey(workspace.id)))
      const other = createdKey(await createKey(world.db, adminKey(workspace.id)))
      await keyringListens(world.db)
      assert.strictEqual((await world.keyring.authenticate(key.secretKey))?.keyId, key.id)
      await server.crash()

      assert.strictEqual((await world.keyring.authenticate(key.secretKey))?.keyId, key.id)
      await expect(world.keyring.authenticate(other.secretKey)).to.be.rejected.and.eventually.satisfy(isDatabaseAway)
      await expect(
        world.keyring.authenticate(generateKey('ms', workspace.keyPart, 'admin')),
      ).to.be.rejected.and.eventually.satisfy(isDatabaseAway)
      world.clock.ms += 5000
      await expect(world.keyring.authenticate(key.secretKey)).to.be.rejected.and.eventually.satisfy(isDatabaseAway)

      await server.restart()
      await until(async () => (await world.keyring.authenticate(key.secretKey).catch(() => null)) !== null)
      await keyringListens(world.db)
      await world.keyring.authenticate(key.secretKey)
      await deactivateKey(world.db, key.id)
      await until(async () => (await world.keyring.authenticate(key.secretKey)) === null)
      assert.strictEqual((await world.keyring.authenticate(other.secretKey))?.keyId, other.id)
    } finally {
      await closeKeyringWorld(world)
      await server.stop()
    }
  })
})
