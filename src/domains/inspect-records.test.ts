/**
 * The finding for each DNS record and each way to get it wrong, as a table: a zone goes in, a status and a message come
 * out. Uses a real DNS server.
 */
import { assert } from 'chai'
import { loadConfig } from '#config/load.ts'
import { createHttpClient } from '#src/net/http-client.ts'
import { startDns, type ZoneRecords, type TestDns, type Zone } from '#test/support/dns.ts'
import type { CodedText } from '#src/platform/coded-text.ts'
import type { BimiCheckDeps } from './bimi-check.ts'
import { createDomainDns } from './domain-dns.ts'
import { inspectDomain, type RecordCheck } from './inspect-records.ts'
import {
  ALIAS,
  ALIAS_CASES,
  DKIM,
  NEXT_ALIAS,
  OURS,
  P,
  RECORD_CASES,
  DOMAIN_ID,
  RSA,
  SERVER,
  spf,
  DELEGATED,
} from './inspect-records.test-data.ts'
import { serviceHostsOf } from './records.ts'

describe('checks of the DNS records of a domain', () => {
  const service = serviceHostsOf(
    loadConfig({ MODE: 'live', MAILSTEAD_HOSTNAME: SERVER, PUBLIC_URL: 'https://app.op.example' }),
  )
  const OWNER = { id: DOMAIN_ID, dkimZone: null, keys: [RSA], bimi: null }
  let dns: TestDns
  before(async () => {
    dns = await startDns({})
  })
  after(async () => {
    http.close()
    await dns.stop()
  })
  const http = createHttpClient(loadConfig({}))
  const deps = (): BimiCheckDeps => {
    return { dns: createDomainDns(loadConfig({ DNS_SERVERS: dns.server })), http, nowMs: Date.now() }
  }

  async function inspect(zone: Zone, domain = 'shop.example'): Promise<RecordCheck[]> {
    for (const name of Object.keys(dns.zone)) delete dns.zone[name]
    Object.assign<Record<string, ZoneRecords>, Zone, Zone>(dns.zone, OURS, zone)
    return inspectDomain(deps(), { ...OWNER, domain }, service)
  }

  for (const [what, kind, zone, status, message] of RECORD_CASES) {
    it(`${kind}: ${what}`, async () => {
      const check = (await inspect(zone)).find(({ purpose, type }) => `${purpose} ${type}` === kind)
      assert.strictEqual(check?.status, status, check?.message)
      assert.match(check?.message ?? '', message)
    })
  }

  for (const [what, zone, status, message, nextStatus] of ALIAS_CASES) {
    it(`delegated DKIM: ${what}`, async () => {
      for (const name of Object.keys(dns.zone)) delete dns.zone[name]
      Object.assign<Record<string, ZoneRecords>, Zone, Zone>(dns.zone, OURS, zone)
      const owner = { ...OWNER, domain: 'shop.example', dkimZone: 'keys.op.example', keys: [DELEGATED] }
      const checks = await inspectDomain(deps(), owner, service)
      const check = checks.find(({ name }) => name === ALIAS)
      assert.strictEqual(check?.status, status, check?.message)
      assert.match(check?.message ?? '', message)
      assert.strictEqual(checks.find(({ name }) => name === NEXT_ALIAS)?.status, nextStatus)
    })
  }

  it('a subdomain inherits the DMARC policy of its organisational domain', async () => {
    const dmarc = (checks: RecordCheck[]): (string | undefined)[] => {
      const check = checks.find(({ purpose }) => purpose === 'dmarc')
      return [check?.status, check?.message]
    }
    const policy = { '_dmarc.shop.co.uk': { TXT: ['v=DMARC1; p=reject'] } }
    assert.deepEqual(dmarc(await inspect(policy, 'news.shop.co.uk')), [
      'ok',
      '_dmarc.news.shop.co.uk: the DMARC policy of shop.co.uk applies',
    ])
    assert.strictEqual(dmarc(await inspect({}, 'news.shop.co.uk'))[0], 'missing')
  })

  const REPORTS = 'dmarc-reports@bounces.mail.op.example'
  const AGREED = { 'shop.example._report._dmarc.bounces.mail.op.example': { TXT: ['v=DMARC1'] } }
  const RUA: readonly (readonly [rua: string, zone: Zone, advice: RegExp | null])[] = [
    ['', AGREED, /^Add rua=mailto:dmarc-reports@bounces\.mail\.op\.example to .*names no address/],
    ['rua=mailto:d@other.example', AGREED, /^Add mailto:dmarc-reports@.*go to d@other\.example only/],
    [`rua=mailto:d@other.example,mailto:${REPORTS}!10m`, AGREED, null],
    [`rua=MAILTO:${REPORTS.toUpperCase()}`, AGREED, null],
    [`rua=mailto:${REPORTS}`, {}, /^Ask the operator .*shop\.example\._report\._dmarc\.bounces\.mail\.op\.example TXT/],
    [`rua=mailto:${REPORTS}`, { '*': { fault: 'servfail' } }, null],
  ]
  for (const [rua, zone, advice] of RUA)
    it(`DMARC reports: ${rua || 'no address'}, ${Object.keys(zone).join(' ') || 'no records'}`, async () => {
      const checks = await inspect({ '_dmarc.shop.example': { TXT: [`v=DMARC1; p=none; ${rua}`] }, ...zone })
      const check = checks.find(({ purpose }) => purpose === 'dmarc')
      assert.strictEqual(check?.status, 'ok')
      if (advice === null) assert.isUndefined(check.advice)
      else assert.match((check.advice as CodedText).text, advice)
    })

  it('hostile records give messages without control characters, of limited length', async () => {
    const [hostileKey, bounce] = [`v=DKIM1; p=${P}; h=\0\x1b[2J${'x'.repeat(5000)}`, 'bounce.shop.example']
    const checks = await inspect({
      [DKIM]: { TXT: [hostileKey] },
      ...spf(`v=spf1 \0${'y'.repeat(5000)}`),
      [bounce]: { MX: [[1, `${'z'.repeat(60)}.example`]] },
    })
    for (const { message } of checks) assert.match(message, /^\P{C}{1,400}$/u)
    assert.strictEqual(checks.filter(({ status }) => status === 'wrong').length, 3)
  })

  it('a hostile zone costs a limited number of DNS queries', async () => {
    const hostile = Array.from({ length: 60 }, (_, i) => `include:${'abc'[i % 3]}.example`).join(' ')
    const zone = Object.fromEntries(
      ['a', 'b', 'c'].map((name) => [
        `${name}.example`,
        { TXT: [`v=spf1 ${hostile.replaceAll(`include:${name}.example`, 'mx')} -all`] },
      ]),
    )
    const before = dns.queries.length
    const checks = await inspect({ ...zone, ...spf(`v=spf1 ${hostile} -all`) })
    assert.strictEqual(checks.find(({ purpose }) => purpose === 'spf')?.status, 'wrong')
    assert.ok(dns.queries.length - before < 60, `${dns.queries.length - before} questions`)
  })
})
