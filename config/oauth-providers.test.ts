/** OAUTH_PROVIDERS_FILE: presets, defaults and errors. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { loadOAuthProviders } from './oauth-providers.ts'

const OWN = {
  clientId: 'me',
  authorizeUrl: 'https://login.example/a',
  tokenUrl: 'https://login.example/t',
  scopes: ['mail'],
  smtpHost: 'smtp.example',
  smtpPort: 587,
  security: 'starttls',
}

describe('OAuth providers', () => {
  let dir: string
  before(() => {
    dir = mkdtempSync('/tmp/mailstead-providers-')
  })
  after(() => rmSync(dir, { recursive: true }))

  const load = (content: unknown): ReturnType<typeof loadOAuthProviders> => {
    const file = join(dir, 'providers.json')
    writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
    return loadOAuthProviders(file)
  }

  it('returns none without a file', () => assert.strictEqual(loadOAuthProviders(null).size, 0))
  it('needs only the client of Google and Microsoft', () => {
    const providers = load({
      google: { clientId: 'g' },
      microsoft: { clientId: 'm', clientSecret: 's', messagesPerMinute: 10 },
    })
    const [google, microsoft] = [providers.get('google'), providers.get('microsoft')]
    assert.deepEqual(
      [google?.name, google?.clientId, google?.clientSecret, google?.smtpHost, google?.security],
      ['google', 'g', null, 'smtp.gmail.com', 'tls'],
    )
    assert.strictEqual(google?.parameters['access_type'], 'offline')
    assert.deepEqual([microsoft?.clientSecret, microsoft?.messagesPerMinute, microsoft?.connections], ['s', 10, 3])
  })
  it('needs all addresses of another provider, and gives it the limits of SMTP credentials by default', () => {
    assert.deepEqual(load({ own: OWN }).get('own'), {
      ...OWN,
      name: 'own',
      clientSecret: null,
      revokeUrl: null,
      parameters: {},
      connections: 5,
      messagesPerConnection: 100,
      messagesPerMinute: 300,
    })
  })

  const WRONG: readonly (readonly [name: string, content: unknown, expected: RegExp])[] = [
    ['invalid JSON', '{', /cannot be read/],
    ['a list', [], /must be a JSON object with one provider per name/],
    ['an invalid name', { 'My Own': OWN }, /lower-case/],
    ['a missing client id', { google: {} }, /google\.clientId: is required/],
    ['a missing address', { own: { ...OWN, tokenUrl: undefined } }, /own\.tokenUrl: must be an http or https URL/],
    ['a file URL', { own: { ...OWN, tokenUrl: 'file:///etc/passwd' } }, /own\.tokenUrl/],
    ['an unknown field', { own: { ...OWN, password: 'x' } }, /own/],
    ['two problems', { own: { ...OWN, smtpPort: 0, connections: 0 } }, /smtpPort[^]*connections: must be at least 1/],
  ]
  for (const [name, content, expected] of WRONG)
    it(`rejects ${name}`, () => assert.throws(() => load(content), expected))
})
