import { assert } from 'chai'
import { loadConfig } from '#config/load.ts'
import type { DkimKeyRow, KeyState } from './key-state.ts'
import { delegatedNames } from './delegated-names.ts'
import { domainRecords, type DomainWithKeys, serviceHostsOf, removableRecords, returnPathRecords } from './records.ts'

const SERVICE = {
  bounceDomain: 'bounces.mail.example.net',
  serverName: 'mail.example.net',
  trackingHost: 'app.example.net',
  dmarcReports: 'dmarc-reports@bounces.mail.example.net',
}

const key = (selector: string, state: KeyState, algorithm: DkimKeyRow['algorithm'] = 'rsa-sha256'): DkimKeyRow => ({
  id: selector,
  selector,
  algorithm,
  dnsValue: `v=DKIM1; p=${selector}`,
  state,
  sinceMs: Date.UTC(2031, 0, 1),
  seenMs: null,
  target: null,
})
const owner = (keys: readonly DkimKeyRow[], dkimZone: string | null = null): DomainWithKeys => ({
  id: '01a20310-ef21-7000-b591-9169f5e5ee88',
  domain: 'example.com',
  dkimZone,
  keys,
  bimi: null,
})

describe('DNS records to publish', () => {
  it('contain the zone of the sending domain', () => {
    const keys = [key('ms-1', 'active'), key('ms-1-ed', 'active', 'ed25519-sha256')]
    const records = domainRecords(owner(keys), SERVICE)
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
        [
          'TXT',
          '_dmarc.example.com',
          'v=DMARC1; p=none; rua=mailto:dmarc-reports@bounces.mail.example.net',
          undefined,
          'dmarc',
          false,
        ],
        ['MX', 'bounce.example.com', 'mail.example.net', 10, 'mail_from', false],
        ['TXT', 'bounce.example.com', 'v=spf1 include:bounces.mail.example.net ~all', undefined, 'mail_from', false],
        ['CNAME', 'track.example.com', 'app.example.net', undefined, 'tracking', false],
      ],
    )
    for (const { description } of records) assert.match(description, /^[A-Z].+\.$/)
  })

  it('include BIMI once its owner has set a logo', () => {
    const files = { logoUrl: 'https://cdn.example.com/logo.svg', certificateUrl: 'https://cdn.example.com/vmc.pem' }
    const values = [files, { ...files, certificateUrl: null }].map((bimi) =>
      domainRecords({ ...owner([]), bimi }, SERVICE)
        .filter(({ purpose }) => purpose === 'bimi')
        .map(({ name, value }) => `${name} ${value}`),
    )
    assert.deepEqual(values.flat(), [
      'default._bimi.example.com v=BIMI1; l=https://cdn.example.com/logo.svg; a=https://cdn.example.com/vmc.pem;',
      'default._bimi.example.com v=BIMI1; l=https://cdn.example.com/logo.svg;',
    ])
  })

  it('include the next and the previous key, but no removable one', () => {
    const domain = owner([
      key('now', 'active'),
      key('next', 'waiting'),
      key('old', 'retired'),
      key('older', 'removable'),
    ])
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

  it('of a delegated domain are four CNAMEs beside the TXT records of keys that were published by hand', () => {
    const names = delegatedNames({ id: owner([]).id, dkimZone: 'dkim.example.net' })
    const keys = [
      key('now', 'active'),
      { ...key('ms-f5e5ee88-a', 'waiting'), target: names[0]?.target ?? '' },
      { ...key('ms-f5e5ee88-a-ed', 'waiting', 'ed25519-sha256'), target: names[2]?.target ?? '' },
    ]
    const dkim = domainRecords(owner(keys, 'dkim.example.net'), SERVICE).filter(({ purpose }) => purpose === 'dkim')
    const target = (name: string): string => `${name}.b5919169f5e5ee88.dkim.example.net`
    assert.deepEqual(
      dkim.map(({ type, name, value, isRequired }) => [type, name.split('.')[0], value, isRequired]),
      [
        ['TXT', 'now', 'v=DKIM1; p=now', true],
        ['CNAME', 'ms-f5e5ee88-a', target('a'), false],
        ['CNAME', 'ms-f5e5ee88-b', target('b'), false],
        ['CNAME', 'ms-f5e5ee88-a-ed', target('a-ed'), false],
        ['CNAME', 'ms-f5e5ee88-b-ed', target('b-ed'), false],
      ],
    )
    const later = keys.map((one) => ({ ...one, state: one.target === null ? 'retired' : 'active' }) as const)
    const required = domainRecords(owner(later, 'dkim.example.net'), SERVICE).filter(({ isRequired }) => isRequired)
    assert.deepEqual(
      required.map(({ name }) => name),
      ['ms-f5e5ee88-a._domainkey.example.com'],
    )
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
      { ...owner([]), domain: 'example.net' },
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
