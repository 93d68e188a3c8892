/** API keys on a real PostgreSQL: which may be created, and what is stored of them. */
import { assert } from 'chai'
import { newId } from '#src/platform/id.ts'
import { createWorkspace } from '#src/workspaces/workspaces.ts'
import { adminKey, createdKey, regularKey, storeDomain, setUpKeyring } from '#test/support/keyring.ts'
import { hashKey } from './key-format.ts'
import { deactivateKey, listKeys } from './key-list.ts'
import { createKey } from './keys.ts'

describe('API keys', () => {
  const scene = setUpKeyring()

  describe('createKey', () => {
    it('stores only the hash', async () => {
      const key = createdKey(await createKey(scene.world.db, adminKey(scene.workspace.id)))
      const {
        rows: [row],
      } = await scene.world.db.query('SELECT k.*, k::text AS whole FROM api_keys k WHERE id = $1', [key.id])
      assert.deepEqual(row?.['secret_hash'], hashKey(key.secretKey))
      assert.strictEqual(String(row?.['whole']).includes(key.secretKey.slice(-64)), false)
      assert.match(key.secretKey, new RegExp(`^ms_${scene.workspace.keyPart}\\.adm_[a-f0-9]{64}$`))
    })

    it('creates exactly five admin keys in concurrent calls', async () => {
      const results = await Promise.all(
        Array.from({ length: 20 }, () => createKey(scene.world.db, adminKey(scene.workspace.id))),
      )
      assert.strictEqual(results.filter((result) => result.kind === 'created').length, 5)
      assert.deepEqual(
        results.filter((result) => result.kind !== 'created'),
        Array.from({ length: 15 }, () => ({ kind: 'too-many-admin-keys', max: 5 })),
      )
    })

    it("counts neither deactivated nor expired nor another workspace's admin keys", async () => {
      const keys = [createdKey(await createKey(scene.world.db, adminKey(scene.workspace.id)))]
      for (let i = 0; i < 3; i++) keys.push(createdKey(await createKey(scene.world.db, adminKey(scene.workspace.id))))
      createdKey(
        await createKey(scene.world.db, adminKey(scene.workspace.id, { expiresAt: new Date(Date.now() - 1000) })),
      )
      createdKey(await createKey(scene.world.db, adminKey(scene.workspace.id)))
      assert.strictEqual((await createKey(scene.world.db, adminKey(scene.workspace.id))).kind, 'too-many-admin-keys')
      await deactivateKey(scene.world.db, keys[0]?.id ?? '')
      createdKey(await createKey(scene.world.db, adminKey(scene.workspace.id)))
      const other = await createWorkspace(scene.world.db, { name: 'Another', plan: 'free' })
      createdKey(await createKey(scene.world.db, adminKey(other.id)))
    })

    it('has no limit for regular keys', async () => {
      const domainId = await storeDomain(scene.world.db, scene.workspace.id)
      const results = await Promise.all(
        Array.from({ length: 12 }, () => createKey(scene.world.db, regularKey(scene.workspace.id, domainId))),
      )
      assert.deepEqual(new Set(results.map((result) => result.kind)), new Set(['created']))
    })

    it('binds a regular key only to a verified domain of its workspace', async () => {
      const other = await createWorkspace(scene.world.db, { name: 'Another', plan: 'free' })
      for (const status of ['pending', 'failed', 'degraded']) {
        const domainId = await storeDomain(scene.world.db, scene.workspace.id, status, `${status}.example`)
        assert.deepEqual(await createKey(scene.world.db, regularKey(scene.workspace.id, domainId)), {
          kind: 'domain-not-verified',
          domain: `${status}.example`,
          status,
        })
      }
      assert.deepEqual(
        await createKey(scene.world.db, regularKey(scene.workspace.id, await storeDomain(scene.world.db, other.id))),
        {
          kind: 'no-domain',
        },
      )
      assert.deepEqual(await createKey(scene.world.db, regularKey(scene.workspace.id, newId())), { kind: 'no-domain' })
      assert.deepEqual(await createKey(scene.world.db, adminKey(newId())), { kind: 'no-workspace' })
    })

    it('lists keys by scene.workspace, newest first', async () => {
      const first = createdKey(await createKey(scene.world.db, adminKey(scene.workspace.id, { name: 'first' })))
      const second = createdKey(
        await createKey(
          scene.world.db,
          regularKey(
            scene.workspace.id,
            await storeDomain(scene.world.db, scene.workspace.id, 'verified', 'listed.example'),
            {
              name: 'second',
            },
          ),
        ),
      )
      const other = await createWorkspace(scene.world.db, { name: 'Another', plan: 'free' })
      createdKey(await createKey(scene.world.db, adminKey(other.id)))
      const { items: keys } = await listKeys(scene.world.db, scene.workspace.id, { page: 1, limit: 10 })
      assert.deepEqual(
        keys.map(({ id, name, kind, domain, isActive }) => ({ id, name, kind, domain, isActive })),
        [
          { id: second.id, name: 'second', kind: 'regular', domain: 'listed.example', isActive: true },
          { id: first.id, name: 'first', kind: 'admin', domain: null, isActive: true },
        ],
      )
    })
  })
})
