import { assert } from 'chai'
import * as fc from 'fast-check'
import { cidrs } from '#config/settings/readers.ts'
import { isReachable } from './address-policy.ts'

const PUBLIC = [
  '8.8.8.8',
  '1.1.1.1',
  '100.63.255.255',
  '100.128.0.1',
  '172.15.255.255',
  '172.32.0.1',
  '192.167.255.255',
  '198.17.255.255',
  '198.20.0.1',
  '223.255.255.255',
  '2001:4860:4860::8888',
  '2606:4700::1',
  '2a00:1450:4001::1b',
  '::ffff:8.8.8.8',
  '::FFFF:0808:0808',
  '2002:808:808::1',
  '64:ff9b::8.8.8.8',
]

const NOT_PUBLIC: Readonly<Record<string, readonly string[]>> = {
  'unspecified or this network': ['0.0.0.0', '0.1.2.3', '::'],
  loopback: ['127.0.0.1', '127.255.255.254', '::1'],
  private: ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1'],
  'carrier-grade NAT': ['100.64.0.1', '100.127.255.255'],
  'link-local': ['169.254.169.254', 'fe80::1', 'fe80::1%eth0', 'febf::1'],
  'unique-local and site-local': ['fc00::1', 'fd12:3456::1', 'fec0::1'],
  multicast: ['224.0.0.1', '239.255.255.250', 'ff02::1', 'ff0e::1'],
  'reserved and documentation': [
    '192.0.0.1',
    '192.0.2.1',
    '198.18.0.1',
    '198.51.100.7',
    '203.0.113.9',
    '240.0.0.1',
    '2001:db8::1',
    '3fff::1',
    '100::1',
    '4000::1',
    'e000::1',
  ],
  broadcast: ['255.255.255.255'],
  'IPv4-mapped': [
    '::ffff:127.0.0.1',
    '::ffff:10.0.0.1',
    '::ffff:7f00:1',
    '0:0:0:0:0:ffff:a9fe:a9fe',
    '::ffff:255.255.255.255',
  ],
  'IPv4-compatible and translated': ['::127.0.0.1', '::7f00:1', '::10.0.0.1', '::ffff:0:127.0.0.1', '::ffff:0:8.8.8.8'],
  '6to4': ['2002:7f00:1::', '2002:a00:1::1', '2002:c0a8:101::1'],
  NAT64: ['64:ff9b::127.0.0.1', '64:ff9b::a9fe:a9fe', '64:ff9b:1::8.8.8.8'],
  Teredo: ['2001::1', '2001:0:4136:e378:8000:63bf:3fff:fdd2'],
  'not an address': [
    '',
    'localhost',
    '127.1',
    '0177.0.0.1',
    '0x7f.0.0.1',
    '2130706433',
    '8.8.8.8:25',
    '[::1]',
    '8.8.8.8/32',
    ' 8.8.8.8',
    '999.1.1.1',
  ],
}

describe('isReachable', () => {
  it('allows public unicast addresses', () => {
    assert.deepEqual(
      PUBLIC.filter((address) => !isReachable(address, [])),
      [],
    )
  })

  for (const [kind, addresses] of Object.entries(NOT_PUBLIC)) {
    it(`blocks: ${kind}`, () =>
      assert.deepEqual(
        addresses.filter((address) => isReachable(address, [])),
        [],
      ))
  }

  const ALLOWED: readonly (readonly [allowed: string, address: string, reachable: boolean])[] = [
    ['127.0.0.0/8', '127.0.0.1', true],
    ['127.0.0.0/8', '::1', false],
    ['127.0.0.0/8', '10.0.0.1', false],
    ['127.0.0.0/8,::1', '::1', true],
    ['10.1.2.3', '10.1.2.3', true],
    ['10.1.2.3', '10.1.2.4', false],
    ['127.0.0.0/8', '::ffff:127.0.0.1', true],
    ['::ffff:0:0/96', '::ffff:127.0.0.1', true],
    ['::ffff:0:0/96', '127.0.0.1', false],
    ['10.0.0.0/8', '64:ff9b::10.0.0.1', true],
    ['10.0.0.0/8', '2002:a00:1::1', true],
    ['2002:a00:1::/48', '2002:a00:1::1', true],
    ['fd00::/8', 'fd00::25', true],
    ['fd00::/8', 'fc00::25', false],
    ['0.0.0.0/0', '255.255.255.255', true],
    ['0.0.0.0/0', 'fe80::1', false],
    ['::/0', 'fe80::1%eth0', true],
    ['0.0.0.0/0,::/0', 'localhost', false],
  ]
  for (const [allowed, address, reachable] of ALLOWED) {
    it(`${allowed} ${reachable ? 'allows' : 'does not allow'} ${address}`, () =>
      assert.strictEqual(isReachable(address, cidrs(allowed)), reachable))
  }

  it('treats a mapped, 6to4 or NAT64 address as its IPv4 address', () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number)
        const groups = `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
        const plain = isReachable(address, [])
        for (const form of [`::ffff:${address}`, `::ffff:${groups}`, `64:ff9b::${groups}`, `2002:${groups}::1`])
          assert.strictEqual(isReachable(form, []), plain, form)
      }),
    )
  })

  it('never throws', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.ipV6(), fc.ipV4Extended()),
        (text) => typeof isReachable(text, []) === 'boolean',
      ),
    )
  })
})
