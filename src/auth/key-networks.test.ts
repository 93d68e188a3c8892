/** Networks of keys: which texts are networks, and which addresses are inside. */
import { assert } from 'chai'
import { isAllowedFrom, parseNetwork, readNetworks } from './key-networks.ts'

const VALID: readonly (readonly [text: string, canonical: string])[] = [
  ['192.0.2.0/24', '192.0.2.0/24'],
  ['192.0.2.77/24', '192.0.2.0/24'],
  ['192.0.2.1', '192.0.2.1/32'],
  [' 198.51.100.7/32 ', '198.51.100.7/32'],
  ['2001:db8::/32', '2001:db8::/32'],
  ['2001:DB8:0:0:1::5', '2001:db8::1:0:0:5/128'],
  ['2001:db8:ffff::1/33', '2001:db8:8000::/33'],
]

const INVALID = [
  '',
  '/',
  '/24',
  '0.0.0.0/0',
  '::/0',
  '192.0.2.0/33',
  '2001:db8::/129',
  '192.0.2.0/-1',
  '192.0.2.0/24/8',
  '192.0.2.0/ 24',
  '192.0.2.0/+8',
  '010.0.0.1/8',
  '0x7f.0.0.1',
  '127.1',
  '3232235777',
  'fe80::1%eth0',
  '::ffff:192.0.2.0/120',
  'localhost',
  '192.0.2.0/255.255.255.0',
  '１９２.0.2.1',
]

const INSIDE: readonly (readonly [networks: readonly string[], address: string, isAllowed: boolean])[] = [
  [[], '203.0.113.9', true],
  [[], '', true],
  [['192.0.2.0/24'], '192.0.2.255', true],
  [['192.0.2.0/24'], '192.0.3.0', false],
  [['192.0.2.0/24'], '::ffff:192.0.2.9', true],
  [['192.0.2.0/24'], '2001:db8::1', false],
  [['2001:db8::/32'], '2001:db8:1::1', true],
  [['2001:db8::/32'], '192.0.2.1', false],
  [['192.0.2.0/24', '2001:db8::/32'], '2001:db8::1', true],
  [['192.0.2.0/24'], '', false],
  [['192.0.2.0/24'], 'unknown', false],
  [['damaged'], '192.0.2.1', false],
]

describe('networks of keys', () => {
  for (const [text, canonical] of VALID)
    it(`accepts ${text}`, () => {
      const parsed = parseNetwork(text)
      assert.strictEqual(parsed.ok ? parsed.text : parsed.reason, canonical)
    })
  for (const text of INVALID) it(`refuses ${JSON.stringify(text)}`, () => assert.isFalse(parseNetwork(text).ok))
  for (const [networks, address, isAllowed] of INSIDE)
    it(`${isAllowed ? 'allows' : 'refuses'} ${address || 'no address'} in [${networks.join(', ')}]`, () =>
      assert.strictEqual(isAllowedFrom(readNetworks(networks), address), isAllowed))
})
