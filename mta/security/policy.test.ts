import { assert } from 'chai'
import type { Lookup, TlsaRecord } from '#src/net/dns-answer.ts'
import type { DaneDns } from './dane.ts'
import {
  createTlsPolicies,
  isEnough,
  nameFor,
  type Demand,
  type PolicyHost,
  type Protection,
  type TlsPolicies,
  type TlsPolicy,
} from './policy.ts'
import type { StsPolicy } from './sts-policy.ts'
import type { TlsLevelRule } from './tls-rules.ts'

const DOMAIN = 'in.example'
const HOST: PolicyHost = { name: 'mx.in.example', port: 25, isOurs: false }
const STS: StsPolicy = { id: '1', mode: 'enforce', mx: ['*.in.example'], maxAgeSeconds: 1 }
const USABLE: TlsaRecord = { usage: 3, selector: 1, matchingType: 1, certificate: Buffer.alloc(32) }
const FAILED = { kind: 'failed', text: 'SERVFAIL' } as const
const nothing = (isSecure: boolean): Lookup<never> => ({ kind: 'nothing', isName: false, isSecure })
const found = <T>(records: readonly T[], isSecure = true): Lookup<T> => ({ kind: 'found', records, isSecure })

interface World {
  readonly rule?: TlsLevelRule
  readonly sts?: StsPolicy
  readonly mx?: Lookup<string>
  readonly owner?: Lookup<string>
  readonly tlsa?: Readonly<Record<string, Lookup<TlsaRecord>>>
}

function policiesOf({ rule, sts, mx, owner, tlsa = {} }: World): TlsPolicies {
  const dane: DaneDns | null =
    mx === undefined
      ? null
      : {
          mx: () => Promise.resolve(mx),
          owner: () => Promise.resolve(owner ?? found([HOST.name])),
          tlsa: (name) => Promise.resolve(tlsa[name] ?? nothing(true)),
        }
  return createTlsPolicies({
    clock: { now: () => 0 },
    dane,
    ruleFor: () => Promise.resolve(rule),
    sts: { find: () => Promise.resolve({ policy: sts ?? null, isPending: false, trouble: null }) },
  })
}

function tell(demand: Demand): string {
  if (demand.kind === 'barred') return `${demand.name}: barred, ${demand.code}`
  return `${demand.name}: ${demand.isEncrypted ? 'encrypted' : 'if offered'}${demand.judge === null ? '' : ', certificate checked'}${demand.tlsName === undefined ? '' : ` as ${demand.tlsName}`}`
}

const AT = { '_25._tcp.mx.in.example': found([USABLE]) }
const ROWS: readonly (readonly [title: string, world: World, expected: string, host?: Partial<PolicyHost>])[] = [
  ['nothing is known', {}, 'opportunistic: if offered'],
  ['the operator requires it', { rule: 'required' }, 'required: encrypted'],
  ['MTA-STS, enforce', { sts: STS }, 'sts enforce: encrypted, certificate checked'],
  [
    'MTA-STS, enforce, another host',
    { sts: STS },
    'sts enforce: barred, validation-failure',
    { name: 'mx.evil.example' },
  ],
  ['MTA-STS, testing', { sts: { ...STS, mode: 'testing' } }, 'sts testing: if offered', { name: 'mx.evil.example' }],
  ['MTA-STS, none', { sts: { ...STS, mode: 'none' } }, 'opportunistic: if offered'],
  [
    'MTA-STS, testing, and the operator requires it',
    { rule: 'required', sts: { ...STS, mode: 'testing' } },
    'required: encrypted',
  ],
  [
    'the operator will have none of it',
    { rule: 'opportunistic', sts: STS, mx: found(['mx.in.example']), tlsa: AT },
    'opportunistic: if offered',
  ],
  [
    'a host of the transport map',
    { sts: STS, mx: found(['mx.in.example']), tlsa: AT },
    'opportunistic: if offered',
    { isOurs: true },
  ],
  [
    'a host of the transport map, and the operator requires it',
    { rule: 'required' },
    'required: encrypted',
    { isOurs: true },
  ],
  ['DANE', { mx: found(['mx.in.example']), tlsa: AT }, 'dane: encrypted, certificate checked as mx.in.example'],
  [
    'DANE goes before MTA-STS',
    { mx: found(['mx.in.example']), tlsa: AT, sts: { ...STS, mx: ['other.example'] } },
    'dane: encrypted, certificate checked as mx.in.example',
  ],
  [
    'DANE at the name of an alias',
    { mx: found(['x']), owner: found(['real.example']), tlsa: { '_25._tcp.real.example': found([USABLE]) } },
    'dane: encrypted, certificate checked as real.example',
  ],
  [
    'DANE on another port',
    { mx: found(['x']), tlsa: { '_2525._tcp.mx.in.example': found([USABLE]) } },
    'dane: encrypted, certificate checked as mx.in.example',
    { port: 2525 },
  ],
  [
    'DANE, no usable record',
    { mx: found(['x']), tlsa: { '_25._tcp.mx.in.example': found([{ ...USABLE, usage: 1 }]) } },
    'dane: encrypted as mx.in.example',
  ],
  [
    'DANE, only records of usage 0 and 1',
    {
      mx: found(['x']),
      tlsa: {
        '_25._tcp.mx.in.example': found([
          { ...USABLE, usage: 0 },
          { ...USABLE, usage: 1 },
        ]),
      },
    },
    'dane: encrypted as mx.in.example',
  ],
  [
    'DANE, a record of usage 1 beside a usable one',
    { mx: found(['x']), tlsa: { '_25._tcp.mx.in.example': found([{ ...USABLE, usage: 1 }, USABLE]) } },
    'dane: encrypted, certificate checked as mx.in.example',
  ],
  [
    'DANE, no record at the name of an alias but at its own',
    { mx: found(['x']), owner: found(['real.example']), tlsa: AT },
    'dane: encrypted, certificate checked as mx.in.example',
  ],
  ['DANE, no record', { mx: found(['x']) }, 'opportunistic: if offered'],
  ['DANE, no record, and MTA-STS', { mx: found(['x']), sts: STS }, 'sts enforce: encrypted, certificate checked'],
  [
    'DANE, records that nobody vouches for',
    { mx: found(['x']), tlsa: { '_25._tcp.mx.in.example': found([USABLE], false) } },
    'opportunistic: if offered',
  ],
  ['DANE, MX that nobody vouches for', { mx: found(['x'], false), tlsa: AT }, 'opportunistic: if offered'],
  [
    'DANE, addresses that nobody vouches for',
    { mx: found(['x']), owner: found(['mx.in.example'], false), tlsa: AT },
    'opportunistic: if offered',
  ],
  [
    'DANE, no MX, which is vouched for',
    { mx: nothing(true), tlsa: AT },
    'dane: encrypted, certificate checked as mx.in.example',
  ],
  ['DANE, the MX cannot be looked up', { mx: FAILED, tlsa: AT }, 'dane: barred, dnssec-invalid'],
  [
    'DANE, the address cannot be looked up',
    { mx: found(['x']), owner: FAILED, tlsa: AT },
    'dane: barred, dnssec-invalid',
  ],
  [
    'DANE, the records cannot be looked up',
    { mx: found(['x']), tlsa: { '_25._tcp.mx.in.example': FAILED } },
    'dane: barred, dnssec-invalid',
  ],
]

