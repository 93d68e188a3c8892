/** What is found for each record and each way to get it wrong, by table, on a real DNS server: zone in, status and sentence out. */
import { assert } from 'chai'
import { loadConfig } from '#config/load.ts'
import { startDns, type Records, type TestDns, type Zone } from '#test/support/dns.ts'
import { createDomainDns } from './dns.ts'
import type { FindingStatus } from './record-finding.ts'
import { inspectDomain, type RecordCheck } from './inspect.ts'
import type { DkimKeyRow } from './key-state.ts'
import { placeOf } from './records.ts'

const P = 'MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA1234'
const KEY = `v=DKIM1; k=rsa; p=${P}`
const RSA: DkimKeyRow = {
  id: '1',
  selector: 's',
  algorithm: 'rsa-sha256',
  dnsValue: KEY,
  state: 'active',
  sinceMs: 0,
  seenMs: null,
}
const DKIM = 's._domainkey.shop.example'
const SERVER = 'mail.op.example'
const BOUNCES = 'bounces.mail.op.example'
/** What the operator has published. */
const OURS: Zone = { [BOUNCES]: { TXT: [`v=spf1 a:${SERVER} -all`] }, [SERVER]: { A: ['192.0.2.1'] } }
const INCLUDE = `include:${BOUNCES}`

/** A chain of `n` includes below a name. */
const chain = (n: number): Zone =>
  Object.fromEntries(
    Array.from({ length: n }, (_, i) => [
      `i${i}.example`,
      { TXT: [i === n - 1 ? 'v=spf1 -all' : `v=spf1 include:i${i + 1}.example -all`] },
    ]),
  )
const spf = (...texts: string[]): Zone => ({ 'shop.example': { TXT: texts } })

