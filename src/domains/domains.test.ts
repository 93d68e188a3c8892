/** Sending domains on a real PostgreSQL and a real DNS server: made, told apart by workspace, verified by what DNS says. */
import assert from 'node:assert/strict'
import { createPrivateKey, createPublicKey } from 'node:crypto'
import { pino } from 'pino'
import { type Config, loadConfig } from '#config/load.ts'
import { systemClock } from '#src/clock.ts'
import { type Db, openDb } from '#src/db.ts'
import { newId } from '#src/id.ts'
import { openVault } from '#src/vault.ts'
import { createWorkspace } from '#src/workspaces/workspaces.ts'
import { startDns, type TestDns } from '#test/support/dns.ts'
import { createDatabase, type TestDatabase } from '#test/support/stores.ts'
import { addDomain, type AddedDomain, type Domain, findDomain, listDomains, searchDomains, trustDomain } from './domains.ts'
import { dkimName } from './records.ts'
import { loadSigningKeys } from './signing-keys.ts'
import { createTxtLookup } from './txt.ts'
import { verifyDomain } from './verify.ts'

describe('sending domains', () => {
  const vault = openVault(Buffer.alloc(32, 7))
  const log = pino({ level: 'silent' })
  let database: TestDatabase
  let db: Db
  let dns: TestDns
  let config: Config
  let mine: string
  let theirs: string
  let names = 0

  before(async function () {
    this.timeout(120_000)
    database = await createDatabase()
    db = openDb(database.url, log)
    dns = await startDns({})
    config = loadConfig({ DATABASE_URL: database.url, DNS_SERVERS: dns.server })
  })
  after(async () => {
    await db.close()
    await dns.stop()
    await database.drop()
  })
  beforeEach(async () => {
    mine = (await createWorkspace(db, { name: 'Mine', plan: 'free' })).id
    theirs = (await createWorkspace(db, { name: 'Theirs', plan: 'free' })).id
  })

  function present(result: AddedDomain): Domain {
    if (result.kind !== 'added') assert.fail(result.kind)
    return result.domain
  }

  async function add(workspaceId: string, name = `d${names++}.example`): Promise<Domain> {
    return present(await addDomain({ db, vault }, workspaceId, name))
  }

  function publish(domain: Domain, change: (value: string, algorithm: string) => readonly string[] = (value) => [value]): void {
    for (const { selector, algorithm, dnsValue } of domain.keys) dns.zone[dkimName(selector, domain.domain)] = { TXT: change(dnsValue, algorithm) }
  }

  async function verify(domain: Domain): Promise<string> {
    const { kind, checks } = await verifyDomain({ config, db }, domain)
    return `${kind}: ${checks.map(({ status }) => status).join(' ')}`
  }

  async function statusOf(domain: Domain): Promise<string | undefined> {
    return (await findDomain(db, domain.workspaceId, domain.id))?.status
  }

  describe('added', () => {
    it('are pending, with an RSA and an Ed25519 key that fit what is to be published', async () => {
      const domain = await add(mine, 'Shop.Example.')
      assert.deepEqual([domain.domain, domain.status, domain.region, domain.verifiedAt], ['shop.example', 'pending', 'us-east-1', null])
      assert.deepEqual(domain.keys.map((key) => key.algorithm), ['rsa-sha256', 'ed25519-sha256'])
      assert.equal(await loadSigningKeys({ config, db, vault, log, clock: systemClock, redis: null as never }, domain.id), null)
      await trustDomain(db, domain.id)
      const keys = await loadSigningKeys({ config, db, vault, log, clock: systemClock, redis: null as never }, domain.id) ?? []
      assert.deepEqual(keys.map(({ domain: name, algorithm, selector }) => [name, algorithm, selector]), domain.keys.map(({ algorithm, selector }) => ['shop.example', algorithm, selector]))
      const rsa = createPublicKey(createPrivateKey({ key: keys[0]?.privateKey() ?? Buffer.alloc(0), type: 'pkcs8', format: 'der' }))
      assert.equal(domain.keys[0]?.dnsValue.endsWith(`p=${rsa.export({ type: 'spki', format: 'der' }).toString('base64')}`), true)
    })

    it('have private keys that are stored sealed', async () => {
      const domain = await add(mine)
      const { rows } = await db.query<{ private_key: Buffer }>('SELECT private_key FROM dkim_keys WHERE domain_id = $1', [domain.id])
      for (const { private_key: sealed } of rows) {
        assert.throws(() => createPrivateKey({ key: sealed, type: 'pkcs8', format: 'der' }))
        assert.throws(() => openVault(Buffer.alloc(32, 8)).open('dkim', sealed), /MASTER_KEY/)
      }
      assert.equal(rows.length, 2)
    })

    it('once only, also when many ask together', async () => {
      const results = await Promise.all(Array.from({ length: 5 }, () => addDomain({ db, vault }, mine, 'together.example')))
      assert.deepEqual(results.map((result) => result.kind).toSorted(), ['added', 'exists', 'exists', 'exists', 'exists'])
      assert.equal(new Set(results.map((result) => 'domain' in result && result.domain.id)).size, 1)
      assert.equal((await addDomain({ db, vault }, mine, 'TOGETHER.example')).kind, 'exists')
    })

    it('not under a name that is none, and not to a workspace that is not there', async () => {
      assert.deepEqual(await addDomain({ db, vault }, mine, 'nodot'), { kind: 'invalid', reason: 'the domain has no dot' })
      assert.deepEqual(await addDomain({ db, vault }, newId(), 'a.example'), { kind: 'no-workspace' })
    })

    it('in the region that was asked for', async () => {
      assert.equal(present(await addDomain({ db, vault }, mine, 'africa.example', 'af-south-1')).region, 'af-south-1')
    })
  })

  describe('are told apart by workspace', () => {
    it('when they are found and listed', async () => {
      const domain = await add(mine, 'apart.example')
      assert.equal((await findDomain(db, mine, 'APART.example'))?.id, domain.id)
      assert.equal((await findDomain(db, mine, domain.id))?.id, domain.id)
      assert.equal(await findDomain(db, theirs, 'apart.example'), null)
      assert.equal(await findDomain(db, theirs, domain.id), null)
      assert.deepEqual((await listDomains(db, mine, 10)).map(({ id }) => id), [domain.id])
      assert.deepEqual(await listDomains(db, theirs, 10), [])
      for (const text of ['', 'x', newId(), `' OR true --`]) assert.equal(await findDomain(db, mine, text), null)
    })

    it('and both may claim one name, with different selectors; the one that holds it comes first', async () => {
      const [first, second] = [await add(mine, 'both.example'), await add(theirs, 'both.example')]
      assert.notEqual(first.keys[0]?.selector, second.keys[0]?.selector)
      await trustDomain(db, second.id)
      assert.deepEqual((await searchDomains(db, 'both.example')).map(({ id }) => id), [second.id, first.id])
    })
  })

  describe('are verified', () => {
    it('when both keys are there, and when only RSA is', async () => {
      const [full, half] = [await add(mine), await add(mine)]
      publish(full)
      publish(half, (value, algorithm) => algorithm === 'rsa-sha256' ? [value] : [])
      assert.equal(await verify(full), 'verified: ok ok')
      assert.equal(await verify(half), 'verified: ok missing')
      assert.deepEqual([await statusOf(full), await statusOf(half)], ['verified', 'verified'])
      assert.notEqual((await findDomain(db, mine, full.id))?.verifiedAt, null)
    })

    it('not without the RSA key, whatever else is there', async () => {
      const cases: readonly [answer: string, change: (value: string, algorithm: string) => readonly string[]][] = [
        ['not-verified: missing ok', (value, algorithm) => algorithm === 'rsa-sha256' ? [] : [value]],
        ['not-verified: missing missing', () => []],
        ['not-verified: wrong wrong', (value) => [`"${value}"`]],
        ['not-verified: wrong ok', (value, algorithm) => [algorithm === 'rsa-sha256' ? value.slice(0, 255) : value]],
        ['not-verified: wrong wrong', (value) => [value, 'v=DKIM1; p=other']],
      ]
      for (const [answer, change] of cases) {
        const domain = await add(mine)
        publish(domain, change)
        assert.equal(await verify(domain), answer)
        assert.equal(await statusOf(domain), 'pending')
      }
    })

    it('not by keys of another workspace that claims the same name', async () => {
      const [ours, other] = [await add(mine, 'contested.example'), await add(theirs, 'contested.example')]
      publish(ours)
      assert.equal(await verify(other), 'not-verified: missing missing')
      assert.equal(await verify(ours), 'verified: ok ok')
      publish(other)
      assert.equal(await verify(other), 'taken: ok ok')
      assert.equal(await statusOf(other), 'pending')
    })

    it('and say that DNS did not answer, which proves nothing', async () => {
      const domain = await add(mine)
      for (const { selector } of domain.keys) dns.zone[dkimName(selector, domain.domain)] = { trouble: 'servfail' }
      assert.equal(await verify(domain), 'not-verified: unknown unknown')
    })

    it('and explain a name that has the domain twice', async () => {
      const domain = await add(mine)
      const [rsa] = domain.keys
      const name = dkimName(rsa?.selector ?? '', domain.domain)
      dns.zone[`${name}.${domain.domain}`] = { TXT: [rsa?.dnsValue ?? ''] }
      const { checks: [check] } = await verifyDomain({ config, db }, domain)
      assert.equal(check?.message, `${name}: the record is at ${name}.${domain.domain}: enter its name as ${rsa?.selector}._domainkey, the domain is appended by itself`)
    })

    it('and stay so when the records are gone: that is for the regular checks', async () => {
      const domain = await add(mine)
      publish(domain)
      await verify(domain)
      publish(domain, () => [])
      assert.equal(await verify(domain), 'not-verified: missing missing')
      assert.equal(await statusOf(domain), 'verified')
    })
  })

  describe('are trusted', () => {
    it('by the operator, without DNS', async () => {
      const domain = await add(mine)
      assert.equal(await trustDomain(db, domain.id), 'verified')
      assert.equal(await trustDomain(db, domain.id), 'verified')
      assert.equal(await statusOf(domain), 'verified')
      assert.equal(await trustDomain(db, newId()), 'not-found')
    })

    it('by one workspace at a time', async () => {
      const domains = await Promise.all(Array.from({ length: 5 }, async () => add((await createWorkspace(db, { name: 'W', plan: 'free' })).id, 'rush.example')))
      const results = await Promise.all(domains.map((domain) => trustDomain(db, domain.id)))
      assert.deepEqual(results.toSorted(), ['taken', 'taken', 'taken', 'taken', 'verified'])
    })
  })

  it('ask a DNS server that is not there', async () => {
    const answer = await createTxtLookup(loadConfig({ DNS_SERVERS: '127.0.0.1:1' }))('a.example')
    assert.equal(answer.kind, 'failed')
  })

  it('ask the DNS server of the sandbox in sandbox mode', async () => {
    dns.zone['only.sandbox'] = { TXT: ['seen'] }
    const answer = await createTxtLookup(loadConfig({ SANDBOX_DNS_PORT: String(dns.port) }))('only.sandbox')
    assert.deepEqual(answer, { kind: 'answered', texts: ['seen'] })
  })
})
