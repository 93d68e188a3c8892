import { assert } from 'chai'
import fc from 'fast-check'
import { parseProxyHeader, type ProxyHeader } from './proxy-header.ts'

const SIGNATURE = Buffer.from('0d0a0d0a000d0a515549540a', 'hex')

interface BinaryHeader {
  readonly command?: number
  readonly family?: number
  readonly block?: Buffer
}

/** A header of version 2. */
function binary({ command = 0x21, family = 0x11, block = Buffer.alloc(12) }: BinaryHeader): Buffer {
  const fixed = Buffer.from([command, family, block.length >> 8, block.length & 0xff])
  return Buffer.concat([SIGNATURE, fixed, block])
}

/** Both addresses, then both ports. */
function addresses(source: string, port: number): Buffer {
  const ports = Buffer.from([port >> 8, port & 0xff, 0, 25])
  return Buffer.concat([Buffer.from(source, 'hex'), Buffer.alloc(source.length / 2), ports])
}

const FOUR = { address: '192.0.2.7', port: 51_000 }
const fourBlock = addresses('c0000207', 51_000)

const CASES: readonly [what: string, bytes: Buffer | string, expected: string | ProxyHeader][] = [
  ['nothing yet', '', 'incomplete'],
  ['the start of version 1', 'PRO', 'incomplete'],
  ['the start of version 2', SIGNATURE.subarray(0, 5), 'incomplete'],
  ['version 1 without an end', 'PROXY TCP4 192.0.2.7 192.0.2.1 51000', 'incomplete'],
  ['version 1, IPv4', 'PROXY TCP4 192.0.2.7 192.0.2.1 51000 25\r\nEHLO', { kind: 'header', peer: FOUR, length: 41 }],
  [
    'version 1, IPv6',
    'PROXY TCP6 2001:db8::7 2001:db8::1 51000 25\r\n',
    { kind: 'header', peer: { address: '2001:db8::7', port: 51_000 }, length: 45 },
  ],
  ['version 1, unknown client', 'PROXY UNKNOWN\r\n', { kind: 'header', peer: null, length: 15 }],
  ['version 1, unknown with words', 'PROXY UNKNOWN ::1 ::1 1 2\r\n', { kind: 'header', peer: null, length: 27 }],
  ['version 1, addresses of another family', 'PROXY TCP4 ::1 ::1 1 2\r\n', 'invalid'],
  ['version 1, not an address', 'PROXY TCP4 a.example 192.0.2.1 1 2\r\n', 'invalid'],
  ['version 1, a port too large', 'PROXY TCP4 192.0.2.7 192.0.2.1 65536 25\r\n', 'invalid'],
  ['version 1, a port with a sign', 'PROXY TCP4 192.0.2.7 192.0.2.1 +1 25\r\n', 'invalid'],
  ['version 1, a word too many', 'PROXY TCP4 192.0.2.7 192.0.2.1 1 25 x\r\n', 'invalid'],
  ['version 1, lower case', 'proxy TCP4 192.0.2.7 192.0.2.1 1 25\r\n', 'invalid'],
  ['version 1, too long', `PROXY UNKNOWN ${'x'.repeat(100)}`, 'invalid'],
  ['version 1, a bare LF', `PROXY UNKNOWN\n${'x'.repeat(100)}\r\n`, 'invalid'],
  ['SMTP without a header', 'EHLO client.example\r\n', 'invalid'],
  ['HTTP', 'GET / HTTP/1.1\r\n', 'invalid'],
  ['version 2, IPv4', binary({ block: fourBlock }), { kind: 'header', peer: FOUR, length: 28 }],
  [
    'version 2, IPv6',
    binary({ family: 0x21, block: addresses('20010db8000000000000000000000007', 51_000) }),
    { kind: 'header', peer: { address: '2001:db8:0:0:0:0:0:7', port: 51_000 }, length: 52 },
  ],
  [
    'version 2 with TLVs',
    binary({ block: Buffer.concat([fourBlock, Buffer.from('04000300aabb', 'hex')]) }),
    { kind: 'header', peer: FOUR, length: 34 },
  ],
  ['version 2, LOCAL', binary({ command: 0x20 }), { kind: 'header', peer: null, length: 28 }],
  [
    'version 2, a local socket',
    binary({ family: 0x31, block: Buffer.alloc(216) }),
    { kind: 'header', peer: null, length: 232 },
  ],
  ['version 2, an address that is cut off', binary({ block: fourBlock.subarray(0, 8) }), 'invalid'],
  ['version 2, not all there', binary({ block: fourBlock }).subarray(0, 27), 'incomplete'],
  ['version 3', binary({ command: 0x31 }), 'invalid'],
  ['version 2, unknown command', binary({ command: 0x22 }), 'invalid'],
  ['version 2, far too long', binary({ block: Buffer.alloc(5000) }).subarray(0, 20), 'invalid'],
]

describe('the PROXY header', () => {
  for (const [what, bytes, expected] of CASES)
    it(`${what}: ${typeof expected === 'string' ? expected : 'read'}`, () => {
      const found = parseProxyHeader(Buffer.from(bytes))
      if (typeof expected === 'string') assert.strictEqual(found.kind, expected)
      else assert.deepEqual(found, expected)
    })

  const port = fc.integer({ min: 0, max: 65_535 })
  const headers = fc.oneof(
    fc.tuple(fc.ipV4(), port).map(([address, number]) => ({
      peer: { address, port: number },
      bytes: Buffer.from(`PROXY TCP4 ${address} 192.0.2.1 ${number} 25\r\n`),
    })),
    fc
      .tuple(fc.uint8Array({ minLength: 4, maxLength: 4 }), port, fc.uint8Array({ maxLength: 64 }))
      .map(([ip, number, tlvs]) => ({
        peer: { address: ip.join('.'), port: number },
        bytes: binary({
          block: Buffer.concat([addresses(Buffer.from(ip).toString('hex'), number), Buffer.from(tlvs)]),
        }),
      })),
  )

  it('is read as it was written, whatever follows, and never from a part of it', () => {
    fc.assert(
      fc.property(headers, fc.uint8Array({ maxLength: 40 }), ({ peer, bytes }, rest) => {
        const whole = parseProxyHeader(Buffer.concat([bytes, Buffer.from(rest)]))
        assert.deepEqual(whole, { kind: 'header', peer, length: bytes.length })
        for (let i = 0; i < bytes.length; i++)
          assert.strictEqual(parseProxyHeader(bytes.subarray(0, i)).kind, 'incomplete')
      }),
    )
  })
  it('of any bytes: never throws, and never waits for more than its greatest length', () => {
    const starts = fc.constantFrom(Buffer.alloc(0), SIGNATURE, Buffer.from('PROXY '), Buffer.from('PROXY TCP4 '))
    fc.assert(
      fc.property(starts, fc.uint8Array({ maxLength: 6000, size: 'max' }), (start, bytes) => {
        const found = parseProxyHeader(Buffer.concat([start, Buffer.from(bytes)]))
        if (found.kind === 'header') assert.isAtMost(found.length, start.length + bytes.length)
        if (found.kind === 'incomplete') assert.isBelow(start.length + bytes.length, 4112)
      }),
    )
  })
})
