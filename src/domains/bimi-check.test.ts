/** What receivers would find of a BIMI record, on real DNS and HTTPS: good files, and those of hostile owners. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { X509Certificate } from 'node:crypto'
import { createServer, type Server } from 'node:https'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { assert } from 'chai'
import { loadConfig } from '#config/load.ts'
import { createHttpClient, type HttpClient } from '#src/net/http-client.ts'
import { createMarkAuthority, svgOf } from '#src/bimi/logo.test-data.ts'
import { certificateFor } from '#test/support/certificate.ts'
import { startDns, type TestDns, type Zone } from '#test/support/dns.ts'
import { checkBimi, summarizeBimi, type BimiFinding } from './bimi-check.ts'
import { createDomainDns } from './domain-dns.ts'

const DOMAIN = 'shop.example'
const NAME = 'default._bimi.shop.example'
const SVG = { 'content-type': 'image/svg+xml' }

type Answer = (response: ServerResponse) => void
const send =
  (body: string | Buffer, headers: Record<string, string> = SVG, status = 200): Answer =>
  (response) => {
    response.writeHead(status, headers).end(body)
  }
const ANSWERS: Record<string, Answer> = {
  '/logo.svg': send(svgOf()),
  '/packed.svg': send(gzipSync(svgOf()), { ...SVG, 'content-encoding': 'gzip' }),
  '/logo.svgz': send(gzipSync(svgOf())),
  '/bomb.svgz': send(gzipSync(Buffer.alloc(20 * 1024 * 1024, 0x20))),
  '/broken.svgz': send(gzipSync(svgOf()).subarray(0, 40)),
  '/script.svg': send(svgOf('<script>alert(1)</script>')),
  '/external.svg': send(svgOf('<use xlink:href="https://evil.example/a.svg#b"/>')),
  '/entities.svg': send(`<!DOCTYPE svg [<!ENTITY a "${'b'.repeat(100)}">]>${svgOf('<desc>&a;</desc>')}`),
  '/html.svg': send('<html></html>', { 'content-type': 'text/html' }),
  '/huge.svg': send(Buffer.alloc(2 * 1024 * 1024, 0x20)),
  '/moved.svg': send('', { location: 'https://127.0.0.1/logo.svg' }, 302),
  '/gone.svg': send('', SVG, 404),
  '/slow.svg': (response) => {
    response.writeHead(200, SVG)
    response.write('<svg')
  },
  '/never.svg': () => undefined,
  '/not-a-certificate.pem': send('<html></html>', {}),
}

describe('BIMI of a domain', () => {
  let dns: TestDns
  let web: Server
  let http: HttpClient
  let base: string
  const folder = mkdtempSync(join(tmpdir(), 'bimi-'))
  before(async () => {
    const { cert, key } = await certificateFor(['cdn.shop.example'])
    writeFileSync(join(folder, 'ca.pem'), cert)
    web = createServer({ cert, key }, (request, response) =>
      (ANSWERS[request.url ?? ''] ?? send('', {}, 404))(response),
    )
    await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve))
    dns = await startDns({})
    const env = {
      DNS_SERVERS: dns.server,
      EXTRA_CA_FILE: join(folder, 'ca.pem'),
      ALLOW_PRIVATE_TARGETS: '127.0.0.1/32',
    }
    http = createHttpClient(loadConfig(env))
    base = `https://cdn.shop.example:${(web.address() as AddressInfo).port}`
  })
  after(async () => {
    http.close()
    web.closeAllConnections()
    await new Promise((resolve) => web.close(resolve))
    await dns.stop()
    rmSync(folder, { recursive: true })
  })

  const ENFORCED: Zone = { '_dmarc.shop.example': { TXT: ['v=DMARC1; p=reject'] } }

  let authorities: readonly X509Certificate[] | undefined
  async function check(zone: Zone, domain = DOMAIN, wanted: Parameters<typeof checkBimi>[2] = null): Promise<Finding> {
    for (const name of Object.keys(dns.zone)) delete dns.zone[name]
    Object.assign(dns.zone, { 'cdn.shop.example': { A: ['127.0.0.1'] } }, zone)
    const deps = { dns: createDomainDns(loadConfig({ DNS_SERVERS: dns.server })), http, nowMs: Date.now() }
    const findings = await checkBimi({ ...deps, ...(authorities && { authorities }) }, domain, wanted)
    const of = (subject: BimiFinding['subject']): string => {
      const found = findings.find((one) => one.subject === subject)
      return found === undefined ? 'none' : `${found.status}: ${found.message} → ${found.next ?? ''}`
    }
    return { of, summary: summarizeBimi(findings), count: findings.length }
  }
  interface Finding {
    readonly of: (subject: BimiFinding['subject']) => string
    readonly summary: { readonly status: string; readonly message: string }
    readonly count: number
  }
  const record = (tags: string): Zone => ({ ...ENFORCED, [NAME]: { TXT: [tags] } })

  it('is ok with a record, an enforced policy and a valid logo', async () => {
    const { summary, of } = await check(record(`v=BIMI1; l=${base}/logo.svg`))
    assert.deepEqual(summary, { status: 'ok', message: 'receivers that support BIMI may show the logo' })
    assert.match(of('certificate'), /^missing: there is no mark certificate → get a VMC or CMC/)
  })

  it('without a record fetches nothing', async () => {
    const { summary, count } = await check({})
    assert.deepEqual([summary.status, count], ['missing', 2])
  })

  const RECORDS: readonly (readonly [what: string, texts: string[], finding: RegExp])[] = [
    ['other texts at the name', ['site-verification=1'], /^missing/],
    ['two records', ['v=BIMI1; l=https://a.example/1', 'v=BIMI1; l=https://a.example/2'], /^wrong: there are 2/],
    ['another version', ['v=BIMI2; l=https://a.example/1'], /^wrong: the record does not begin with v=BIMI1/],
    ['no logo', ['v=BIMI1; a=https://a.example/1'], /^wrong: the record names no logo/],
    ['a logo by http', ['v=BIMI1; l=http://a.example/1'], /^wrong: the logo URL in l= must be an https URL/],
    ['a password', ['v=BIMI1; l=https://a:b@a.example/1'], /^wrong: .*no user name/],
    ['a certificate by ftp', ['v=BIMI1; l=https://a.example/1; a=ftp://x/'], /^wrong: the certificate URL in a=/],
    ['a declination', ['v=BIMI1; l=; a=;'], /^ok: .*no logo/],
    ['control characters', ['v=BIMI1; l=\u001b[2J\u0000'], /^wrong: \P{C}+$/u],
  ]
  for (const [what, TXT, finding] of RECORDS)
    it(`record: ${what}`, async () => assert.match((await check({ [NAME]: { TXT } })).of('record'), finding))

  it('record: another logo than the owner set here', async () => {
    const wanted = { logoUrl: 'https://cdn.shop.example/new.svg', certificateUrl: null }
    const { of } = await check(record(`v=BIMI1; l=${base}/logo.svg`), DOMAIN, wanted)
    assert.match(of('record'), /^wrong: .*other files.*publish "v=BIMI1; l=https:\/\/cdn\.shop\.example\/new\.svg;"/)
  })

  it('record: DNS does not answer', async () => {
    const { summary } = await check({ [NAME]: { fault: 'servfail' } })
    assert.strictEqual(summary.status, 'unknown')
  })

  const POLICIES: readonly (readonly [zone: Record<string, string>, finding: RegExp])[] = [
    [{ 'news.shop.example': 'p=quarantine' }, /^ok/],
    [{ 'shop.example': 'p=reject; pct=100' }, /^ok/],
    [{ 'shop.example': 'p=none' }, /^wrong: _dmarc\.shop\.example has p=none/],
    [{ 'shop.example': 'p=reject; sp=none' }, /^wrong: .*sp=none/],
    [{ 'shop.example': 'p=quarantine; pct=50' }, /^wrong: .*pct=50/],
    [{ 'news.shop.example': 'p=reject', 'shop.example': 'p=none' }, /^wrong: _dmarc\.shop\.example has p=none/],
    [{ 'news.shop.example': 'p=reject', 'shop.example': 'p=reject; sp=none' }, /^wrong: .*sp=none/],
    [{}, /^missing: there is no DMARC record/],
  ]
  for (const [policies, finding] of POLICIES)
    it(`DMARC: ${JSON.stringify(policies)}`, async () => {
      const zone = Object.fromEntries(
        Object.entries(policies).map(([name, tags]) => [`_dmarc.${name}`, { TXT: [`v=DMARC1; ${tags}`] }]),
      )
      assert.match((await check(zone, 'news.shop.example')).of('dmarc'), finding)
    })

  const LOGOS: readonly (readonly [path: string, finding: RegExp])[] = [
    ['/packed.svg', /^ok/],
    ['/logo.svgz', /^ok/],
    ['/bomb.svgz', /^wrong: .*more than 32 KB/],
    ['/broken.svgz', /^wrong: .*cannot be unpacked/],
    ['/script.svg', /^wrong: .*<script>/],
    ['/external.svg', /^wrong: .*evil\.example.*within the file/],
    ['/entities.svg', /^wrong: .*document type or entities/],
    ['/html.svg', /^wrong: .*media type text\/html/],
    ['/huge.svg', /^wrong: .*more than 32 KB/],
    ['/moved.svg', /^wrong: .*redirects/],
    ['/gone.svg', /^wrong: .*404/],
    ['/slow.svg', /^wrong: .*not fetched within 5 s/],
    ['/never.svg', /^wrong: .*not fetched within 5 s/],
  ]
  for (const [path, finding] of LOGOS)
    it(`logo: ${path}`, async () => {
      const { of, summary } = await check(record(`v=BIMI1; l=${base}${path}`))
      assert.match(of('logo'), finding)
      assert.strictEqual(summary.status, of('logo').split(':')[0])
    })

  const TARGETS = ['https://10.1.2.3/a.svg', 'https://inside.shop.example/a.svg', 'https://nx.example/']
  for (const target of TARGETS)
    it(`logo: ${target} is not fetched, and nothing tells why`, async () => {
      const zone = { ...record(`v=BIMI1; l=${target}`), 'inside.shop.example': { A: ['192.168.1.1'] } }
      const { of } = await check(zone)
      assert.match(of('logo'), /^wrong: .*its host was not found, or is not allowed/)
    })

  it('certificate: what is no certificate is refused', async () => {
    const { of, summary } = await check(record(`v=BIMI1; l=${base}/logo.svg; a=${base}/not-a-certificate.pem`))
    assert.match(of('certificate'), /^wrong: the mark certificate is not a list of certificates/)
    assert.strictEqual(summary.status, 'wrong')
  })

  it('certificate: a revoked one is wrong, and an unknown state is no failure', async () => {
    const authority = await createMarkAuthority(Date.now(), 'Mark Root', `${base}/root.crl`)
    authorities = [authority.root]
    const zone = record(`v=BIMI1; l=${base}/logo.svg; a=${base}/mark.pem`)
    const STATES = [
      ['valid', [], /^ok: the VMC is valid until \d{4}-\d\d-\d\d → $/, 'ok'],
      ['revoked', ['a1b2'], /^wrong: the VMC .* was revoked on \d{4}-\d\d-\d\d → .*new certificate/, 'wrong'],
      ['unknown', null, /^unknown: .*its revocation list .*answered 404, not 200 → check again later/, 'ok'],
    ] as const
    for (const [state, revoked, certificate, summary] of STATES) {
      const listUrls = [`${base}/${state}.crl`]
      ANSWERS['/mark.pem'] = send(await authority.issue({ listUrls, serial: 'a1b2' }), {})
      ANSWERS['/root.crl'] = send(await authority.list({ by: 'root' }), {})
      if (revoked !== null) ANSWERS[`/${state}.crl`] = send(await authority.list({ revoked }), {})
      const found = await check(zone)
      assert.match(found.of('certificate'), certificate)
      assert.strictEqual(found.summary.status, summary, state)
    }
    authorities = undefined
  })
})
