import { readFileSync } from 'node:fs'
import { assert } from 'chai'
import { readShaping, type Shaping } from './shaping-file.ts'
import { BASE } from './shaping-file.test-data.ts'
import { lintShaping } from './shaping-lint.ts'
import { findReceiver, findRule } from './rule-match.ts'
import { ANY_SOURCE, throttleKeyOf, throttleSourceOf } from './throttle-key.ts'

const DEFAULT = readFileSync(new URL('../../config/shaping.yaml', import.meta.url), 'utf8')

function shapingOf(text: string): Shaping {
  const read = readShaping(text)
  assert.ok(read.kind === 'shaping', JSON.stringify(read))
  return read.shaping
}

const host = (name: string, isMapped = false) => ({ name, isMapped })

describe('the key of a throttle', () => {
  it('is a receiver or one of its sites, for one source or for all', () => {
    const perSite = { isProviderWide: false, isForAllSources: false }
    assert.deepEqual(
      [throttleKeyOf({ name: 'a', isProviderWide: true }, 'mx'), throttleKeyOf({ name: 'a', ...perSite }, 'mx')],
      ['a', 'a/mx'],
    )
    assert.deepEqual(
      [
        throttleSourceOf(perSite, 'out1'),
        throttleSourceOf(perSite, null),
        throttleSourceOf({ isForAllSources: true }, 'out1'),
      ],
      ['out1', ANY_SOURCE, ANY_SOURCE],
    )
    const { receivers } = shapingOf(BASE.replace('provider_wide: true', 'all_sources: true'))
    assert.deepEqual(
      receivers.map(({ isForAllSources, isProviderWide }) => [isForAllSources, isProviderWide]),
      [
        [true, false],
        [false, false],
        [false, false],
      ],
    )
  })
})

describe('the default shaping file', () => {
  it('has no rule or host that can never match', () => {
    assert.deepEqual(lintShaping(readShaping(DEFAULT)), [])
  })
  const HOSTS: readonly [hosts: readonly string[], receiver: string, connections: number, messages: number][] = [
    [['mx.example.com'], 'default', 10, 100],
    [[], 'default', 10, 100],
    [['gmail-smtp-in.l.google.com', 'alt1.gmail-smtp-in.l.google.com'], 'google', 5, 50],
    [['aspmx.l.google.com'], 'google', 5, 50],
    [['mta5.am0.yahoodns.net'], 'yahoo', 10, 20],
    [['example-com.mail.protection.outlook.com'], 'outlook', 5, 50],
    [['mx01.mail.icloud.com'], 'icloud', 10, 5],
    [['smtp-in.orange.fr'], 'orange', 2, 100],
    [['mx00.gmx.net'], 'webde-gmx', 4, 20],
    [['notgoogle.com', 'google.com.evil.example', 'google.com'], 'default', 10, 100],
  ]
  for (const [hosts, name, connections, messages] of HOSTS) {
    it(`${hosts.join(', ') || 'no host'} → ${name}`, () => {
      const receiver = findReceiver(shapingOf(DEFAULT), { domain: 'a.example', hosts: hosts.map((one) => host(one)) })
      assert.deepEqual(
        [receiver.name, receiver.connections, receiver.messagesPerConnection],
        [name, connections, messages],
      )
    })
  }
  it('a domain takes precedence over its hosts; the transport map takes precedence over both', () => {
    assert.strictEqual(
      findReceiver(shapingOf(DEFAULT), { domain: 'gmail.com', hosts: [host('mx.other.example')] }).name,
      'google',
    )
    assert.strictEqual(
      findReceiver(shapingOf(DEFAULT), { domain: 'gmail.com', hosts: [host('aspmx.l.google.com', true)] }).name,
      'transport-map',
    )
  })
  const REPLIES: readonly [receiver: string, reply: string, rule: string | null][] = [
    [
      'yahoo',
      '421 4.7.0 [TSS04] Messages from 192.0.2.1 temporarily deferred due to unexpected volume or user complaints',
      'yahoo-ts04',
    ],
    ['yahoo', '421 4.7.0 [TS01] Messages from 192.0.2.1 temporarily deferred', 'yahoo-ts01'],
    ['yahoo', '553 5.7.1 [BL21] Connections will not be accepted from 192.0.2.1', 'yahoo-blocked'],
    ['default', '421 4.7.0 [TSS04] Messages temporarily deferred', null],
    [
      'outlook',
      '451 4.7.650 The mail server [192.0.2.1] has been temporarily rate limited due to IP reputation',
      'outlook-reputation',
    ],
    [
      'outlook',
      "550 5.7.1 Unfortunately, messages from [192.0.2.1] weren't sent. " +
        'part of their network is on our block list (S3140).',
      'outlook-block-list',
    ],
    ['google', '421 4.7.28 Our system has detected an unusual rate of unsolicited mail', 'google-unusual-rate'],
    ['google', '550 5.7.26 This mail is unauthenticated', 'google-authentication'],
    ['default', '421 4.7.0 Too many concurrent SMTP connections from this IP', 'too-many-connections'],
    ['default', '450 4.7.1 Rate limit exceeded', 'rate-limited'],
    ['default', '452 4.2.2 The mailbox has exceeded its storage limit', null],
    ['default', '452 4.2.2 The mailbox of the recipient has exceeded the size limit', null],
    ['default', '450 4.7.1 You have exceeded the limit of messages per hour', 'rate-limited'],
    ['default', '451 4.7.1 Your domain exceeded its hourly sending limit', 'rate-limited'],
    ['default', '421 4.7.0 You exceeded the maximum sending rate', 'rate-limited'],
    ['default', '450 4.2.0 Greylisted, try again later', null],
    ['default', '550 5.1.1 No such user', null],
    ['default', '554 5.7.1 Service unavailable; client blocked using Spamhaus', 'our-address-listed'],
    ['default', '550 5.7.1 too many connections', null],
  ]
  for (const [receiver, text, rule] of REPLIES) {
    it(`${receiver}: ${text.slice(0, 50)} → ${rule ?? 'no rule'}`, () => {
      const [, code, enhanced = null, rest = ''] = /^(\d{3}) (?:(\d\.\d+\.\d+) )?(.*)$/.exec(text) ?? []
      assert.strictEqual(
        findRule(shapingOf(DEFAULT), receiver, { code: Number(code), enhanced, text: rest })?.name ?? null,
        rule,
      )
    })
  }
})
