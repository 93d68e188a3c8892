import { assert } from 'chai'
import { cidrs, type Network } from '#config/settings/readers.ts'
import type { DnsAnswer } from '#src/net/dns-answer.ts'
import { startDns, type TestDns, type Zone } from '#test/support/dns.ts'
import { createAddressLookup, literalAddress, selectAddresses, splitFamilies, watchIpv6 } from './addresses.ts'
import type { Addresses } from './addresses.ts'
import { createResolver, type Resolver } from './resolve.ts'

const NONE: DnsAnswer<string> = { kind: 'nothing', isName: true }
const FAILED: DnsAnswer<string> = { kind: 'failed', text: 'SERVFAIL' }
const found = (...records: string[]): DnsAnswer<string> => ({ kind: 'found', records })

const V4 = ['198.41.0.4', '199.9.14.201']
const V6 = ['2001:503:ba3e::2:30', '2001:500:200::b', '2001:500:2::c']

interface Row {
  readonly what: string
  readonly ipv6: DnsAnswer<string>
  readonly ipv4: DnsAnswer<string>
  readonly isIpv6First?: boolean
  readonly allowed?: string
  readonly expected: readonly string[] | string
}

const ROWS: readonly Row[] = [
  {
    what: 'IPv4 first without a global IPv6 address',
    ipv6: found(...V6),
    ipv4: found(...V4),
    expected: [...V4, ...V6],
  },
  {
    what: 'in turn, IPv6 first, with one',
    ipv6: found(...V6),
    ipv4: found(...V4),
    isIpv6First: true,
    expected: [V6[0]!, V4[0]!, V6[1]!, V4[1]!, V6[2]!],
  },
  {
    what: 'more IPv4 than IPv6',
    ipv6: found(V6[0]!),
    ipv4: found(...V4),
    isIpv6First: true,
    expected: [V6[0]!, V4[0]!, V4[1]!],
  },
  { what: 'IPv4 alone', ipv6: NONE, ipv4: found(...V4), isIpv6First: true, expected: V4 },
  { what: 'IPv6 alone', ipv6: found(...V6), ipv4: NONE, expected: V6 },
  { what: 'one family failed, the other is enough', ipv6: FAILED, ipv4: found(...V4), expected: V4 },
  {
    what: 'private addresses are left out',
    ipv6: found('fe80::1', '::1'),
    ipv4: found('10.0.0.1', V4[0]!, '127.0.0.1'),
    expected: [V4[0]!],
  },
  {
    what: 'an allowed network is let in',
    ipv6: NONE,
    ipv4: found('127.0.0.1'),
    allowed: '127.0.0.0/8',
    expected: ['127.0.0.1'],
  },
  {
    what: 'at most 8',
    ipv6: NONE,
    ipv4: found(...Array.from({ length: 50 }, (_, i) => `9.9.9.${i}`)),
    expected: Array.from({ length: 8 }, (_, i) => `9.9.9.${i}`),
  },
  { what: 'none at all', ipv6: NONE, ipv4: NONE, expected: 'nothing: mx.example has no public address' },
  {
    what: 'none in one family, the other failed',
    ipv6: FAILED,
    ipv4: NONE,
    expected: 'unknown: DNS lookup of the address of mx.example failed: SERVFAIL',
  },
  {
    what: 'only private ones',
    ipv6: found('::1'),
    ipv4: found('127.0.0.1'),
    expected: 'blocked: mx.example has no public address',
  },
  {
    what: 'only private ones, the other family failed',
    ipv6: FAILED,
    ipv4: found('127.0.0.1'),
    expected: 'unknown: DNS lookup of the address of mx.example failed: SERVFAIL',
  },
]

describe('addresses of a host', () => {
  for (const { what, ipv6, ipv4, isIpv6First = false, allowed = '', expected } of ROWS) {
    it(what, () => {
      const verdict = selectAddresses({ host: 'mx.example', ipv6, ipv4 }, isIpv6First, cidrs(allowed))
      if (verdict.kind === 'addresses')
        assert.deepEqual(
          verdict.addresses.map(({ address }) => address),
          expected,
        )
      else assert.strictEqual(`${verdict.kind}: ${verdict.text}`, expected)
    })
  }

  it('permits any address for a host of the transport map', () => {
    const verdict = selectAddresses({ host: 'relay', ipv6: found('::1'), ipv4: found('10.0.0.1') }, false, 'all')
    assert.deepEqual(verdict, {
      kind: 'addresses',
      addresses: [
        { address: '10.0.0.1', family: 4 },
        { address: '::1', family: 6 },
      ],
    })
  })

  it('accepts an IP address in place of a host name', () => {
    assert.deepEqual(literalAddress('::1'), { kind: 'addresses', addresses: [{ address: '::1', family: 6 }] })
    assert.deepEqual(literalAddress('127.0.0.1'), {
      kind: 'addresses',
      addresses: [{ address: '127.0.0.1', family: 4 }],
    })
    assert.strictEqual(literalAddress('localhost'), null)
  })

  it("splits the system's answer by family", () => {
    assert.deepEqual(splitFamilies(found('::1', '127.0.0.1')), { ipv6: found('::1'), ipv4: found('127.0.0.1') })
    assert.deepEqual(splitFamilies(FAILED), { ipv6: FAILED, ipv4: FAILED })
  })

  it('checks again after a while whether this machine has a global IPv6 address', () => {
    let now = 0
    let address = 'fe80::1'
    const hasIpv6 = watchIpv6({ now: () => now }, () => ({ eth0: [{ family: 'IPv6', address }], lo: undefined }))
    assert.strictEqual(hasIpv6(), false)
    address = '2a01:4f8::1'
    assert.strictEqual(hasIpv6(), false)
    now += 30_000
    assert.strictEqual(hasIpv6(), true)
  })
})

