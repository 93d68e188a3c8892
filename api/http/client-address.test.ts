import type { IncomingMessage } from 'node:http'
import { assert } from 'chai'
import fc from 'fast-check'
import { proxies } from '#config/settings/readers.ts'
import { clientAddress } from './client-address.ts'

const requestFrom = (peer: string, forwarded?: string): IncomingMessage =>
  ({
    socket: { remoteAddress: peer },
    headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
  }) as IncomingMessage

const CASES: readonly (readonly [
  why: string,
  trust: string,
  peer: string,
  forwarded: string | undefined,
  client: string,
])[] = [
  ['nobody is believed by default', 'false', '203.0.113.9', '198.51.100.1', '203.0.113.9'],
  ['0 is nobody', '0', '203.0.113.9', '198.51.100.1', '203.0.113.9'],
  ['one proxy reports one address', 'true', '10.0.0.1', '198.51.100.1', '198.51.100.1'],
  ['1 is one proxy', '1', '10.0.0.1', '198.51.100.1', '198.51.100.1'],
  [
    'what the client wrote stands left of what the proxy added',
    'true',
    '10.0.0.1',
    '127.0.0.1, 8.8.8.8, 198.51.100.1',
    '198.51.100.1',
  ],
  ['two proxies', '2', '10.0.0.1', '8.8.8.8, 198.51.100.1, 10.0.0.2', '198.51.100.1'],
  ['fewer addresses than proxies', '3', '10.0.0.1', '198.51.100.1', '198.51.100.1'],
  ['no header behind a proxy', 'true', '10.0.0.1', undefined, '10.0.0.1'],
  [
    'networks: right-most that is none of ours',
    '10.0.0.0/8',
    '10.0.0.1',
    '8.8.8.8, 198.51.100.1, 10.2.3.4',
    '198.51.100.1',
  ],
  ['networks: not from a proxy of ours', '10.0.0.0/8', '203.0.113.9', '198.51.100.1', '203.0.113.9'],
  ['networks: all of them ours', '10.0.0.0/8', '10.0.0.1', '10.1.1.1, 10.2.2.2', '10.1.1.1'],
  ['networks of both kinds', '10.0.0.0/8,fd00::/8', 'fd00::1', '198.51.100.1, 10.0.0.7', '198.51.100.1'],
  ['IPv4 that came over IPv6', '10.0.0.0/8', '::ffff:10.0.0.1', '::ffff:198.51.100.1', '198.51.100.1'],
  ['a port', 'true', '10.0.0.1', '198.51.100.1:4711', '198.51.100.1'],
  ['IPv6 in brackets, with a port', 'true', '10.0.0.1', '[2001:db8::1]:443', '2001:db8::1'],
  ['IPv6 in full', 'true', '10.0.0.1', '2001:0DB8:0:0:0:0:0:1', '2001:db8::1'],
  ['a zone', 'true', 'fe80::1%eth0', undefined, 'fe80::1'],
  ['what is no address', 'true', '10.0.0.1', 'unknown', '10.0.0.1'],
  ['what is no address, behind two', '2', '10.0.0.1', '198.51.100.1, _hidden', '10.0.0.1'],
  ['an empty header', 'true', '10.0.0.1', '', '10.0.0.1'],
  ['a connection that is gone', 'true', '', '198.51.100.1', '198.51.100.1'],
]

describe('the address of the client', () => {
  for (const [why, trust, peer, forwarded, client] of CASES)
    it(`${why}: ${client}`, () =>
      assert.strictEqual(clientAddress(requestFrom(peer, forwarded), proxies(trust)), client))

  it('a client cannot forge its address while the proxy appends the real one', () => {
    const trusts = fc.constantFrom(1, proxies('10.0.0.0/8'))
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.ipV4(),
      fc.ipV6(),
      fc.constantFrom(',', ',,,', '10.0.0.5', '%', '[', ']:1'),
    )
    fc.assert(
      fc.property(fc.array(text), trusts, (written, trust) =>
        assert.strictEqual(
          clientAddress(requestFrom('10.0.0.1', [...written, '198.51.100.1'].join(',')), trust),
          '198.51.100.1',
        ),
      ),
    )
  })
})
