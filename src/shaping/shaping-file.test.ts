import { readFileSync } from 'node:fs'
import { assert } from 'chai'
import fc from 'fast-check'
import { readShaping, type Shaping } from './shaping-file.ts'
import { lintShaping } from './shaping-lint.ts'
import { findReceiver, findRule } from './rule-match.ts'
import { ANY_SOURCE, throttleKeyOf, throttleSourceOf } from './throttle-key.ts'
import { bucketOf, readDuration, readRate } from './rate-syntax.ts'

const DEFAULT = readFileSync(new URL('../../config/shaping.yaml', import.meta.url), 'utf8')
const BASE = `receivers:
  google: {mx: ['*.google.com'], domains: [gmail.com], provider_wide: true, connections: 5, messages_per_connection: 50}
  transport-map: {connections: 20, messages_per_connection: 1000}
  default: {connections: 10, messages_per_connection: 100}
`

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
    assert.deepEqual(lintShaping(DEFAULT), [])
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

const rules = (...lines: string[]): string => `${BASE}rules:\n${lines.map((line) => `  - ${line}\n`).join('')}`
const WRONG: readonly [what: string, file: string, line: number, text: RegExp][] = [
  ['no YAML', 'receivers: [', 1, /./],
  ['an unknown key', `${BASE}rulez: []\n`, 1, /rulez/],
  ['a limit of zero', BASE.replace('connections: 10', 'connections: 0'), 4, /at least 1/],
  ['a rate of zero', BASE.replace('connections: 10', 'message_rate: 0/min, connections: 10'), 4, /rate/],
  ['no default', BASE.replace('  default', '  other'), 0, /"default" is missing/],
  [
    'a receiver that never matches',
    BASE.replace('  default', '  other: {connections: 1, messages_per_connection: 1}\n  default'),
    4,
    /never matches/,
  ],
  [
    'a receiver twice',
    BASE.replace('  default', '  google: {connections: 1, messages_per_connection: 1}\n  default'),
    4,
    /unique/,
  ],
  [
    'hosts that an earlier receiver covers',
    BASE.replace(
      '  transport',
      "  late: {mx: ['*.l.google.com'], connections: 1, messages_per_connection: 1}\n  transport",
    ),
    3,
    /never matches: the earlier google covers it/,
  ],
  [
    'a domain that an earlier receiver covers',
    BASE.replace(
      '  transport',
      '  late: {domains: [gmail.com], connections: 1, messages_per_connection: 1}\n  transport',
    ),
    3,
    /never matches/,
  ],
  ['the same host twice', BASE.replace("'*.google.com'", "'*.google.com', '*.google.com'"), 2, /never matches/],
  ['an unknown receiver', rules('{name: a, receiver: gogle, code: 421, action: slow}'), 6, /no receiver named gogle/],
  [
    'a duplicate rule name',
    rules('{name: a, code: 421, action: slow}', '{name: a, code: 451, action: slow}'),
    7,
    /has the same name/,
  ],
  [
    'a rule after one that matches everything',
    rules('{name: a, action: tell}', '{name: b, code: 421, action: slow}'),
    7,
    /never match.*rule a covers/,
  ],
  [
    'a narrower rule after a wider one',
    rules(
      '{name: a, code: [421, 451], action: slow}',
      '{name: b, receiver: google, code: 421, text: busy, action: slow}',
    ),
    7,
    /never match/,
  ],
  [
    'the same pattern twice',
    rules('{name: a, text: "too m", action: slow}', '{name: b, code: 421, text: "too m", action: slow}'),
    7,
    /never match/,
  ],
  [
    'a text that an earlier pattern matches',
    rules('{name: a, text: "too (many|much)", action: slow}', '{name: b, text: "too many clients", action: slow}'),
    7,
    /never match/,
  ],
  [
    'a rule that two earlier rules cover together',
    rules(
      '{name: a, code: 421, text: busy, action: slow}',
      '{name: b, code: [450, 451], text: busy, action: slow}',
      '{name: c, code: [421, 451], text: busy, action: tell}',
    ),
    8,
    /never match.*a and b cover/,
  ],
  [
    'a rule for all receivers after rules for each',
    rules(
      '{name: a, receiver: [google, default], text: busy, action: slow}',
      '{name: b, receiver: transport-map, text: busy, action: slow}',
      '{name: c, text: busy, action: tell}',
    ),
    8,
    /never match/,
  ],
  [
    'a pattern whose alternatives are all covered',
    rules(
      '{name: a, text: "too (many|much)", action: slow}',
      '{name: b, text: "wait (a|the)", action: slow}',
      '{name: c, text: "too many clients|wait a bit", action: tell}',
    ),
    8,
    /never match/,
  ],
  [
    'an alternative of an earlier pattern',
    rules('{name: a, text: "busy|too m.ny", action: slow}', '{name: b, code: 421, text: "too m.ny", action: tell}'),
    7,
    /never match/,
  ],
  ['a ^ in the middle of a pattern', rules('{name: a, text: "too^many", action: slow}'), 6, /never match/],
  ['a $ in the middle of a pattern', rules('{name: a, text: "busy$now|full$x", action: slow}'), 6, /never match/],
  ['a code below 400', rules('{name: a, code: 250, action: slow}'), 6, /4xx or 5xx/],
  ['a suspension without a duration', rules('{name: a, code: 421, action: suspend}'), 6, /duration/],
  ['a duration without a suspension', rules('{name: a, code: 421, action: slow, for: 2h}'), 6, /only to suspend/],
  ['an unknown alias', '*-', 0, /alias/i],
  ['a pattern that repeats a group', rules('{name: a, text: "(a+)+", action: slow}'), 6, /group/],
]

