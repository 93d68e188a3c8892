/** The policy of a domain, with a real DNS server, a real policy host and the policy table in a real PostgreSQL. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ServerResponse } from 'node:http'
import { assert } from 'chai'
import { createResolver } from '#mta/route/resolve.ts'
import { createHttpClient, type HttpClient } from '#src/net/http-client.ts'
import { createAuthority, type Authority } from '#test/support/certificate.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { startDns, type TestDns } from '#test/support/dns.ts'
import { ENFORCE, startPolicyHost, type PolicyHost } from '#test/support/policy-host.ts'
import { until } from '#test/support/until.ts'
import { createStsFetch } from './sts-fetch.ts'
import { createStsStore } from './sts-store.ts'
import { createSts, type Sts } from './sts.ts'

const MINUTES = 60_000

describe('MTA-STS: the policy of a domain', () => {
  let dns: TestDns
  let host: PolicyHost
  let ctx: TestContext
  let outgoing: HttpClient
  let authority: Authority
  const folder = mkdtempSync('/tmp/mailstead-test-sts-')
  const resolvers: { stop(): void }[] = []
  let domains = 0

  before(async () => {
    authority = await createAuthority()
    const extraCaFile = join(folder, 'ca.pem')
    writeFileSync(extraCaFile, authority.cert)
    dns = await startDns({})
    host = await startPolicyHost(authority)
    ctx = await createContext({
      DNS_SERVERS: dns.server,
      EXTRA_CA_FILE: extraCaFile,
      ALLOW_PRIVATE_TARGETS: '127.0.0.0/8',
      MAILSTEAD_HOSTNAME: 'mta.sender.example',
    })
    outgoing = createHttpClient(ctx.config)
  })
  after(async () => {
    resolvers.forEach((resolver) => resolver.stop())
    outgoing.close()
    await ctx.close()
    await Promise.all([dns.stop(), host.stop()])
    rmSync(folder, { recursive: true })
  })

  /** The policies of a process that has just started. It waits for every fetch, also on a busy machine. */
  function fresh(patienceMs = MINUTES): Sts {
    const { clock } = ctx
    const resolver = createResolver({ config: ctx.config, clock })
    resolvers.push(resolver)
    return createSts({
      clock,
      store: createStsStore(ctx),
      fetchPolicy: createStsFetch(outgoing, host.port),
      txt: (name) => resolver.txt(name),
      fetchWaitMs: patienceMs,
    })
  }
  function newDomain(policy: Parameters<PolicyHost['publish']>[2] = ENFORCE('mx.test')): string {
    const domain = `d${++domains}.example`
    host.publish(dns.zone, domain, policy)
    return domain
  }
  const fetchesOf = (domain: string): number => host.requests.filter((name) => name === `mta-sts.${domain}`).length
  const idOf = async (sts: Sts, domain: string): Promise<string | null> => (await sts.find(domain)).policy?.id ?? null

  it('is fetched once for many concurrent callers, and stored for the next process', async () => {
    const domain = newDomain()
    const sts = fresh()
    const found = await Promise.all([sts.find(domain), sts.find(domain), sts.find(domain)])
    assert.containsSubset(found[0], {
      policy: { id: '1', mode: 'enforce', mx: ['mx.test'], maxAgeSeconds: 86_400 },
      failure: null,
    })
    assert.strictEqual(await idOf(sts, domain), '1')
    assert.strictEqual(await idOf(fresh(), domain), '1')
    assert.strictEqual(fetchesOf(domain), 1)
  })

  it('does not exist without a record, and nothing is fetched', async () => {
    assert.deepEqual((await fresh().find('none.example')).policy, null)
    assert.deepEqual(await fresh().find('[192.0.2.1]'), { policy: null, isPending: false, failure: null })
    assert.strictEqual(dns.queries.filter(({ name }) => name.includes('[')).length, 0)
  })

  it('is fetched again when the id of the record changed', async () => {
    const domain = newDomain()
    const sts = fresh()
    await until(async () => (await idOf(sts, domain)) === '1')
    host.publish(dns.zone, domain, ENFORCE('other.test'), '2')
    ctx.advance(6 * MINUTES)
    assert.deepInclude((await sts.find(domain)).policy, { id: '2', mx: ['other.test'] })
  })

  it('stays valid when the record is gone, DNS fails, or the new one cannot be fetched', async () => {
    const domain = newDomain()
    assert.strictEqual(await idOf(fresh(), domain), '1')
    dns.zone[`_mta-sts.${domain}`] = {}
    assert.strictEqual(await idOf(fresh(), domain), '1')
    dns.zone[`_mta-sts.${domain}`] = { fault: 'servfail' }
    assert.strictEqual(await idOf(fresh(), domain), '1')
    host.publish(dns.zone, domain, 'no policy', '2')
    assert.strictEqual(await idOf(fresh(), domain), '1')
    ctx.advance(25 * 60 * MINUTES)
    assert.strictEqual(await idOf(fresh(), domain), null)
  })

  it('expires after max_age, and is fetched at most once a minute when max_age is 0', async () => {
    const [brief, none] = [
      newDomain(ENFORCE('mx.test').replace('86400', '120')),
      newDomain(ENFORCE('mx.test').replace('86400', '0')),
    ]
    const sts = fresh()
    assert.deepEqual([await idOf(sts, brief), await idOf(sts, none)], ['1', '1'])
    for (const domain of [brief, none]) host.publish(dns.zone, domain, 'no policy', '2')
    ctx.advance(MINUTES / 2)
    assert.deepEqual([await idOf(sts, brief), await idOf(sts, none)], ['1', '1'])
    assert.strictEqual(fetchesOf(none), 1)
    ctx.advance(MINUTES)
    assert.deepEqual([await idOf(sts, brief), await idOf(sts, none)], ['1', null])
    ctx.advance(MINUTES)
    assert.deepEqual([await idOf(sts, brief), await idOf(fresh(), brief)], [null, null])
  })

  it('is withdrawn by mode none under another id (RFC 8461 §8.3)', async () => {
    const domain = newDomain()
    const sts = fresh()
    assert.strictEqual(await idOf(sts, domain), '1')
    host.publish(dns.zone, domain, ENFORCE('mx.test').replace('enforce', 'none'), '2')
    ctx.advance(6 * MINUTES)
    assert.deepInclude((await sts.find(domain)).policy, { id: '2', mode: 'none' })
    assert.deepInclude((await fresh().find(domain)).policy, { id: '2', mode: 'none' })
  })

  it('is not fetched again for five minutes after a failure', async () => {
    const domain = newDomain('no policy')
    const sts = fresh()
    assert.containsSubset(await sts.find(domain), { policy: null, failure: { code: 'sts-policy-invalid' } })
    await sts.find(domain)
    assert.strictEqual(fetchesOf(domain), 1)
    ctx.advance(6 * MINUTES)
    await sts.find(domain)
    assert.strictEqual(fetchesOf(domain), 2)
  })

  const answer =
    (status: number, headers: Record<string, string>, body: string) =>
    (_: unknown, response: ServerResponse): void => {
      response.writeHead(status, headers).end(body)
    }
  const WRONG: readonly (readonly [string, Parameters<PolicyHost['publish']>[2], string, RegExp])[] = [
    ['a redirect', answer(302, { location: '/elsewhere' }, ''), 'sts-policy-fetch-error', /answered 302/],
    ['404', answer(404, {}, ''), 'sts-policy-fetch-error', /answered 404/],
    [
      'another type',
      answer(200, { 'content-type': 'text/html' }, ENFORCE('mx.test')),
      'sts-policy-invalid',
      /not text\/plain/,
    ],
    [
      'more than 64 KB',
      answer(200, { 'content-type': 'text/plain' }, `${ENFORCE('mx.test')}${'x: y\n'.repeat(20_000)}`),
      'sts-policy-invalid',
      /longer than 64 KB/,
    ],
    ['nonsense', answer(200, { 'content-type': 'text/plain' }, '\0\u{7f}nonsense'), 'sts-policy-invalid', /version/],
    ['a cut connection', (_, response) => response.socket?.destroy(), 'sts-policy-fetch-error', /cannot be used/],
  ]
  for (const [what, policy, code, text] of WRONG) {
    it(`does not exist when the policy host answers with ${what}`, async () => {
      const { policy: found, failure } = await fresh().find(newDomain(policy))
      assert.deepEqual([found, failure?.code], [null, code])
      assert.match(failure?.text ?? '', text)
    })
  }

  it('does not exist when the policy host is in a private network or has a certificate for another name', async () => {
    const [inside, foreign] = [newDomain(), newDomain()]
    dns.zone[`mta-sts.${inside}`] = { A: ['10.0.0.1'] }
    assert.match((await fresh().find(inside)).failure?.text ?? '', /has no public address/)
    const certificate = await (await createAuthority()).issue([`mta-sts.${foreign}`])
    const stranger = await startPolicyHost({ cert: '', issue: () => Promise.resolve(certificate) })
    assert.deepInclude(await createStsFetch(outgoing, stranger.port)(foreign), {
      kind: 'failed',
      code: 'sts-webpki-invalid',
    })
    await stranger.stop()
    const old = await startPolicyHost({ ...authority, issue: (names) => authority.issue(names, { isExpired: true }) })
    assert.deepInclude(await createStsFetch(outgoing, old.port)(foreign), {
      kind: 'failed',
      code: 'sts-webpki-invalid',
    })
    await old.stop()
  })

  it('is pending while its host hangs, known once it arrives, and given up after a time-out', async () => {
    const responses: ServerResponse[] = []
    const domain = newDomain((_, response) => void responses.push(response))
    const [sts, impatient] = [fresh(50), fresh(50)]
    assert.deepEqual(await sts.find(domain), { policy: null, isPending: true, failure: null })
    await impatient.find(domain)
    ctx.advance(20_000)
    assert.containsSubset(await impatient.find(domain), {
      isPending: false,
      failure: { code: 'sts-policy-fetch-error' },
    })
    await until(() => responses.length === 2)
    for (const response of responses) response.writeHead(200, { 'content-type': 'text/plain' }).end(ENFORCE('mx.test'))
    await until(async () => (await idOf(sts, domain)) === '1' && (await idOf(impatient, domain)) === '1')
    assert.strictEqual(fetchesOf(domain), 2)
  })

  it('is not fetched again immediately when a pending fetch fails', async () => {
    const responses: ServerResponse[] = []
    const domain = newDomain((_, response) => void responses.push(response))
    const sts = fresh(50)
    assert.deepInclude(await sts.find(domain), { isPending: true })
    await until(() => responses.length === 1)
    responses[0]?.writeHead(404).end()
    await until(async () => (await sts.find(domain)).failure !== null)
    assert.strictEqual(fetchesOf(domain), 1)
  })

  it('is served in its old version while the new one is fetched', async () => {
    const domain = newDomain()
    const sts = fresh(50)
    await until(async () => (await idOf(sts, domain)) === '1')
    host.publish(dns.zone, domain, () => undefined, '2')
    ctx.advance(6 * MINUTES)
    assert.containsSubset(await sts.find(domain), { policy: { id: '1' }, isPending: false })
  })

  it('is refreshed every day, by one process, before it expires', async () => {
    const domain = newDomain()
    const sts = fresh()
    await sts.find(domain)
    ctx.advance(13 * 60 * MINUTES)
    host.publish(dns.zone, domain, ENFORCE('next.test'), '2')
    await Promise.all([sts.refresh(), fresh().refresh()])
    assert.strictEqual(fetchesOf(domain), 2)
    ctx.advance(13 * 60 * MINUTES)
    dns.zone[`_mta-sts.${domain}`] = { fault: 'servfail' }
    assert.deepInclude((await fresh().find(domain)).policy, { id: '2', mx: ['next.test'] })
  })

  it('is available while PostgreSQL is away', async () => {
    const resolver = createResolver({ config: { ...ctx.config, dnsServers: [dns.server] }, clock: ctx.clock })
    resolvers.push(resolver)
    const away = { ...ctx, db: { ...ctx.db, query: () => Promise.reject(new Error('away')) } }
    const sts = createSts({
      clock: ctx.clock,
      store: createStsStore(away),
      fetchPolicy: createStsFetch(outgoing, host.port),
      txt: (name) => resolver.txt(name),
    })
    const domain = newDomain()
    await until(async () => (await idOf(sts, domain)) === '1')
  })
})
