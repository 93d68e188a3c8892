/** The checks of a live installation, against a real DNS server and real sockets. */
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer as createTlsServer } from 'node:tls'
import { assert } from 'chai'
import { type Config, loadConfig } from '#config/load.ts'
import { type Authority, createAuthority } from '#test/support/certificate.ts'
import { startDns, type TestDns, type Zone } from '#test/support/dns.ts'
import { createLiveZone, LIVE_BOUNCES as BOUNCES, LIVE_HOST as HOST, PROBE } from '#test/support/live-zone.ts'
import { type LiveCheckName, type NamedFinding, runLiveChecks } from './checks.ts'

/** Where nothing listens. */
const CLOSED_PORT = 1

describe('the checks of a live installation', () => {
  let dns: TestDns
  let authority: Authority
  let receiver: Server
  let dir: string
  const servers: Server[] = []

  before(async () => {
    dns = await startDns({})
    authority = await createAuthority()
    dir = mkdtempSync(join(tmpdir(), 'mailstead-live-'))
    writeFileSync(join(dir, 'ca.pem'), authority.cert)
    receiver = createServer((socket) => socket.end())
    await listen(receiver)
  })
  after(async () => {
    await dns.stop()
    for (const server of servers) server.close()
    rmSync(dir, { recursive: true })
  })

  async function listen(server: Server): Promise<number> {
    servers.push(server.listen(0, '127.0.0.1'))
    await once(server, 'listening')
    return portOf(server)
  }
  const portOf = (server: Server): number => (server.address() as AddressInfo).port

  async function webPort(options: { names?: readonly string[]; isExpired?: boolean } = {}): Promise<number> {
    const { names = [HOST], isExpired = false } = options
    const { key, cert } = await authority.issue(names, { isExpired })
    return listen(createTlsServer({ key, cert }, (socket) => socket.end()))
  }

  const configOf = (env: Record<string, string>): Config =>
    loadConfig({
      MODE: 'live',
      MAILSTEAD_HOSTNAME: HOST,
      BOUNCE_DOMAIN: BOUNCES,
      PUBLIC_URL: `https://${HOST}`,
      DNS_SERVERS: dns.server,
      EGRESS_CHECK_TARGET: PROBE,
      EXTRA_CA_FILE: join(dir, 'ca.pem'),
      SMTP_OUT_PORT: String(portOf(receiver)),
      ...env,
    })

  /** The records of a complete installation, with these changes. */
  async function fill(change: Zone): Promise<void> {
    for (const name of Object.keys(dns.zone)) delete dns.zone[name]
    Object.assign(dns.zone, await createLiveZone(dns), change)
  }

  async function find(name: LiveCheckName, zone: Zone = {}, env: Record<string, string> = {}): Promise<NamedFinding> {
    await fill(zone)
    const clock = { now: () => Date.now() }
    const [finding] = await runLiveChecks({ config: configOf(env), clock, hasSources: false, certificates: [] }, [name])
    return finding ?? assert.fail(name)
  }
  const textOf = ({ status, detail }: NamedFinding): string => `${status}: ${detail}`

  const MISSING: Zone = {}
  const SILENT = { fault: 'servfail' } as const
  type Case = readonly [what: string, LiveCheckName, zone: Zone, env: Record<string, string>, expected: RegExp]
  const CASES: readonly Case[] = [
    ['complete', 'public URLs', MISSING, {}, /^ok: https:\/\/mail\.sender\.example$/],
    ['not set', 'public URLs', MISSING, { PUBLIC_URL: '' }, /^failed: PUBLIC_URL is http:\/\/localhost:3000, which no/],
    ['without TLS', 'public URLs', MISSING, { PUBLIC_URL: `http://${HOST}` }, /^failed: .* which is not https$/],
    [
      'a private address',
      'public URLs',
      MISSING,
      { PUBLIC_URL: 'https://10.0.0.7' },
      /^failed: .* no reader of a mail/,
    ],
    [
      'links elsewhere',
      'public URLs',
      MISSING,
      { TRACKING_URL: 'http://t.sender.example' },
      /^failed: TRACKING_URL is/,
    ],
    ['complete', 'bounce domain', MISSING, {}, /^ok: bounces\.sender\.example has the MX mail\.sender\.example$/],
    ['no MX', 'bounce domain', { [BOUNCES]: {} }, {}, /^failed: bounces\.sender\.example has no MX record/],
    ['DNS is silent', 'bounce domain', { [BOUNCES]: SILENT }, {}, /^unknown: .*SERVFAIL/],
    [
      'the name is missing',
      'bounce domain',
      { [HOST]: {} },
      {},
      /^failed: mail\.sender\.example has no address record/,
    ],
    [
      'another name of this server',
      'bounce domain',
      { [BOUNCES]: { MX: [[10, 'mx.sender.example']] }, 'mx.sender.example': { A: ['127.0.0.1'] } },
      {},
      /^ok: .*mx\.sender\.example, which leads here/,
    ],
    ['an MX elsewhere', 'bounce domain', { [BOUNCES]: { MX: [[10, 'mx.other.example']] } }, {}, /^warning: the MX of/],
    ['complete', 'bounce domain SPF', MISSING, {}, /^ok: /],
    ['none', 'bounce domain SPF', { [BOUNCES]: { MX: [[10, HOST]] } }, {}, /^warning: .*there is no SPF record/],
    ['of another', 'bounce domain SPF', { [BOUNCES]: { TXT: ['v=spf1 a:x.example -all'] } }, {}, /^warning: /],
    ['complete', 'bounce domain DMARC', MISSING, {}, /^ok: _dmarc\.sender\.example: .*policy none/],
    ['none', 'bounce domain DMARC', { '_dmarc.sender.example': {} }, {}, /^warning: sender\.example has no DMARC/],
    ['broken', 'bounce domain DMARC', { '_dmarc.sender.example': { TXT: ['v=DMARC1'] } }, {}, /^warning: .*no policy/],
    ['complete', 'PTR', MISSING, {}, /^ok: .* has the name out\.sender\.example$/],
    ['complete', 'forward match', MISSING, {}, /^ok: out\.sender\.example resolves to/],
    [
      'not back',
      'forward match',
      { 'out.sender.example': {} },
      {},
      /^failed: out\.sender\.example does not resolve to/,
    ],
    ['by a relay', 'PTR', MISSING, { ROUTES: '*=smtp://relay.example' }, /^skipped: ROUTES/],
    ['open', 'port 25 out', MISSING, {}, /^ok: port \d+ of probe\.example \(127\.0\.0\.1\) can be reached$/],
    [
      'closed',
      'port 25 out',
      MISSING,
      { SMTP_OUT_PORT: String(CLOSED_PORT) },
      /^failed: port 1 of .* cannot be reached/,
    ],
    ['no target', 'port 25 out', { [PROBE]: {} }, {}, /^unknown: DNS does not return a mail server/],
    ['by a relay', 'port 25 out', MISSING, { ROUTES: '*=smtp://relay.example' }, /^skipped: ROUTES/],
    ['no file', 'SMTP certificate', MISSING, {}, /^warning: SMTP has a self-signed certificate/],
  ]
  for (const [what, name, zone, env, expected] of CASES) {
    it(`${name}: ${what}`, async () => {
      const finding = await find(name, zone, env)
      assert.match(textOf(finding), expected)
      assert.strictEqual(finding.todo === '', ['ok', 'skipped', 'unknown'].includes(finding.status), finding.todo)
    })
  }

  it('PTR: a missing name of the address holds campaigns', async () => {
    await fill({})
    const names = Object.keys(dns.zone).filter((name) => name.endsWith('.arpa'))
    const finding = await find('PTR', Object.fromEntries(names.map((name) => [name, {}])))
    assert.match(textOf(finding), /^failed: .* has no name \(PTR\)/)
    assert.strictEqual(finding.holds, true)
  })

  it('asks nothing about addresses while sources exist', async () => {
    await fill({})
    const context = { config: configOf({}), clock: { now: () => 0 }, hasSources: true, certificates: [] }
    const findings = await runLiveChecks(context, ['PTR', 'forward match', 'EHLO name', 'blocklists'])
    for (const { status } of findings) assert.strictEqual(status, 'skipped')
  })

  const WEB: readonly (readonly [what: string, port: () => Promise<number>, now: number, expected: RegExp])[] = [
    ['valid', () => webPort(), -10 * 3_600_000, /^warning: the certificate of .* is valid until .*, in 1 day$/],
    ['long valid', () => webPort(), -30 * 86_400_000, /^ok: the certificate of mail\.sender\.example:\d+ is valid/],
    ['expired', () => webPort({ isExpired: true }), 0, /^failed: .* is not accepted: .*EXPIRED/],
    ['of another name', () => webPort({ names: ['x.example'] }), 0, /^failed: .*not accepted: .*ERR_TLS_CERT_ALTNAME/],
    ['nobody listens', () => Promise.resolve(CLOSED_PORT), 0, /^warning: .* refuses connections/],
  ]
  for (const [what, port, offset, expected] of WEB) {
    it(`web certificate: ${what}`, async () => {
      await fill({})
      const config = configOf({ PUBLIC_URL: `https://${HOST}:${await port()}` })
      const clock = { now: () => Date.now() + offset }
      const [finding] = await runLiveChecks({ config, clock, hasSources: false, certificates: [] }, ['web certificate'])
      assert.match(textOf(finding ?? assert.fail()), expected)
    })
  }
  it('web certificate: of an unknown authority, and without an address', async () => {
    const url = { PUBLIC_URL: `https://${HOST}:${await webPort()}` }
    assert.match(textOf(await find('web certificate', {}, { ...url, EXTRA_CA_FILE: '' })), /^failed: .*not accepted/)
    assert.match(textOf(await find('web certificate', { [HOST]: {} }, url)), /^failed: .*no address record/)
  })

  it('SMTP certificate: of the file, for the name, and expired', async () => {
    const write = async (names: readonly string[], isExpired = false): Promise<Record<string, string>> => {
      const { cert } = await authority.issue(names, { isExpired })
      writeFileSync(join(dir, 'smtp.pem'), cert)
      return { TLS_CERT_FILE: join(dir, 'smtp.pem') }
    }
    assert.match(textOf(await find('SMTP certificate', {}, await write([HOST]))), /^warning: .* in \d days?$/)
    assert.match(
      textOf(await find('SMTP certificate', {}, await write(['x.example']))),
      /^warning: .* not mail\.sender/,
    )
    assert.match(textOf(await find('SMTP certificate', {}, await write([HOST], true))), /^failed: .*expired/)
    const missing = await find('SMTP certificate', {}, { TLS_CERT_FILE: join(dir, 'none.pem') })
    assert.strictEqual(missing.status, 'unknown')
  })
})
