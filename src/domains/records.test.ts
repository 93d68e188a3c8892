import assert from 'node:assert/strict'
import { domainRecords, returnPathRecords } from './records.ts'

describe('DNS records to publish', () => {
  it('in the zone of the sending domain', () => {
    const keys = [
      { selector: 'ms-1', algorithm: 'rsa-sha256', dnsValue: 'v=DKIM1; k=rsa; p=R' },
      { selector: 'ms-1-ed', algorithm: 'ed25519-sha256', dnsValue: 'v=DKIM1; k=ed25519; p=E' },
    ] as const
    assert.deepEqual(domainRecords('example.com', keys, 'bounces.mail.example.net').map(({ type, name, value, isRequired }) => [type, name, value, isRequired]), [
      ['TXT', 'ms-1._domainkey.example.com', 'v=DKIM1; k=rsa; p=R', true],
      ['TXT', 'ms-1-ed._domainkey.example.com', 'v=DKIM1; k=ed25519; p=E', false],
      ['TXT', 'example.com', 'v=spf1 include:bounces.mail.example.net ~all', false],
      ['TXT', '_dmarc.example.com', 'v=DMARC1; p=none', false],
    ])
  })

  it('in the zone of the bounce domain', () => {
    assert.deepEqual(returnPathRecords('bounces.mail.example.net', 'mail.example.net').map(({ type, name, value, priority }) => [type, name, value, priority]), [
      ['MX', 'bounces.mail.example.net', 'mail.example.net', 10],
      ['TXT', 'bounces.mail.example.net', 'v=spf1 a:mail.example.net -all', undefined],
    ])
  })
})
