import { createHmac } from 'node:crypto'
import { assert } from 'chai'
import { returnPathOf } from '#src/mail/verp.ts'
import { createPostmasterLimit } from './postmaster-limit.ts'
import { createConnectionsPerNetwork } from '#mta/smtp-server/connections-per-network.ts'
import { createTrackingTokens } from '#src/tracking/tokens.ts'
import { createEncryption } from '#src/crypto/encryption.ts'
import type { RouteDirectory } from './route-directory.ts'
import { findQuotedReturnPath, resolveTarget } from './inbound-target.ts'

const mac = (data: Buffer): Buffer => createHmac('sha256', 'key').update(data).digest()
const recipient = { messageId: '01890000-0000-7000-8000-000000000001', n: 3 }
const path = returnPathOf(recipient, mac, 'bounces.example')
const [token = ''] = path.split('@')
const tokens = createTrackingTokens(createEncryption(Buffer.alloc(32, 7)))
const unsubscribe = `u-${tokens.mailbox({ contactId: recipient.messageId, audienceId: null })}`
const mailFromNames = { isVerified: (name: string) => Promise.resolve(name === 'bounce.customer.example') }
const routed = {
  routeId: recipient.messageId,
  workspaceId: recipient.messageId,
  action: 'webhook',
  recipient: 'routed@customer.example',
} as const
const routes: RouteDirectory = {
  find: (address) =>
    Promise.resolve(address.startsWith('routed@') ? routed : address.startsWith('full@') ? 'full' : null),
}
const deps = {
  config: { bounceDomain: 'bounces.example', serverName: 'mta.example' },
  macs: [mac],
  tokens,
  mailFromNames,
  routes,
}

describe('inbound addresses', () => {
  const ROWS: readonly (readonly [address: string, kind: string | null])[] = [
    [path, 'return-path'],
    [path.toUpperCase(), 'return-path'],
    [`${token}@mta.example`, 'return-path'],
    [`${token}@BOUNCE.customer.example`, 'return-path'],
    [`${token}@customer.example`, null],
    [`${token}@bounce.other.example`, null],
    [token, null],
    [`x${token}@bounces.example`, null],
    [`${token.slice(0, -1)}@bounces.example`, null],
    [`b-${'a'.repeat(45)}@bounces.example`, null],
    ['abuse@bounces.example', 'complaint'],
    ['FBL@MTA.example', 'complaint'],
    ['abuse@other.example', null],
    ['abuse', null],
    ['tls-reports@bounces.example', 'tls-report'],
    ['TLS-Reports@mta.example', 'tls-report'],
    ['tls-reports@other.example', null],
    ['postmaster@mta.example', 'postmaster'],
    ['Postmaster', 'postmaster'],
    ['postmaster@other.example', null],
    ['__proto__@mta.example', null],
    ['constructor@mta.example', null],
    ['routed@customer.example', 'routed'],
    ['full@customer.example', 'full'],
    ['other@customer.example', null],
    ['', null],
    ['@', null],
    [`u-${token.slice(2)}@bounces.example`, null],
    [`${unsubscribe}@bounces.example`, 'unsubscribe'],
    [`${unsubscribe}@mta.example`.toUpperCase(), 'unsubscribe'],
    [`${unsubscribe}@other.example`, null],
    [`${unsubscribe.slice(0, -2)}aa@bounces.example`, null],
    [unsubscribe, null],
  ]
  for (const [address, kind] of ROWS) {
    it(`${address || 'an empty address'}: ${kind ?? 'rejected'}`, async () =>
      assert.strictEqual((await resolveTarget(address, deps))?.kind ?? null, kind))
  }

  const MAILS: readonly (readonly [what: string, text: string, isFound: boolean])[] = [
    ['quoted in a header', `Return-Path: <${path}>`, true],
    ['split by quoted-printable', `Return-Path: <${path.slice(0, 20)}=\r\n${path.slice(20)}>`, true],
    ['after forged ones', `${`b-${'a'.repeat(45)}@x `.repeat(5)}${path}`, true],
    ['after too many forged ones', `${`b-${'a'.repeat(45)}@x `.repeat(50)}${path}`, false],
    ['missing', 'From: a@b', false],
  ]
  for (const [what, text, isFound] of MAILS) {
    it(`a return-path in a complaint, ${what}`, () =>
      assert.deepEqual(findQuotedReturnPath(Buffer.from(text), [mac]), isFound ? recipient : null))
  }
})

describe('inbound limits', () => {
  it('limit connections per network, and do not limit loopback', () => {
    const peers = createConnectionsPerNetwork(2)
    const entered = [
      '192.0.2.1',
      '::ffff:192.0.2.1',
      '192.0.2.1',
      '192.0.2.2',
      '2001:db8::1',
      '2001:db8::2',
      '2001:db8::3',
      '127.0.0.1',
      '::1',
      '127.0.0.2',
    ].map((address) => peers.add(address))
    assert.deepEqual(entered, [true, true, false, true, true, true, false, true, true, true])
    peers.remove('192.0.2.1')
    assert.deepEqual([peers.add('192.0.2.1'), peers.add('192.0.2.1')], [true, false])
  })
  it('limit mail to postmaster to 100 per hour', () => {
    let now = 0
    const limit = createPostmasterLimit(() => now)
    assert.strictEqual(Array.from({ length: 150 }, () => limit.mayAccept()).filter(Boolean).length, 100)
    now += 3_600_000
    assert.strictEqual(limit.mayAccept(), true)
  })
})
