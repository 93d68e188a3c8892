/** Authentication on a real PostgreSQL: which keys are accepted, and how soon a change counts. */
import { setTimeout as sleep } from 'node:timers/promises'
import { assert } from 'chai'
import { pino } from 'pino'
import { loadConfig } from '#config/load.ts'
import type { Db } from '#src/stores/db.ts'
import { adminKey, createdKey, regularKey, setUpKeyring, storeDomain } from '#test/support/keyring.ts'
import { until } from '#test/support/until.ts'
import { generateKey } from './key-format.ts'
import { deactivateKey } from './key-list.ts'
import { createKey, createKeyring } from './keys.ts'

describe('API keys', () => {
  const scene = setUpKeyring()

  describe('the keyring', () => {
    it('returns the caller', async () => {
      await scene.world.db.query('UPDATE workspaces SET reply_to = $2 WHERE id = $1', [
        scene.workspace.id,
        'team@example.com',
      ])
      const domainId = await storeDomain(scene.world.db, scene.workspace.id, 'verified', 'callers.example')
      const sending = createdKey(await createKey(scene.world.db, regularKey(scene.workspace.id, domainId)))
      const full = createdKey(
        await createKey(scene.world.db, adminKey(scene.workspace.id, { scopes: ['contacts:read'] })),
      )
      const common = {
        workspaceId: scene.workspace.id,
        plan: 'launch',
        replyTo: 'team@example.com',
        account: null,
        isSuspended: false,
        networks: [],
      }
      assert.deepEqual(await scene.world.keyring.authenticate(sending.secretKey), {
        ...common,
        keyId: sending.id,
        kind: 'regular',
        scopes: [],
        domainId,
        domain: 'callers.example',
        domainStatus: 'verified',
      })
      assert.deepEqual(await scene.world.keyring.authenticate(full.secretKey), {
        ...common,
        keyId: full.id,
        kind: 'admin',
        scopes: ['contacts:read'],
        domainId: null,
        domain: null,
        domainStatus: null,
      })
    })

    it('rejects all other keys', async () => {
      const { secretKey } = createdKey(await createKey(scene.world.db, adminKey(scene.workspace.id)))
      const last = secretKey.endsWith('0') ? '1' : '0'
      const strangers = [
        '',
        'x',
        `Bearer ${secretKey}`,
        `${secretKey} `,
        secretKey.toUpperCase(),
        `${secretKey.slice(0, -1)}${last}`,
        secretKey.replace('.adm_', '.live_'),
        secretKey.replace(/^ms/, 'other'),
        generateKey('ms', scene.workspace.keyPart, 'admin'),
        '\0'.repeat(200),
        'a'.repeat(1_000_000),
      ]
      for (const stranger of strangers)
        assert.strictEqual(await scene.world.keyring.authenticate(stranger), null, stranger.slice(0, 80))
    })

    it('queries PostgreSQL once for many calls with one key', async () => {
      const { secretKey } = createdKey(await createKey(scene.world.db, adminKey(scene.workspace.id)))
      const callers = await Promise.all(Array.from({ length: 100 }, () => scene.world.keyring.authenticate(secretKey)))
      for (let i = 0; i < 100; i++) callers.push(await scene.world.keyring.authenticate(secretKey))
      assert.strictEqual(
        callers.every((caller) => caller?.workspaceId === scene.workspace.id),
        true,
      )
      assert.strictEqual(scene.world.lookups(), 1)
    })

    it('queries once for many concurrent keys', async () => {
      const domainId = await storeDomain(scene.world.db, scene.workspace.id)
      const keys = await Promise.all(
        Array.from({ length: 50 }, async () =>
          createdKey(await createKey(scene.world.db, regularKey(scene.workspace.id, domainId))),
        ),
      )
      const callers = await Promise.all(keys.map((key) => scene.world.keyring.authenticate(key.secretKey)))
      assert.deepEqual(
        callers.map((caller) => caller?.keyId),
        keys.map((key) => key.id),
      )
      assert.strictEqual(scene.world.lookups(), 1)
    })

    it('queries again when the entry expires', async () => {
      const { secretKey } = createdKey(await createKey(scene.world.db, adminKey(scene.workspace.id)))
      await scene.world.keyring.authenticate(secretKey)
      scene.world.clock.ms += 4999
      await scene.world.keyring.authenticate(secretKey)
      assert.strictEqual(scene.world.lookups(), 1)
      scene.world.clock.ms += 1
      await scene.world.keyring.authenticate(secretKey)
      assert.strictEqual(scene.world.lookups(), 2)
    })

    it('caches an unknown key only briefly', async () => {
      const unknown = generateKey('ms', scene.workspace.keyPart, 'admin')
      for (let i = 0; i < 5; i++) await scene.world.keyring.authenticate(unknown)
      assert.strictEqual(scene.world.lookups(), 1)
      scene.world.clock.ms += 1000
      await scene.world.keyring.authenticate(unknown)
      assert.strictEqual(scene.world.lookups(), 2)
    })

    it('rejects an expired key without a query', async () => {
      const { secretKey } = createdKey(
        await createKey(
          scene.world.db,
          adminKey(scene.workspace.id, { expiresAt: new Date(scene.world.clock.ms + 2000) }),
        ),
      )
      assert.notStrictEqual(await scene.world.keyring.authenticate(secretKey), null)
      scene.world.clock.ms += 1999
      assert.notStrictEqual(await scene.world.keyring.authenticate(secretKey), null)
      scene.world.clock.ms += 1
      assert.strictEqual(await scene.world.keyring.authenticate(secretKey), null)
      assert.strictEqual(scene.world.lookups(), 1)
    })

    // The clock stands still: without the announcement, every one of these would go on for ever.
    const changes: readonly [what: string, statement: string, ends: boolean][] = [
      ['a deactivated key', 'UPDATE api_keys SET is_active = false WHERE id = $1', true],
      ['a key that was made to expire', `UPDATE api_keys SET expires_at = '2020-01-01' WHERE id = $1`, true],
      ['a deleted key', 'DELETE FROM api_keys WHERE id = $1', true],
      [
        'the key of a deleted domain',
        'DELETE FROM domains WHERE id = (SELECT domain_id FROM api_keys WHERE id = $1)',
        true,
      ],
      [
        'the key of a deleted workspace',
        'DELETE FROM workspaces WHERE id = (SELECT workspace_id FROM api_keys WHERE id = $1)',
        true,
      ],
      [
        'the state of the domain',
        `UPDATE domains SET verification_status = 'failed' WHERE id = (SELECT domain_id FROM api_keys WHERE id = $1)`,
        false,
      ],
      [
        'the plan',
        `UPDATE workspaces SET plan = 'free' WHERE id = (SELECT workspace_id FROM api_keys WHERE id = $1)`,
        false,
      ],
      [
        'the reply-to',
        `UPDATE workspaces SET reply_to = 'x@example.com' WHERE id = (SELECT workspace_id FROM api_keys WHERE id = $1)`,
        false,
      ],
      ['the scopes', `UPDATE api_keys SET scopes = '{contacts:read}' WHERE id = $1`, false],
    ]
    for (const [what, statement, ends] of changes) {
      it(`takes effect immediately: ${what}`, async () => {
        const key = createdKey(
          await createKey(
            scene.world.db,
            regularKey(scene.workspace.id, await storeDomain(scene.world.db, scene.workspace.id)),
          ),
        )
        const before = await scene.world.keyring.authenticate(key.secretKey)
        assert.notStrictEqual(before, null)
        await scene.world.db.query(statement, [key.id])
        await until(async () => {
          const now = await scene.world.keyring.authenticate(key.secretKey)
          return ends ? now === null : now !== null && JSON.stringify(now) !== JSON.stringify(before)
        })
      })
    }

    it('takes effect immediately: a key that is activated again', async () => {
      const { secretKey, id } = createdKey(await createKey(scene.world.db, adminKey(scene.workspace.id)))
      await deactivateKey(scene.world.db, id)
      await until(async () => (await scene.world.keyring.authenticate(secretKey)) === null)
      await scene.world.db.query('UPDATE api_keys SET is_active = true WHERE id = $1', [id])
      await until(async () => (await scene.world.keyring.authenticate(secretKey)) !== null)
    })

    it('keeps its cache when a key is used', async () => {
      const { secretKey, id } = createdKey(await createKey(scene.world.db, adminKey(scene.workspace.id)))
      await scene.world.keyring.authenticate(secretKey)
      await scene.world.db.query('UPDATE api_keys SET last_used_at = now() WHERE id = $1', [id])
      await scene.world.db.query(`UPDATE workspaces SET name = 'Renamed' WHERE id = $1`, [scene.workspace.id])
      await scene.world.db.query('NOTIFY mailstead_other')
      await sleep(50)
      await scene.world.keyring.authenticate(secretKey)
      assert.strictEqual(scene.world.lookups(), 1)
    })

    it('does not cache a lookup that started before a change', async () => {
      const { secretKey, id } = createdKey(await createKey(scene.world.db, adminKey(scene.workspace.id)))
      const gate = Promise.withResolvers<void>()
      const reached = Promise.withResolvers<void>()
      const slow: Db = {
        ...scene.world.db,
        query: async (statement, values) => {
          const answer = await scene.world.db.query(statement, values)
          reached.resolve()
          await gate.promise
          return answer as never
        },
      }
      const config = loadConfig({ DATABASE_URL: scene.database.url })
      const keyring = createKeyring({
        config,
        db: slow,
        clock: { now: () => scene.world.clock.ms },
        log: pino({ level: 'silent' }),
      })
      try {
        const early = keyring.authenticate(secretKey)
        await reached.promise
        await deactivateKey(scene.world.db, id)
        await until(async () => (await scene.world.keyring.authenticate(secretKey)) === null)
        await sleep(50) // the other keyring's announcement came through the same server a moment ago
        gate.resolve()
        assert.strictEqual((await early)?.keyId, id) // it was asked before the change
        await until(async () => (await keyring.authenticate(secretKey)) === null)
      } finally {
        gate.resolve()
        await keyring.stop()
      }
    })

    it('stores the time of the last use', async () => {
      const { secretKey, id } = createdKey(await createKey(scene.world.db, adminKey(scene.workspace.id)))
      const unused = createdKey(await createKey(scene.world.db, adminKey(scene.workspace.id)))
      await scene.world.keyring.authenticate(secretKey)
      scene.world.clock.ms += 1500
      await scene.world.keyring.authenticate(secretKey)
      await scene.world.keyring.stop()
      const { rows } = await scene.world.db.query<{ id: string; last_used_at: Date | null }>(
        'SELECT id, last_used_at FROM api_keys WHERE workspace_id = $1',
        [scene.workspace.id],
      )
      assert.strictEqual(rows.find((row) => row.id === id)?.last_used_at?.getTime(), scene.world.clock.ms)
      assert.strictEqual(rows.find((row) => row.id === unused.id)?.last_used_at, null)
    })
  })
})