const ZONE: Zone = {
  'mx1.plain.example': { A: ['198.41.0.4'], AAAA: ['2001:503:ba3e::2:30'] },
  'cname.example': { CNAME: 'mx1.plain.example' },
  'empty.example': { TXT: ['v=spf1 -all'] },
  'servfail.example': { fault: 'servfail' },
  'mx.inside.example': { A: ['127.0.0.1', '10.0.0.1'], AAAA: ['::1'] },
  'mixed.inside.example': { A: ['10.0.0.1', '198.41.0.4'] },
}

const host = (name: string, isMapped = false) => ({ name, isMapped })

describe('address lookup', () => {
  let dns: TestDns
  const open: Resolver[] = []

  function lookUp(
    of: ReturnType<typeof host>,
    change: { readonly isSandbox?: boolean; readonly allowPrivateTargets?: Network[] } = {},
  ): Promise<Addresses> {
    const clock = { now: () => 0 }
    const config = { dnsServers: [dns.server], dnsMxCacheSeconds: 300 }
    const resolver = createResolver({ config, clock, timeoutMs: 200 })
    open.push(resolver)
    return createAddressLookup({ config: { allowPrivateTargets: [], isSandbox: false, ...change }, clock, resolver })(
      of,
    )
  }

  before(async () => {
    dns = await startDns(ZONE)
  })
  after(() => dns.stop())
  afterEach(() => open.splice(0).forEach((resolver) => resolver.stop()))

  it('finds the addresses of a host', async () => {
    const both = await lookUp(host('mx1.plain.example'))
    assert.ok(both.kind === 'addresses')
    assert.deepEqual(
      both.addresses.toSorted((a, b) => a.family - b.family),
      [
        { address: '198.41.0.4', family: 4 },
        { address: '2001:503:ba3e::2:30', family: 6 },
      ],
    )
    assert.deepEqual(await lookUp(host('cname.example')), both)
  })

  it('reports hosts without an address, or without one that may be reached', async () => {
    assert.deepEqual(await lookUp(host('empty.example')), {
      kind: 'nothing',
      status: '5.4.4',
      text: 'empty.example has no public address',
    })
    assert.strictEqual((await lookUp(host('mx.inside.example'))).kind, 'blocked')
    assert.deepEqual(await lookUp(host('mixed.inside.example')), {
      kind: 'addresses',
      addresses: [{ address: '198.41.0.4', family: 4 }],
    })
    assert.strictEqual((await lookUp(host('servfail.example'))).kind, 'unknown')
  })

  it('permits loopback in the sandbox, and the networks of ALLOW_PRIVATE_TARGETS', async () => {
    const inSandbox = await lookUp(host('mx.inside.example'), { isSandbox: true })
    assert.deepEqual(inSandbox.kind === 'addresses' && inSandbox.addresses.map(({ address }) => address).toSorted(), [
      '127.0.0.1',
      '::1',
    ])
    const allowed = await lookUp(host('mx.inside.example'), { allowPrivateTargets: cidrs('10.0.0.0/8') })
    assert.deepEqual(allowed, { kind: 'addresses', addresses: [{ address: '10.0.0.1', family: 4 }] })
  })

  it('permits any address for a host of the transport map', async () => {
    assert.deepEqual(await lookUp(host('127.0.0.1', true)), {
      kind: 'addresses',
      addresses: [{ address: '127.0.0.1', family: 4 }],
    })
    const inside = await lookUp(host('mx.inside.example', true))
    assert.strictEqual(inside.kind === 'addresses' && inside.addresses.length, 3)
    const byHostsFile = await lookUp(host('localhost', true))
    assert.ok(
      byHostsFile.kind === 'addresses' &&
        byHostsFile.addresses.every(({ address }) => ['127.0.0.1', '::1'].includes(address)),
    )
  })

  it('does not resolve names from DNS with the hosts file', async () => {
    assert.strictEqual((await lookUp(host('localhost'))).kind, 'nothing')
  })
})
