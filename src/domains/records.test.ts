import { assert } from 'chai'
import { loadConfig } from '#config/load.ts'
import type { DkimKeyRow, KeyState } from './key-state.ts'
import { domainRecords, serviceHostsOf, removableRecords, returnPathRecords } from './records.ts'

const SERVICE = {
  bounceDomain: 'bounces.mail.example.net',
  serverName: 'mail.example.net',
  trackingHost: 'app.example.net',
}

const key = (selector: string, state: KeyState, algorithm: DkimKeyRow['algorithm'] = 'rsa-sha256'): DkimKeyRow => ({
  id: selector,
  selector,
  algorithm,
  dnsValue: `v=DKIM1; p=${selector}`,
  state,
  sinceMs: Date.UTC(2031, 0, 1),
  seenMs: null,
})

describe('DNS records to publish', () => {
  it('contain the zone of the sending domain', () => {
    const keys = [key('ms-1', 'active'), key('ms-1-ed', 'active', 'ed25519-sha256')]
    const records = domainRecords({ domain: 'example.com', keys }, SERVICE)
    assert.deepEqual(
      records.map(({ type, name, value, priority, purpose, isRequired }) => [
        type,
        name,
        value,
        priority,
        purpose,
        isRequired,
      ]),
      [
        ['TXT', 'ms-1._domainkey.example.com', 'v=DKIM1; p=ms-1', undefined, 'dkim', true],
        ['TXT', 'ms-1-ed._domainkey.example.com', 'v=DKIM1; p=ms-1-ed', undefined, 'dkim', false],
        ['TXT', 'example.com', 'v=spf1 include:bounces.mail.example.net ~all', undefined, 'spf', false],
        ['TXT', '_dmarc.example.com', 'v=DMARC1; p=none', undefined, 'dmarc', false],
        ['MX', 'bounce.example.com', 'mail.example.net', 10, 'mail_from', false],
        ['TXT', 'bounce.example.com', 'v=spf1 include:bounces.mail.example.net ~all', undefined, 'mail_from', false],
        ['CNAME', 'track.example.com', 'app.example.net', undefined, 'tracking', false],
      ],
    )
    for (const { description } of records) assert.match(description, /^[A-Z].+\.$/)
  })

  it('include the next and the previous key, but no removable one', () => {
    const domain = {
      domain: 'example.com',
      keys: [key('now', 'active'), key('next', 'waiting'), key('old', 'retired'), key('older', 'removable')],
    }
    const dkim = domainRecords(domain, SERVICE).filter(({ purpose }) => purpose === 'dkim')
    assert.deepEqual(
      dkim.map(({ name, isRequired }) => [name.split('.')[0], isRequired]),
      [
        ['now', true],
        ['next', false],
        ['old', false],
      ],
    )
    assert.match(dkim[2]?.description ?? '', /2031-01-08/)
    assert.deepEqual(removableRecords(domain), [
      { type: 'TXT', name: 'older._domainkey.example.com', value: 'v=DKIM1; p=older' },
    ])
  })

  it('contain the zone of the bounce domain, which may belong to a sending domain', () => {
    assert.deepEqual(
      returnPathRecords(SERVICE).map(({ type, name, value, priority }) => [type, name, value, priority]),
      [
        ['MX', 'bounces.mail.example.net', 'mail.example.net', 10],
        ['TXT', 'bounces.mail.example.net', 'v=spf1 a:mail.example.net -all', undefined],
      ],
    )
    const [, spf] = domainRecords(
      { domain: 'example.net', keys: [] },
      { ...SERVICE, bounceDomain: 'bounce.example.net' },
    ).filter(({ purpose }) => purpose === 'mail_from')
    assert.deepEqual([spf?.name, spf?.value], ['bounce.example.net', 'v=spf1 a:mail.example.net -all'])
  })

  const hosts: readonly [publicUrl: string, host: string | null][] = [
    ['https://mail.example.net', 'mail.example.net'],
    ['https://Mail.Example.net:8443/x', 'mail.example.net'],
    ['http://localhost:3000', null],
    ['http://192.0.2.1', null],
    ['http://[2001:db8::1]', null],
  ]
  for (const [publicUrl, host] of hosts)
    it(`the tracking host of ${publicUrl} is ${host}`, () =>
      assert.strictEqual(serviceHostsOf(loadConfig({ PUBLIC_URL: publicUrl })).trackingHost, host))
})