type Row = readonly [what: string, purpose: string, zone: Zone, status: FindingStatus, message: RegExp]
const ROWS: readonly Row[] = [
  ['the key', 'dkim TXT', { [DKIM]: { TXT: [KEY] } }, 'ok', /^s\._domainkey\.shop\.example: the key is there$/],
  ['the key in another order and cut', 'dkim TXT', { [DKIM]: { TXT: [`p=${P};k=rsa`] } }, 'ok', /the key is there/],
  [
    'the key behind a CNAME',
    'dkim TXT',
    { [DKIM]: { CNAME: 'k.example' }, 'k.example': { TXT: [KEY] } },
    'ok',
    /the key is there/,
  ],
  ['nothing', 'dkim TXT', {}, 'missing', /there is no TXT record/],
  ['another text', 'dkim TXT', { [DKIM]: { TXT: ['hello'] } }, 'wrong', /it is no DKIM key/],
  ['another key', 'dkim TXT', { [DKIM]: { TXT: ['v=DKIM1; k=rsa; p=MIIBother'] } }, 'wrong', /another key/],
  [
    'a truncated key',
    'dkim TXT',
    { [DKIM]: { TXT: [KEY.slice(0, 40)] } },
    'wrong',
    /cut off after 22 of 48 characters/,
  ],
  ['wrapped quotes', 'dkim TXT', { [DKIM]: { TXT: [`"${KEY}"`] } }, 'wrong', /quotation marks/],
  ['two keys', 'dkim TXT', { [DKIM]: { TXT: [KEY, 'v=DKIM1; p=x'] } }, 'wrong', /there are 2 DKIM records/],
  ['a revoked key', 'dkim TXT', { [DKIM]: { TXT: ['v=DKIM1; p='] } }, 'wrong', /revoked/],
  [
    'the doubled name',
    'dkim TXT',
    { [`${DKIM}.shop.example`]: { TXT: [KEY] } },
    'missing',
    /is at s\._domainkey\.shop\.example\.shop\.example: enter its name as s\._domainkey,/,
  ],
  [
    'a CNAME in the way',
    'dkim TXT',
    { [DKIM]: { CNAME: 'web.example' }, 'web.example': { A: ['192.0.2.9'] } },
    'wrong',
    /CNAME to web\.example is in the way/,
  ],
  ['SERVFAIL', 'dkim TXT', { [DKIM]: { trouble: 'servfail' } }, 'unknown', /SERVFAIL.*looked at again/],
  ['REFUSED', 'dkim TXT', { [DKIM]: { trouble: 'refused' } }, 'unknown', /refused/],

  ['SPF that names us', 'spf TXT', spf(`v=spf1 ${INCLUDE} ~all`), 'ok', /names us, with 2 of 10/],
  ['in capitals', 'spf TXT', spf(`V=SPF1 Include:${BOUNCES.toUpperCase()}. ~ALL`), 'ok', /names us/],
  ['the server by its name', 'spf TXT', spf(`v=spf1 a:${SERVER} ~all`), 'ok', /names us, with 1 of 10/],
  [
    'behind a redirect',
    'spf TXT',
    { ...spf('v=spf1 redirect=r.example'), 'r.example': { TXT: [`v=spf1 ${INCLUDE} -all`] } },
    'ok',
    /names us, with 3/,
  ],
  [
    'other TXT records beside it',
    'spf TXT',
    spf('google-site-verification=1', `v=spf1 ${INCLUDE} ~all`),
    'ok',
    /names us/,
  ],
  ['no SPF', 'spf TXT', spf('hello'), 'missing', /there is no SPF record/],
  [
    'several SPF records',
    'spf TXT',
    spf(`v=spf1 ${INCLUDE} ~all`, 'v=spf1 mx -all'),
    'wrong',
    /there are 2 SPF records.*merge/,
  ],
  [
    'SPF without us',
    'spf TXT',
    spf('v=spf1 ip4:192.0.2.0/24 -all'),
    'wrong',
    new RegExp(`does not name us: put ${INCLUDE} into it, before "all"`),
  ],
  ['us behind all', 'spf TXT', spf(`v=spf1 -all ${INCLUDE}`), 'wrong', /does not name us/],
  ['us refused', 'spf TXT', spf(`v=spf1 -${INCLUDE} ~all`), 'wrong', /does not name us/],
  [
    'us in a part that is refused',
    'spf TXT',
    { ...spf('v=spf1 ?include:r.example -all'), 'r.example': { TXT: [`v=spf1 ${INCLUDE} -all`] } },
    'wrong',
    /does not name us/,
  ],
  [
    'a redirect that all makes void',
    'spf TXT',
    { ...spf('v=spf1 -all redirect=r.example'), 'r.example': { TXT: [`v=spf1 ${INCLUDE} -all`] } },
    'wrong',
    /does not name us/,
  ],
  ['SPF in quotes', 'spf TXT', spf(`"v=spf1 ${INCLUDE} ~all"`), 'wrong', /quotation marks/],
  ['a word that is none', 'spf TXT', spf(`v=spf1 includes:${BOUNCES} ~all`), 'wrong', /not valid: "includes:/],
  [
    '11 lookups',
    'spf TXT',
    { ...spf(`v=spf1 include:i0.example ${INCLUDE} ~all`), ...chain(9) },
    'wrong',
    /more than 10 DNS lookups/,
  ],
  [
    '10 lookups',
    'spf TXT',
    { ...spf(`v=spf1 include:i0.example ${INCLUDE} ~all`), ...chain(8) },
    'ok',
    /with 10 of 10/,
  ],
  [
    '11 lookups in one record',
    'spf TXT',
    spf(`v=spf1 ${'exists:%{i}.x.example '.repeat(9)}${INCLUDE} ~all`),
    'wrong',
    /more than 10/,
  ],
  [
    'SPF that includes itself',
    'spf TXT',
    { ...spf('v=spf1 include:l.example ~all'), 'l.example': { TXT: ['v=spf1 include:shop.example -all'] } },
    'wrong',
    /includes itself, by way of shop\.example/,
  ],
  [
    'an include without SPF',
    'spf TXT',
    spf(`v=spf1 include:none.example ${INCLUDE} ~all`),
    'wrong',
    /none\.example, which has no SPF record/,
  ],
  [
    'an include with two',
    'spf TXT',
    { ...spf(`v=spf1 include:t.example ${INCLUDE} ~all`), 't.example': { TXT: ['v=spf1 -all', 'v=spf1 ~all'] } },
    'wrong',
    /t\.example, which has 2 SPF records/,
  ],
  [
    'an include that cannot be read',
    'spf TXT',
    { ...spf(`v=spf1 include:t.example ${INCLUDE} ~all`), 't.example': { trouble: 'servfail' } },
    'unknown',
    /t\.example, which it includes, cannot be read/,
  ],
  [
    'names that do not exist',
    'spf TXT',
    spf(`v=spf1 a:n1.example a:n2.example mx:n3.example ${INCLUDE} ~all`),
    'wrong',
    /more than 2 names/,
  ],
  [
    'our own record missing',
    'spf TXT',
    { ...spf(`v=spf1 ${INCLUDE} ~all`), [BOUNCES]: {} },
    'wrong',
    /the operator of this service has to publish it/,
  ],
  [
    'SPF at the doubled name',
    'spf TXT',
    { 'shop.example.shop.example': { TXT: [`v=spf1 ${INCLUDE} ~all`] } },
    'missing',
    /enter its name as @/,
  ],
  ['SPF and SERVFAIL', 'spf TXT', { 'shop.example': { trouble: 'servfail' } }, 'unknown', /SERVFAIL/],

  [
    'DMARC',
    'dmarc TXT',
    { '_dmarc.shop.example': { TXT: ['v=DMARC1; p=reject; rua=mailto:a@b.example'] } },
    'ok',
    /policy reject/,
  ],
  ['no DMARC', 'dmarc TXT', {}, 'missing', /no DMARC record/],
  [
    'several',
    'dmarc TXT',
    { '_dmarc.shop.example': { TXT: ['v=DMARC1; p=none', 'v=DMARC1; p=reject'] } },
    'wrong',
    /there are 2 DMARC records/,
  ],
  [
    'no policy',
    'dmarc TXT',
    { '_dmarc.shop.example': { TXT: ['v=DMARC1; rua=mailto:a@b.example'] } },
    'wrong',
    /no policy/,
  ],
  [
    'a policy that is none',
    'dmarc TXT',
    { '_dmarc.shop.example': { TXT: ['v=DMARC1; p=nothing'] } },
    'wrong',
    /p=nothing/,
  ],
  [
    'in small letters',
    'dmarc TXT',
    { '_dmarc.shop.example': { TXT: ['v=dmarc1; p=none'] } },
    'wrong',
    /does not begin with v=DMARC1/,
  ],
  ['in quotes', 'dmarc TXT', { '_dmarc.shop.example': { TXT: ['"v=DMARC1; p=none"'] } }, 'wrong', /quotation marks/],
  [
    'at the doubled name',
    'dmarc TXT',
    { '_dmarc.shop.example.shop.example': { TXT: ['v=DMARC1; p=none'] } },
    'missing',
    /enter its name as _dmarc,/,
  ],

  [
    'MX of the bounce domain',
    'mail_from MX',
    { 'bounce.shop.example': { MX: [[10, SERVER.toUpperCase()]] } },
    'ok',
    /the MX record is there/,
  ],
  ['no MX', 'mail_from MX', {}, 'missing', /there is no MX record/],
  [
    'another MX',
    'mail_from MX',
    { 'bounce.shop.example': { MX: [[10, 'mx.other.example']] } },
    'wrong',
    /mx\.other\.example: it must be mail\.op\.example/,
  ],
  [
    'ours and another',
    'mail_from MX',
    {
      'bounce.shop.example': {
        MX: [
          [10, SERVER],
          [20, 'mx.other.example'],
        ],
      },
    },
    'wrong',
    /mx\.other\.example/,
  ],
  [
    'MX at the doubled name',
    'mail_from MX',
    { 'bounce.shop.example.shop.example': { MX: [[10, SERVER]] } },
    'missing',
    /enter its name as bounce,/,
  ],
  [
    'SPF of the bounce domain',
    'mail_from TXT',
    { 'bounce.shop.example': { TXT: [`v=spf1 ${INCLUDE} ~all`] } },
    'ok',
    /names us/,
  ],
  ['none', 'mail_from TXT', { 'bounce.shop.example': { MX: [[10, SERVER]] } }, 'missing', /no SPF record/],

  [
    'the tracking name',
    'tracking CNAME',
    { 'track.shop.example': { CNAME: 'app.op.example' } },
    'ok',
    /the CNAME record is there/,
  ],
  ['no tracking name', 'tracking CNAME', {}, 'missing', /no CNAME/],
  [
    'elsewhere',
    'tracking CNAME',
    { 'track.shop.example': { CNAME: 'x.example' }, 'x.example': {} },
    'wrong',
    /leads to x\.example/,
  ],
  ['an address', 'tracking CNAME', { 'track.shop.example': { A: ['192.0.2.7'] } }, 'wrong', /an address and no CNAME/],
  ['tracking and SERVFAIL', 'tracking CNAME', { 'track.shop.example': { trouble: 'servfail' } }, 'unknown', /SERVFAIL/],
]

describe('the records of a domain', () => {
  const place = placeOf(loadConfig({ HOSTNAME: SERVER, PUBLIC_URL: 'https://app.op.example' }))
  let dns: TestDns
  before(async () => {
    dns = await startDns({})
  })
  after(() => dns.stop())

  async function inspect(zone: Zone, domain = 'shop.example'): Promise<RecordCheck[]> {
    for (const name of Object.keys(dns.zone)) delete dns.zone[name]
    Object.assign<Record<string, Records>, Zone, Zone>(dns.zone, OURS, zone)
    return inspectDomain(createDomainDns(loadConfig({ DNS_SERVERS: dns.server })), { domain, keys: [RSA] }, place)
  }

  for (const [what, kind, zone, status, message] of ROWS) {
    it(`${kind}: ${what}`, async () => {
      const check = (await inspect(zone)).find(({ purpose, type }) => `${purpose} ${type}` === kind)
      assert.strictEqual(check?.status, status, check?.message)
      assert.match(check?.message ?? '', message)
    })
  }

  it('of a subdomain have the DMARC policy of the organisation', async () => {
    const dmarc = (checks: RecordCheck[]): (string | undefined)[] => {
      const check = checks.find(({ purpose }) => purpose === 'dmarc')
      return [check?.status, check?.message]
    }
    const policy = { '_dmarc.shop.co.uk': { TXT: ['v=DMARC1; p=reject'] } }
    assert.deepEqual(dmarc(await inspect(policy, 'news.shop.co.uk')), [
      'ok',
      '_dmarc.news.shop.co.uk: the DMARC policy of shop.co.uk counts for it',
    ])
    assert.strictEqual(dmarc(await inspect({}, 'news.shop.co.uk'))[0], 'missing')
  })

  it('may hold anything: what is told of them can be stored and is not endless', async () => {
    const [strange, bounce] = [`v=DKIM1; p=${P}; h=\0\x1b[2J${'x'.repeat(5000)}`, 'bounce.shop.example']
    const checks = await inspect({
      [DKIM]: { TXT: [strange] },
      ...spf(`v=spf1 \0${'y'.repeat(5000)}`),
      [bounce]: { MX: [[1, `${'z'.repeat(60)}.example`]] },
    })
    for (const { message } of checks) assert.match(message, /^\P{C}{1,400}$/u)
    assert.strictEqual(checks.filter(({ status }) => status === 'wrong').length, 3)
  })

  it('cost a bounded number of questions, whatever a zone holds', async () => {
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
