/** For each DNS record and each way to get it wrong: the zone, and the status and message of the finding. */
import type { Zone } from '#test/support/dns.ts'
import type { DkimKeyRow } from './key-state.ts'
import type { RecordFindingStatus } from './record-finding.ts'

export const P = 'MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA1234'
const KEY = `v=DKIM1; k=rsa; p=${P}`
export const RSA: DkimKeyRow = {
  id: '1',
  selector: 's',
  algorithm: 'rsa-sha256',
  dnsValue: KEY,
  state: 'active',
  sinceMs: 0,
  seenMs: null,
  target: null,
}
export const DOMAIN_ID = '01a20310-ef21-7000-b591-9169f5e5ee88'
/** Its record is in the operator's zone. */
export const DELEGATED: DkimKeyRow = {
  ...RSA,
  selector: 'ms-f5e5ee88-a',
  target: 'a.b5919169f5e5ee88.keys.op.example',
}
export const ALIAS = 'ms-f5e5ee88-a._domainkey.shop.example'
export const NEXT_ALIAS = 'ms-f5e5ee88-b._domainkey.shop.example'
const TARGET = 'a.b5919169f5e5ee88.keys.op.example'
const NEXT_TARGET = 'b.b5919169f5e5ee88.keys.op.example'

/** Findings for the name of the key, and for the name of the next one, which has no key yet. */
export const ALIAS_CASES: readonly (readonly [
  what: string,
  zone: Zone,
  status: RecordFindingStatus,
  message: RegExp,
  nextStatus: RecordFindingStatus,
])[] = [
  [
    'both names and the key',
    { [ALIAS]: { CNAME: TARGET }, [NEXT_ALIAS]: { CNAME: NEXT_TARGET }, [TARGET]: { TXT: [KEY] } },
    'ok',
    /the DKIM key is published/,
    'ok',
  ],
  ['nothing', {}, 'missing', /there is no CNAME record/, 'missing'],
  [
    'a key that the operator has not published does not count against the owner',
    { [ALIAS]: { CNAME: TARGET } },
    'unknown',
    /operator of this service has not published the key/,
    'missing',
  ],
  [
    'neither does another key in the zone of the operator',
    { [ALIAS]: { CNAME: TARGET }, [TARGET]: { TXT: ['v=DKIM1; p=AAAA'] } },
    'unknown',
    /different key/,
    'missing',
  ],
  [
    'a CNAME to another place',
    { [ALIAS]: { CNAME: 'other.example' }, [NEXT_ALIAS]: { CNAME: 'other.example' } },
    'wrong',
    /points to other\.example: it must point to a\.b5919169f5e5ee88\.keys\.op\.example/,
    'wrong',
  ],
  [
    'the domain twice',
    { [`${ALIAS}.shop.example`]: { CNAME: TARGET }, [TARGET]: { TXT: [KEY] } },
    'missing',
    /enter its name as/,
    'missing',
  ],
  ['the key as a TXT record is found', { [ALIAS]: { TXT: [KEY] } }, 'ok', /the DKIM key is published/, 'missing'],
  ['no answer', { [ALIAS]: { fault: 'servfail' } }, 'unknown', /SERVFAIL/, 'missing'],
]
export const DKIM = 's._domainkey.shop.example'
export const SERVER = 'mail.op.example'
const BOUNCES = 'bounces.mail.op.example'
/** The records that the operator has published. */
export const OURS: Zone = { [BOUNCES]: { TXT: [`v=spf1 a:${SERVER} -all`] }, [SERVER]: { A: ['192.0.2.1'] } }
const INCLUDE = `include:${BOUNCES}`

/** A chain of `n` includes below a name. */
const chain = (n: number): Zone =>
  Object.fromEntries(
    Array.from({ length: n }, (_, i) => [
      `i${i}.example`,
      { TXT: [i === n - 1 ? 'v=spf1 -all' : `v=spf1 include:i${i + 1}.example -all`] },
    ]),
  )
export const spf = (...texts: string[]): Zone => ({ 'shop.example': { TXT: texts } })