describe('TLS policy: what is demanded of a host', () => {
  for (const [title, world, expected, change] of ROWS) {
    it(title, async () => {
      const host = { ...HOST, ...change }
      const policies = policiesOf(world)
      assert.strictEqual(tell(await policies.demand(await policies.find(DOMAIN, [host]), host)), expected)
    })
  }
})

const OPEN: Protection = {
  host: HOST.name,
  isEncrypted: false,
  isAuthorized: false,
  policy: 'opportunistic',
  wasDaneDomain: false,
}
const PLAIN: TlsPolicy = {
  domain: DOMAIN,
  isRequired: false,
  dane: 'no',
  isPending: false,
  sts: null,
  stsTrouble: null,
}
const SESSIONS: readonly (readonly [
  title: string,
  policy: Partial<TlsPolicy>,
  session: Partial<Protection>,
  isFit: boolean,
])[] = [
  ['nothing asked, plain text', {}, {}, true],
  [
    'nothing asked, the best there is',
    {},
    { isEncrypted: true, isAuthorized: true, policy: 'dane', wasDaneDomain: true },
    true,
  ],
  ['required, plain text', { isRequired: true }, {}, false],
  ['required, encrypted', { isRequired: true }, { isEncrypted: true }, true],
  ['enforce, encrypted', { sts: STS }, { isEncrypted: true }, false],
  ['enforce, valid, opened for another domain', { sts: STS }, { isEncrypted: true, isAuthorized: true }, true],
  [
    'enforce, valid, a host that the policy does not name',
    { sts: STS },
    { isEncrypted: true, isAuthorized: true, host: 'mx.evil.example' },
    false,
  ],
  ['testing, plain text', { sts: { ...STS, mode: 'testing' } }, {}, true],
  ['DANE, opened for a domain without', { dane: 'yes' }, { isEncrypted: true, isAuthorized: true }, false],
  [
    'DANE, opened under DANE',
    { dane: 'yes', sts: STS },
    { isEncrypted: true, policy: 'dane', wasDaneDomain: true },
    true,
  ],
  ['DANE, the host asks for nothing', { dane: 'yes' }, { wasDaneDomain: true }, true],
  [
    'DANE, the host asks for nothing, MTA-STS does',
    { dane: 'yes', sts: STS },
    { wasDaneDomain: true, isEncrypted: true },
    false,
  ],
  ['DANE cannot be looked up', { dane: 'unknown' }, { isEncrypted: true, policy: 'dane', wasDaneDomain: true }, false],
]

describe('TLS policy: an open session', () => {
  for (const [title, policy, session, isFit] of SESSIONS)
    it(`${title}: ${isFit ? 'may be used' : 'may not'}`, () =>
      assert.strictEqual(isEnough({ ...PLAIN, ...policy }, { ...OPEN, ...session }), isFit))
  it("is named by what the mail's own domain asks for", () => {
    assert.strictEqual(nameFor(PLAIN, { ...OPEN, policy: 'dane' }), 'opportunistic')
    assert.strictEqual(nameFor({ ...PLAIN, dane: 'yes' }, { ...OPEN, policy: 'dane' }), 'dane')
    assert.strictEqual(nameFor({ ...PLAIN, sts: STS, isRequired: true }, OPEN), 'sts enforce')
    assert.strictEqual(nameFor({ ...PLAIN, sts: { ...STS, mode: 'testing' } }, OPEN), 'sts testing')
    assert.strictEqual(nameFor({ ...PLAIN, isRequired: true }, OPEN), 'required')
  })
})
