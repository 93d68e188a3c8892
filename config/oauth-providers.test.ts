/** OAUTH_PROVIDERS_FILE: what it adds to what is known, and what is wrong with it. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
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

  it('without a file there are none', () => assert.equal(loadOAuthProviders(null).size, 0))
  it('of Google and Microsoft only the client is needed', () => {
    const providers = load({
      google: { clientId: 'g' },
      microsoft: { clientId: 'm', clientSecret: 's', messagesPerMinute: 10 },
    })
    const [google, microsoft] = [providers.get('google'), providers.get('microsoft')]
    assert.deepEqual(
      [google?.name, google?.clientId, google?.clientSecret, google?.smtpHost, google?.security],
      ['google', 'g', null, 'smtp.gmail.com', 'tls'],
    )
    assert.equal(google?.parameters['access_type'], 'offline')
    assert.deepEqual([microsoft?.clientSecret, microsoft?.messagesPerMinute, microsoft?.connections], ['s', 10, 3])
  })
  it('another says where everything is; its limits are those of SMTP credentials unless it says so', () => {
    assert.deepEqual(load({ own: OWN }).get('own'), {
      ...OWN,
      name: 'own',
      clientSecret: null,
      parameters: {},
      connections: 5,
      messagesPerConnection: 100,
      messagesPerMinute: 300,
    })
  })

  const WRONG: readonly (readonly [name: string, content: unknown, said: RegExp])[] = [
    ['no JSON', '{', /cannot be read/],
    ['no object', [], /must be an object of providers/],
    ['a bad name', { 'My Own': OWN }, /lower-case/],
    ['no client', { google: {} }, /google\.clientId: is required/],
    ['a part is missing', { own: { ...OWN, tokenUrl: undefined } }, /own\.tokenUrl: must be an http or https address/],
    ['another kind of address', { own: { ...OWN, tokenUrl: 'file:///etc/passwd' } }, /own\.tokenUrl/],
    ['an unknown field', { own: { ...OWN, password: 'x' } }, /own/],
    ['two at once', { own: { ...OWN, smtpPort: 0, connections: 0 } }, /smtpPort[^]*connections: at least 1/],
  ]
  for (const [name, content, said] of WRONG) it(`${name} is told`, () => assert.throws(() => load(content), said))
})