type RecordCase = readonly [what: string, purpose: string, zone: Zone, status: RecordFindingStatus, message: RegExp]
export const RECORD_CASES: readonly RecordCase[] = [
  [
    'the key',
    'dkim TXT',
    { [DKIM]: { TXT: [KEY] } },
    'ok',
    /^s\._domainkey\.shop\.example: the DKIM key is published$/,
  ],
  [
    'the key in another order, without v=',
    'dkim TXT',
    { [DKIM]: { TXT: [`p=${P};k=rsa`] } },
    'ok',
    /the DKIM key is published/,
  ],
  [
    'the key behind a CNAME',
    'dkim TXT',
    { [DKIM]: { CNAME: 'k.example' }, 'k.example': { TXT: [KEY] } },
    'ok',
    /the DKIM key is published/,
  ],
  ['nothing', 'dkim TXT', {}, 'missing', /there is no TXT record/],
  ['another text', 'dkim TXT', { [DKIM]: { TXT: ['hello'] } }, 'wrong', /it is not a DKIM key/],
  ['another key', 'dkim TXT', { [DKIM]: { TXT: ['v=DKIM1; k=rsa; p=MIIBother'] } }, 'wrong', /a different key/],
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
    /is at s\._domainkey\.shop\.example\.shop\.example: enter its name as s\._domainkey;/,
  ],
  [
    'a CNAME at the same name',
    'dkim TXT',
    { [DKIM]: { CNAME: 'web.example' }, 'web.example': { A: ['192.0.2.9'] } },
    'wrong',
    /CNAME to web\.example hides all other records/,
  ],
  ['SERVFAIL', 'dkim TXT', { [DKIM]: { fault: 'servfail' } }, 'unknown', /SERVFAIL.*checked again/],
  ['REFUSED', 'dkim TXT', { [DKIM]: { fault: 'refused' } }, 'unknown', /refused/],

  [
    'SPF that authorises this service',
    'spf TXT',
    spf(`v=spf1 ${INCLUDE} ~all`),
    'ok',
    /authorises this service, with 2 of 10/,
  ],
  ['in capitals', 'spf TXT', spf(`V=SPF1 Include:${BOUNCES.toUpperCase()}. ~ALL`), 'ok', /authorises this service/],
  ['the server with a:', 'spf TXT', spf(`v=spf1 a:${SERVER} ~all`), 'ok', /authorises this service, with 1 of 10/],
  [
    'behind a redirect',
    'spf TXT',
    { ...spf('v=spf1 redirect=r.example'), 'r.example': { TXT: [`v=spf1 ${INCLUDE} -all`] } },
    'ok',
    /authorises this service, with 3/,
  ],
  [
    'other TXT records beside it',
    'spf TXT',
    spf('google-site-verification=1', `v=spf1 ${INCLUDE} ~all`),
    'ok',
    /authorises this service/,
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
    'SPF without this service',
    'spf TXT',
    spf('v=spf1 ip4:192.0.2.0/24 -all'),
    'wrong',
    new RegExp(`does not authorise this service: add ${INCLUDE} to it, before "all"`),
  ],
  ['this service after all', 'spf TXT', spf(`v=spf1 -all ${INCLUDE}`), 'wrong', /does not authorise this service/],
  ['this service with -', 'spf TXT', spf(`v=spf1 -${INCLUDE} ~all`), 'wrong', /does not authorise this service/],
  [
    'this service in an include with ?',
    'spf TXT',
    { ...spf('v=spf1 ?include:r.example -all'), 'r.example': { TXT: [`v=spf1 ${INCLUDE} -all`] } },
    'wrong',
    /does not authorise this service/,
  ],
  [
    'a redirect beside all',
    'spf TXT',
    { ...spf('v=spf1 -all redirect=r.example'), 'r.example': { TXT: [`v=spf1 ${INCLUDE} -all`] } },
    'wrong',
    /does not authorise this service/,
  ],
  ['SPF in quotes', 'spf TXT', spf(`"v=spf1 ${INCLUDE} ~all"`), 'wrong', /quotation marks/],
  ['an unknown term', 'spf TXT', spf(`v=spf1 includes:${BOUNCES} ~all`), 'wrong', /not valid: "includes:/],
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
    /includes itself through shop\.example/,
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
    { ...spf(`v=spf1 include:t.example ${INCLUDE} ~all`), 't.example': { fault: 'servfail' } },
    'unknown',
    /the included record of t\.example could not be read/,
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
    /the operator of this service must publish it/,
  ],
  [
    'SPF at the doubled name',
    'spf TXT',
    { 'shop.example.shop.example': { TXT: [`v=spf1 ${INCLUDE} ~all`] } },
    'missing',
    /enter its name as @/,
  ],
  ['SPF and SERVFAIL', 'spf TXT', { 'shop.example': { fault: 'servfail' } }, 'unknown', /SERVFAIL/],

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
  ['an unknown policy', 'dmarc TXT', { '_dmarc.shop.example': { TXT: ['v=DMARC1; p=nothing'] } }, 'wrong', /p=nothing/],
  [
    'DMARC in lower case',
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
    /enter its name as _dmarc;/,
  ],

  [
    'MX of the bounce domain',
    'mail_from MX',
    { 'bounce.shop.example': { MX: [[10, SERVER.toUpperCase()]] } },
    'ok',
    /the MX record is published/,
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
    /enter its name as bounce;/,
  ],
  [
    'SPF of the bounce domain',
    'mail_from TXT',
    { 'bounce.shop.example': { TXT: [`v=spf1 ${INCLUDE} ~all`] } },
    'ok',
    /authorises this service/,
  ],
  ['none', 'mail_from TXT', { 'bounce.shop.example': { MX: [[10, SERVER]] } }, 'missing', /no SPF record/],

  [
    'the tracking name',
    'tracking CNAME',
    { 'track.shop.example': { CNAME: 'app.op.example' } },
    'ok',
    /the CNAME record is published/,
  ],
  ['no tracking name', 'tracking CNAME', {}, 'missing', /no CNAME/],
  [
    'elsewhere',
    'tracking CNAME',
    { 'track.shop.example': { CNAME: 'x.example' }, 'x.example': {} },
    'wrong',
    /points to x\.example/,
  ],
  ['an address', 'tracking CNAME', { 'track.shop.example': { A: ['192.0.2.7'] } }, 'wrong', /has an address record/],
  ['tracking and SERVFAIL', 'tracking CNAME', { 'track.shop.example': { fault: 'servfail' } }, 'unknown', /SERVFAIL/],
]
