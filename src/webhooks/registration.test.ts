/** Which event types and addresses a webhook may have. */
import { readFileSync } from 'node:fs'
import { assert } from 'chai'
import { cidrs } from '#config/settings/readers.ts'
import { EVENT_TYPES } from '#src/events/catalogue.ts'
import { readEventSelection } from './event-selection.ts'
import { validateTargetUrl } from './target-url.ts'

describe('webhook event types', () => {
  it('are those of the API contract, and those for connected accounts and received mail', () => {
    const email = [
      'queued',
      'scheduled',
      'sent',
      'delivered',
      'deferred',
      'bounced',
      'failed',
      'opened',
      'clicked',
      'complained',
      'unsubscribed',
      'cancelled',
    ].map((name) => `email.${name}`)
    assert.deepEqual(
      Object.keys(EVENT_TYPES).toSorted(),
      [
        ...email,
        'contact.subscribed',
        'contact.unsubscribed',
        'domain.verified',
        'domain.degraded',
        'domain.unaligned',
        'account.paused',
        'email.received',
      ].toSorted(),
    )
  })

  it('are documented, each with its description', () => {
    const page = readFileSync(new URL('../../docs/guides/webhooks.md', import.meta.url), 'utf8')
    for (const [type, { meaning }] of Object.entries(EVENT_TYPES))
      assert.ok(page.includes(`| \`${type}\` | ${meaning} |`), type)
  })

  const selections: readonly (readonly [string | string[], readonly string[] | RegExp])[] = [
    ['*', ['*']],
    [['*'], ['*']],
    [['email.sent', '*'], ['*']],
    ['email.sent', ['email.sent']],
    ['email.sent, email.bounced ,email.sent', ['email.sent', 'email.bounced']],
    [
      ['email.sent', ' domain.verified'],
      ['email.sent', 'domain.verified'],
    ],
    ['', /at least one/],
    [[], /at least one/],
    [' , ', /at least one/],
    [['email.sent', 'email.eaten'], /"email.eaten" is not an event type/],
    ['toString', /"toString" is not/],
    ['__proto__', /"__proto__" is not/],
    ['EMAIL.SENT', /is not/],
  ]
  for (const [given, expected] of selections) {
    it(`${JSON.stringify(given)} is ${expected instanceof RegExp ? 'refused' : expected.join()}`, () => {
      const read = readEventSelection(given)
      if (expected instanceof RegExp) assert.match(read.ok ? '' : read.reason, expected)
      else assert.deepEqual(read, { ok: true, types: expected })
    })
  }
})

describe('webhook addresses', () => {
  const good = [
    'https://example.com/hook',
    'http://example.com',
    'https://example.com:8443/a?b=c',
    'https://8.8.8.8/',
    'https://[2606:4700::1]/x',
    'HTTPS://EXAMPLE.COM/',
    'https://bücher.example/ü',
    'https://localhost.example.com/',
  ]
  for (const url of good) it(`${url} may be registered`, () => assert.strictEqual(validateTargetUrl(url, []), null))

  const bad: readonly (readonly [string, RegExp])[] = [
    ...[
      '',
      'example.com/hook',
      'ftp://example.com/',
      'file:///etc/passwd',
      'https://',
      'https:example.com',
      'https:///x',
      'https://exa mple.com/',
      'https://example.com/a b',
      'https://example.com\n/',
      'javascript:alert(1)',
      '//example.com/',
      'http://[::1',
      'https://example.com:99999/',
    ].map((url) => [url, /starts with https/] as const),
    ...['user:pass@', 'user@', ':pass@'].map((user) => [`https://${user}example.com/`, /user name/] as const),
    ['https://example.com/#part', /fragment/],
    [`https://example.com/${'x'.repeat(2048)}`, /2048 characters/],
    ...[
      '127.0.0.1',
      '127.1',
      '0x7f.1',
      '0x7f000001',
      '2130706433',
      '017700000001',
      '127.0.0.1.',
      '0',
      '0.0.0.0',
      '10.1.2.3',
      '172.16.0.1',
      '192.168.0.1',
      '169.254.169.254',
      '100.64.0.1',
      '[::1]',
      '[::]',
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      '[fe80::1]',
      '[fd00::1]',
      '[64:ff9b::7f00:1]',
      '[2002:7f00:1::]',
      '224.0.0.1',
      '255.255.255.255',
      'localhost',
      'LOCALHOST',
      'localhost.',
      'x.localhost',
      '１２７.０.０.１',
    ].map((host) => [`http://${host}:8080/hook`, /private, loopback or reserved/] as const),
  ]
  for (const [url, expected] of bad)
    it(`${JSON.stringify(url.slice(0, 60))} is refused`, () =>
      assert.match(validateTargetUrl(url, []) ?? 'taken', expected))

  it('in allowed private networks may be registered, and no others', () => {
    const allowed = cidrs('127.0.0.0/8,10.1.0.0/16')
    for (const host of ['127.0.0.1', '0x7f.1', 'localhost', '10.1.2.3'])
      assert.strictEqual(validateTargetUrl(`http://${host}/`, allowed), null, host)
    for (const host of ['10.2.0.1', '[::1]', '192.168.0.1'])
      assert.notStrictEqual(validateTargetUrl(`http://${host}/`, allowed), null, host)
  })
})
