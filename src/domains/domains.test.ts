/**
 * Sending domains on a real PostgreSQL: added, separated by workspace, trusted, removed. inspect-records.test.ts covers
 * their DNS checks.
 */
import { createPrivateKey, createPublicKey } from 'node:crypto'
import { assert } from 'chai'
import { loadConfig } from '#config/load.ts'
import { newId } from '#src/platform/id.ts'
import { createEncryption } from '#src/crypto/encryption.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { startDns } from '#test/support/dns.ts'
import { createDomainDns } from './domain-dns.ts'
import { addDomain, type Domain, findDomain, listDomains, readDomains, searchDomains, trustDomain } from './domains.ts'
import { removeDomain } from './domain-removal.ts'
import { loadSendingDomain, type DomainSigningKey } from './signing-keys.ts'

describe('sending domains', () => {
  let ctx: TestContext
  let mine: string
  let theirs: string
  let names = 0

  before(async () => {
    ctx = await createContext()
  })
  after(() => ctx.close())
  beforeEach(async () => {
    mine = await ctx.newWorkspace()
    theirs = await ctx.newWorkspace()
  })

  async function add(workspaceId: string, name = `d${names++}.example`): Promise<Domain> {
    const added = await addDomain(ctx, { workspaceId, name })
    return added.kind === 'added' ? added.domain : assert.fail(added.kind)
  }

  async function keysOf(id: string): Promise<readonly DomainSigningKey[]> {
    const sending = await loadSendingDomain(ctx, id)
    return sending.kind === 'ready' ? sending.keys : assert.fail(sending.kind)
  }

  describe('added', () => {
    it('are pending, with an RSA and an Ed25519 key that match their DNS records', async () => {
      const domain = await add(mine, 'Shop.Example.')
      assert.deepEqual(
        [domain.domain, domain.status, domain.region, domain.verifiedAt, domain.checks],
        ['shop.example', 'pending', 'us-east-1', null, null],
      )
      assert.deepEqual(
        domain.keys.map(({ algorithm, state }) => [algorithm, state]),
        [
          ['rsa-sha256', 'active'],
          ['ed25519-sha256', 'active'],
        ],
      )
      assert.deepEqual(await loadSendingDomain(ctx, domain.id), { kind: 'not-verified' })
      await trustDomain(ctx.db, domain.id)
      const keys = await keysOf(domain.id)
      assert.deepEqual(
        keys.map(({ domain: name, algorithm, selector }) => [name, algorithm, selector]),
        domain.keys.map(({ algorithm, selector }) => ['shop.example', algorithm, selector]),
      )
      const rsa = createPublicKey(
        createPrivateKey({ key: keys[0]?.privateKey() ?? Buffer.alloc(0), type: 'pkcs8', format: 'der' }),
      )
      assert.ok(
        domain.keys[0]?.dnsValue.endsWith(`p=${rsa.export({ type: 'spki', format: 'der' }).toString('base64')}`),
      )
    })

    it('have encrypted private keys', async () => {
      const domain = await add(mine)
      const { rows } = await ctx.db.query<{ private_key: Buffer }>(
        'SELECT private_key FROM dkim_keys WHERE domain_id = $1',
        [domain.id],
      )
      for (const { private_key: encrypted } of rows) {
        assert.throws(() => createPrivateKey({ key: encrypted, type: 'pkcs8', format: 'der' }))
        assert.throws(() => createEncryption(Buffer.alloc(32, 8)).decrypt('dkim', encrypted), /MASTER_KEY/)
      }
      assert.strictEqual(rows.length, 2)
    })

    it('once only, even by concurrent requests', async () => {
      const results = await Promise.all(
        Array.from({ length: 5 }, () => addDomain(ctx, { workspaceId: mine, name: 'together.example' })),
      )
      assert.deepEqual(results.map(({ kind }) => kind).toSorted(), ['added', 'exists', 'exists', 'exists', 'exists'])
      assert.strictEqual(new Set(results.map((result) => 'domain' in result && result.domain.id)).size, 1)
      assert.strictEqual((await addDomain(ctx, { workspaceId: mine, name: 'TOGETHER.example' })).kind, 'exists')
    })

    it('exactly up to the limit of the plan, even by concurrent requests', async () => {
      const results = await Promise.all(
        Array.from({ length: 12 }, (_, i) => addDomain(ctx, { workspaceId: mine, name: `many${i}.example`, max: 4 })),
      )
      assert.strictEqual(results.filter(({ kind }) => kind === 'added').length, 4)
      assert.strictEqual(results.filter(({ kind }) => kind === 'too-many').length, 8)
      assert.strictEqual((await readDomains(ctx.db, mine, { page: 1, limit: 2 })).total, 4)
    })

    it('not with an invalid name, and not to an unknown workspace', async () => {
      assert.deepEqual(await addDomain(ctx, { workspaceId: mine, name: 'nodot' }), {
        kind: 'invalid',
        reason: 'the domain has no dot',
      })
      assert.deepEqual(await addDomain(ctx, { workspaceId: newId(), name: 'a.example' }), { kind: 'no-workspace' })
    })

    it('in the requested region', async () => {
      const added = await addDomain(ctx, { workspaceId: mine, name: 'africa.example', region: 'af-south-1' })
      assert.strictEqual(added.kind === 'added' && added.domain.region, 'af-south-1')
    })
  })

  describe('are separated by workspace', () => {
    it('when they are found, listed and removed', async () => {
      const domain = await add(mine, 'apart.example')
      assert.strictEqual((await findDomain(ctx.db, mine, 'APART.example'))?.id, domain.id)
      assert.strictEqual((await findDomain(ctx.db, mine, domain.id))?.id, domain.id)
      assert.strictEqual(await findDomain(ctx.db, theirs, 'apart.example'), null)
      assert.strictEqual(await findDomain(ctx.db, theirs, domain.id), null)
      assert.deepEqual(
        (await listDomains(ctx.db, mine, 10)).map(({ id }) => id),
        [domain.id],
      )
      assert.deepEqual(await listDomains(ctx.db, theirs, 10), [])
      assert.strictEqual(await removeDomain(ctx, theirs, domain.id), false)
      for (const text of ['', 'x', newId(), `' OR true --`])
        assert.strictEqual(await findDomain(ctx.db, mine, text), null)
    })

    it('and two may claim one name, with different selectors; the verified one comes first', async () => {
      const [first, second] = [await add(mine, 'both.example'), await add(theirs, 'both.example')]
      assert.notStrictEqual(first.keys[0]?.selector, second.keys[0]?.selector)
      await trustDomain(ctx.db, second.id)
      assert.deepEqual(
        (await searchDomains(ctx.db, 'both.example')).map(({ id }) => id),
        [second.id, first.id],
      )
    })
  })

  it('are removed once, with their keys, and the worker is to fail their mail', async () => {
    const domain = await add(mine)
    const both = await Promise.all([removeDomain(ctx, mine, domain.id), removeDomain(ctx, mine, domain.id)])
    assert.deepEqual(
      both.filter((isRemoved) => isRemoved),
      [true],
    )
    assert.deepEqual(await loadSendingDomain(ctx, domain.id), { kind: 'gone' })
    const { rows } = await ctx.db.query(
      'SELECT domain FROM domain_removals WHERE domain_id = $1 AND workspace_id = $2',
      [domain.id, mine],
    )
    assert.deepEqual(rows, [{ domain: domain.domain }])
    assert.strictEqual((await addDomain(ctx, { workspaceId: mine, name: domain.domain })).kind, 'added')
  })

  describe('are trusted', () => {
    it('by the operator, without DNS', async () => {
      const domain = await add(mine)
      assert.strictEqual(await trustDomain(ctx.db, domain.id), 'verified')
      assert.strictEqual(await trustDomain(ctx.db, domain.id), 'verified')
      assert.strictEqual((await findDomain(ctx.db, mine, domain.id))?.status, 'verified')
      assert.strictEqual(await trustDomain(ctx.db, newId()), 'not-found')
    })

    it('by one workspace at a time', async () => {
      const domains = await Promise.all(
        Array.from({ length: 5 }, async () => add(await ctx.newWorkspace(), 'rush.example')),
      )
      const results = await Promise.all(domains.map((domain) => trustDomain(ctx.db, domain.id)))
      assert.deepEqual(results.toSorted(), ['taken', 'taken', 'taken', 'taken', 'verified'])
    })
  })

  describe('query DNS', () => {
    it('and report an unreachable server as a failure', async () => {
      assert.strictEqual(
        (await createDomainDns(loadConfig({ DNS_SERVERS: '127.0.0.1:1' })).txt('a.example')).kind,
        'failed',
      )
    })

    it('of the sandbox in sandbox mode', async () => {
      const dns = await startDns({ 'only.sandbox': { TXT: ['seen'] } })
      const answer = await createDomainDns(loadConfig({ SANDBOX_DNS_PORT: String(dns.port) })).txt('only.sandbox')
      await dns.stop()
      assert.deepEqual(answer, { kind: 'answered', records: ['seen'] })
    })
  })
})
