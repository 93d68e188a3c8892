import { assert } from 'chai'
import type { DnsAnswer, TlsaRecord } from '#src/net/dns-answer.ts'
import type { DaneDns } from './dane.ts'
import {
  createTlsPolicies,
  isSufficient,
  policyNameFor,
  type TlsRequirement,
  type PolicyHost,
  type SessionProtection,
  type TlsPolicies,
  type TlsPolicy,
} from './policy.ts'
import type { StsPolicy } from './sts-policy.ts'
import type { TlsLevelRule } from '#src/operator/tls-rules.ts'

const DOMAIN = 'in.example'
const HOST: PolicyHost = { name: 'mx.in.example', port: 25, isMapped: false }
const STS: StsPolicy = { id: '1', mode: 'enforce', mx: ['*.in.example'], maxAgeSeconds: 1 }
const USABLE: TlsaRecord = { usage: 3, selector: 1, matchingType: 1, certificate: Buffer.alloc(32) }
const FAILED = { kind: 'failed', text: 'SERVFAIL' } as const
const nothing = (isSecure: boolean): DnsAnswer<never> => ({ kind: 'nothing', isName: false, isSecure })
const found = <T>(records: readonly T[], isSecure = true): DnsAnswer<T> => ({ kind: 'found', records, isSecure })

interface World {
  readonly rule?: TlsLevelRule
  readonly sts?: StsPolicy
  readonly mx?: DnsAnswer<string>
  readonly owner?: DnsAnswer<string>
  readonly tlsa?: Readonly<Record<string, DnsAnswer<TlsaRecord>>>
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
    sts: { find: () => Promise.resolve({ policy: sts ?? null, isPending: false, failure: null }) },
  })
}

function format(demand: TlsRequirement): string {
  if (demand.kind === 'barred') return `${demand.name}: barred, ${demand.code}`
  const encryption = demand.isEncrypted ? 'encrypted' : 'if offered'
  const certificate = demand.checkCertificate === null ? '' : ', certificate checked'
  return `${demand.name}: ${encryption}${certificate}${demand.tlsName === undefined ? '' : ` as ${demand.tlsName}`}`
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
    { isMapped: true },
  ],
  [
    'a host of the transport map, and the operator requires it',
    { rule: 'required' },
    'required: encrypted',
    { isMapped: true },
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

describe('TLS policy: the requirement for a host', () => {
  it('is part of the policy unless it depends on the host', async () => {
    const isKnown = async (world: World): Promise<boolean> =>
      (await policiesOf(world).find(DOMAIN, [HOST])).requirement !== null
    assert.isTrue(await isKnown({ rule: 'required', sts: { ...STS, mode: 'testing' }, mx: found(['x'], false) }))
    assert.isFalse(await isKnown({ sts: STS }))
    assert.isFalse(await isKnown({ mx: found(['x']) }))
    assert.isFalse(await isKnown({ mx: FAILED }))
  })
  for (const [title, world, expected, change] of ROWS) {
    it(title, async () => {
      const host = { ...HOST, ...change }
      const policies = policiesOf(world)
      const policy = await policies.find(DOMAIN, [host])
      assert.strictEqual(format(await policies.requirementFor(policy, host)), expected)
      if (policy.requirement !== null) assert.strictEqual(format(policy.requirement), expected)
    })
  }
})

const OPEN: SessionProtection = {
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
  stsFailure: null,
  requirement: null,
}
const SESSIONS: readonly (readonly [
  title: string,
  policy: Partial<TlsPolicy>,
  session: Partial<SessionProtection>,
  isFit: boolean,
])[] = [
  ['no requirement, plain text', {}, {}, true],
  [
    'no requirement, verified TLS',
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
    it(`${title}: ${isFit ? 'may be used' : 'may not be used'}`, () =>
      assert.strictEqual(isSufficient({ ...PLAIN, ...policy }, { ...OPEN, ...session }), isFit))
  it('has the policy name of the recipient domain, whatever it was opened for', () => {
    assert.strictEqual(policyNameFor(PLAIN, { ...OPEN, policy: 'dane' }), 'opportunistic')
    assert.strictEqual(policyNameFor({ ...PLAIN, dane: 'yes' }, { ...OPEN, policy: 'dane' }), 'dane')
    assert.strictEqual(policyNameFor({ ...PLAIN, sts: STS, isRequired: true }, OPEN), 'sts enforce')
    assert.strictEqual(policyNameFor({ ...PLAIN, sts: { ...STS, mode: 'testing' } }, OPEN), 'sts testing')
    assert.strictEqual(policyNameFor({ ...PLAIN, isRequired: true }, OPEN), 'required')
  })
})