describe('the linter of shaping files', () => {
  for (const [what, file, line, text] of WRONG) {
    it(`finds ${what}, and its line`, () => {
      const problems = lintShaping(file)
      assert.ok(
        problems.some((problem) => problem.line === line && text.test(problem.text)),
        JSON.stringify(problems),
      )
    })
  }
  it('reports no rule that can match', () => {
    assert.deepEqual(
      lintShaping(
        rules(
          '{name: a, receiver: google, text: "too many", action: slow}',
          '{name: b, text: "too many", action: tell}',
          '{name: c, code: 421, text: "^too", action: slow}',
          '{name: d, code: 421, text: "is too", action: slow}',
          '{name: e, code: 421, enhanced: 4.7.0, action: slow}',
          '{name: f, code: 421, action: slow}',
          '{name: g, receiver: google, action: suspend, for: 90s, of: workspace}',
          '{name: h, code: [450, 451], text: "a|b", action: slow}',
          '{name: i, code: [451, 452], text: "a|b", action: slow}',
          '{name: j, code: 450, text: "a|c[|]d", action: slow}',
          '{name: k, text: "(^a|b$)|[$^]|x$|y\\\\$z|a?^b", action: slow}',
          '{name: l, code: 450, text: "a|", action: slow}',
        ),
      ),
      [],
    )
  })
  it('never throws, whatever the text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        lintShaping(text)
      }),
    )
  })
})

describe('rates and durations', () => {
  it('are read as written, or rejected', () => {
    assert.deepEqual(
      [readRate('100/min'), readRate('5 / s'), readRate('0/min'), readRate('5/week'), readRate('-1/s')],
      [{ count: 100, perMs: 60_000 }, { count: 5, perMs: 1000 }, null, null, null],
    )
    assert.deepEqual(
      [readDuration('2h'), readDuration('90 s'), readDuration('0s'), readDuration('soon')],
      [7_200_000, 90_000, null, null],
    )
  })
  it('a bucket never exceeds the rate in any period, and nearly reaches it over a long time', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10_000 }), (count) => {
        const { size, refillPerMs } = bucketOf({ count, perMs: 1000 })
        assert.ok(size >= 1 && Math.floor(size + refillPerMs * 1000 - 1e-6) <= count)
        assert.ok(refillPerMs * 1000 >= count / 2)
      }),
    )
  })
})
