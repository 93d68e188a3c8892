import { assert } from 'chai'
import { loadConfig } from '#config/load.ts'
import { neededSmtpCertificate, neededWebCertificates, servesTrackingNames } from './needed-names.ts'

const LIVE = {
  MODE: 'live',
  MAILSTEAD_HOSTNAME: 'mail.example.com',
  PUBLIC_URL: 'https://mail.example.com',
  ACME_CHALLENGE: 'http-01',
  HTTPS_PORT: '443',
}
const web = (env: Record<string, string>): string[] =>
  neededWebCertificates(loadConfig({ ...LIVE, ...env })).map(({ name }) => name)
const smtp = (env: Record<string, string>): readonly string[] | null => {
  const needed = neededSmtpCertificate(loadConfig({ ...LIVE, ...env }))
  return needed === null ? null : [needed.name, ...needed.otherNames]
}

describe('the certificates that a process needs', () => {
  for (const [what, env, names] of [
    ['one host', {}, ['mail.example.com']],
    [
      'several hosts, each once',
      { TRACKING_URL: 'https://t.example.com', SUBSCRIBE_BASE_URL: 'https://t.example.com/x' },
      ['mail.example.com', 't.example.com'],
    ],
    ['a URL without https', { TRACKING_URL: 'http://t.example.com' }, ['mail.example.com']],
    ['a proxy has https', { HTTPS_PORT: '' }, []],
    ['switched off', { ACME_CHALLENGE: 'off' }, []],
    ['files', { TLS_CERT_FILE: '/c', TLS_KEY_FILE: '/k' }, []],
  ] as const)
    it(`web, ${what}: ${names.join(' and ') || 'none'}`, () => assert.deepEqual(web(env), [...names]))
  for (const [what, env, names] of [
    ['the name of the server', {}, ['mail.example.com']],
    ['further names', { SMTP_NAMES: 'smtp.example.com,mail.example.com' }, ['mail.example.com', 'smtp.example.com']],
    ['a proxy has https', { HTTPS_PORT: '' }, ['mail.example.com']],
    ['switched off', { ACME_CHALLENGE: 'off' }, null],
    ['files', { TLS_CERT_FILE: '/c', TLS_KEY_FILE: '/k' }, null],
  ] as const)
    it(`SMTP, ${what}: ${names?.join(' and ') ?? 'none'}`, () =>
      assert.deepEqual(smtp(env), names === null ? null : [...names]))
  it("customers' tracking names, unless their DNS would have to be changed", () => {
    const serves = (env: Record<string, string>): boolean => servesTrackingNames(loadConfig({ ...LIVE, ...env }))
    assert.isTrue(serves({}))
    assert.isFalse(serves({ ACME_CHALLENGE: 'dns-01', ACME_DNS_COMMAND: 'x' }))
    assert.isFalse(serves({ HTTPS_PORT: '' }))
    assert.isFalse(serves({ TRACKING_URL: 'http://t.example.com' }))
  })
})
