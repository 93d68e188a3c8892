/**
 * Authentication on a real PostgreSQL: who is let in, how soon a change counts, and what happens while the database is
 * away.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { assert, expect } from 'chai'
import { pino } from 'pino'
import { loadConfig } from '#config/load.ts'
import { type Db, isDatabaseAway } from '#src/stores/db.ts'
import { createWorkspace } from '#src/workspaces/workspaces.ts'
import {
  adminKey,
  closeKeyringWorld,
  createdKey,
  keyringListens,
  openKeyringWorld,
  regularKey,
  storeDomain,
  type KeyringWorld,
} from '#test/support/keyring.ts'
import { createDatabase, startPostgres, type TestDatabase } from '#test/support/stores.ts'
import { until } from '#test/support/until.ts'
import { generateKey } from './key-format.ts'
import { deactivateKey } from './key-list.ts'
import { createKey, createKeyring } from './keys.ts'

describe('API keys', () => {
  let database: TestDatabase
  let world: KeyringWorld
  let workspace: { id: string; keyPart: string }

  before(async function () {
    this.timeout(120_000)
    database = await createDatabase()
  })
  after(() => database.drop())
  beforeEach(async () => {
    world = openKeyringWorld(database.url)
    workspace = await createWorkspace(world.db, { name: 'A workspace', plan: 'launch' })
    await keyringListens(world.db)
  })
  afterEach(() => closeKeyringWorld(world))

  describe('the keyring', () => {
    it('returns the caller', async () => {
      await world.db.query('UPDATE workspaces SET reply_to = $2 WHERE id = $1', [workspace.id, 'team@example.com'])
      const domainId = await storeDomain(world.db, workspace.id, 'verified', 'callers.example')
      const sending = createdKey(await createKey(world.db, regularKey(workspace.id, domainId)))
      const full = createdKey(await createKey(world.db, adminKey(workspace.id, { scopes: ['contacts:read'] })))
      const common = { workspaceId: workspace.id, plan: 'launch', replyTo: 'team@example.com', account: null }
      assert.deepEqual(await world.keyring.authenticate(sending.secretKey), {
        ...common,
        keyId: sending.id,
        kind: 'regular',
        scopes: [],
        domainId,
        domain: 'callers.example',
        domainStatus: 'verified',
      })
      assert.deepEqual(await world.keyring.authenticate(full.secretKey), {
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
      const { secretKey } = createdKey(await createKey(world.db, adminKey(workspace.id)))
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
        generateKey('ms', workspace.keyPart, 'admin'),
        '\0'.repeat(200),
        'a'.repeat(1_000_000),
      ]
      for (const stranger of strangers)
        assert.strictEqual(await world.keyring.authenticate(stranger), null, stranger.slice(0, 80))
    })

    it('queries PostgreSQL once for many calls with one key', async () => {
      const { secretKey } = createdKey(await createKey(world.db, adminKey(workspace.id)))
      const callers = await Promise.all(Array.from({ length: 100 }, () => world.keyring.authenticate(secretKey)))
      for (let i = 0; i < 100; i++) callers.push(await world.keyring.authenticate(secretKey))
      assert.strictEqual(
        callers.every((caller) => caller?.workspaceId === workspace.id),
        true,
      )
      assert.strictEqual(world.lookups(), 1)
    })

    it('queries once for many concurrent keys', async () => {
      const domainId = await storeDomain(world.db, workspace.id)
      const keys = await Promise.all(
        Array.from({ length: 50 }, async () =>
          createdKey(await createKey(world.db, regularKey(workspace.id, domainId))),
        ),
      )
      const callers = await Promise.all(keys.map((key) => world.keyring.authenticate(key.secretKey)))
      assert.deepEqual(
        callers.map((caller) => caller?.keyId),
        keys.map((key) => key.id),
      )
      assert.strictEqual(world.lookups(), 1)
    })

    it('queries again when the entry expires', async () => {
      const { secretKey } = createdKey(await createKey(world.db, adminKey(workspace.id)))
      await world.keyring.authenticate(secretKey)
      world.clock.ms += 4999
      await world.keyring.authenticate(secretKey)
      assert.strictEqual(world.lookups(), 1)
      world.clock.ms += 1
      await world.keyring.authenticate(secretKey)
      assert.strictEqual(world.lookups(), 2)
    })

    it('caches an unknown key only briefly', async () => {
      const unknown = generateKey('ms', workspace.keyPart, 'admin')
      for (let i = 0; i < 5; i++) await world.keyring.authenticate(unknown)
      assert.strictEqual(world.lookups(), 1)
      world.clock.ms += 1000
      await world.keyring.authenticate(unknown)
      assert.strictEqual(world.lookups(), 2)
    })

    it('rejects an expired key without a query', async () => {
      const { secretKey } = createdKey(
        await createKey(world.db, adminKey(workspace.id, { expiresAt: new Date(world.clock.ms + 2000) })),
      )
      assert.notStrictEqual(await world.keyring.authenticate(secretKey), null)
      world.clock.ms += 1999
      assert.notStrictEqual(await world.keyring.authenticate(secretKey), null)
      world.clock.ms += 1
      assert.strictEqual(await world.keyring.authenticate(secretKey), null)
      assert.strictEqual(world.lookups(), 1)
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
          await createKey(world.db, regularKey(workspace.id, await storeDomain(world.db, workspace.id))),
        )
        const before = await world.keyring.authenticate(key.secretKey)
        assert.notStrictEqual(before, null)
        await world.db.query(statement, [key.id])
        await until(async () => {
          const now = await world.keyring.authenticate(key.secretKey)
          return ends ? now === null : now !== null && JSON.stringify(now) !== JSON.stringify(before)
        })
      })
    }

    it('takes effect immediately: a key that is activated again', async () => {
      const { secretKey, id } = createdKey(await createKey(world.db, adminKey(workspace.id)))
      await deactivateKey(world.db, id)
      await until(async () => (await world.keyring.authenticate(secretKey)) === null)
      await world.db.query('UPDATE api_keys SET is_active = true WHERE id = $1', [id])
      await until(async () => (await world.keyring.authenticate(secretKey)) !== null)
    })

    it('keeps its cache when a key is used', async () => {
      const { secretKey, id } = createdKey(await createKey(world.db, adminKey(workspace.id)))
      await world.keyring.authenticate(secretKey)
      await world.db.query('UPDATE api_keys SET last_used_at = now() WHERE id = $1', [id])
      await world.db.query(`UPDATE workspaces SET name = 'Renamed' WHERE id = $1`, [workspace.id])
      await world.db.query('NOTIFY mailstead_other')
      await sleep(50)
      await world.keyring.authenticate(secretKey)
      assert.strictEqual(world.lookups(), 1)
    })

    it('does not cache a lookup that started before a change', async () => {
      const { secretKey, id } = createdKey(await createKey(world.db, adminKey(workspace.id)))
      const gate = Promise.withResolvers<void>()
      const reached = Promise.withResolvers<void>()
      const slow: Db = {
        ...world.db,
        query: async (statement, values) => {
          const answer = await world.db.query(statement, values)
          reached.resolve()
          await gate.promise
          return answer as never
        },
      }
      const config = loadConfig({ DATABASE_URL: database.url })
      const keyring = createKeyring({
        config,
        db: slow,
        clock: { now: () => world.clock.ms },
        log: pino({ level: 'silent' }),
      })
      try {
        const early = keyring.authenticate(secretKey)
        await reached.promise
        await deactivateKey(world.db, id)
        await until(async () => (await world.keyring.authenticate(secretKey)) === null)
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
      const { secretKey, id } = createdKey(await createKey(world.db, adminKey(workspace.id)))
      const unused = createdKey(await createKey(world.db, adminKey(workspace.id)))
      await world.keyring.authenticate(secretKey)
      world.clock.ms += 1500
      await world.keyring.authenticate(secretKey)
      await world.keyring.stop()
      const { rows } = await world.db.query<{ id: string; last_used_at: Date | null }>(
        'SELECT id, last_used_at FROM api_keys WHERE workspace_id = $1',
        [workspace.id],
      )
      assert.strictEqual(rows.find((row) => row.id === id)?.last_used_at?.getTime(), world.clock.ms)
      assert.strictEqual(rows.find((row) => row.id === unused.id)?.last_used_at, null)
    })
  })
})

describe('the keyring while PostgreSQL is unavailable', () => {
  it('accepts cached keys, rejects the call for others, and listens again afterwards', async function () {
    this.timeout(120_000)
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
