/** IDENTITY_PROVIDERS_FILE: presets, defaults and errors. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { loadIdentityProviders } from './identity-providers.ts'

describe('identity providers', () => {
  let dir: string
  before(() => {
    dir = mkdtempSync('/tmp/mailstead-providers-')
  })
  after(() => rmSync(dir, { recursive: true }))
  const load = (content: unknown): ReturnType<typeof loadIdentityProviders> => {
    const file = join(dir, 'providers.json')
    writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
    return loadIdentityProviders(file)
  }
  const tenant = '00000000-1111-2222-3333-444444444444'

  it('are none without a file', () => assert.strictEqual(loadIdentityProviders(null).size, 0))
  it('have presets for Google, Microsoft and GitHub', () => {
    const row = { clientId: 'id', clientSecret: 's' }
    const providers = load({ google: row, microsoft: { ...row, tenant }, github: row })
    assert.deepEqual(
      [...providers.values()].map(({ label, kind, issuer }) => [label, kind, issuer]),
      [
        ['Google', 'oidc', 'https://accounts.google.com'],
        ['Microsoft', 'oidc', `https://login.microsoftonline.com/${tenant}/v2.0`],
        ['GitHub', 'github', 'https://github.com'],
      ],
    )
    assert.deepEqual(providers.get('google')?.scopes, ['openid', 'email', 'profile'])
    assert.isFalse(providers.get('google')?.trustsEmail)
  })
  const WRONG: readonly [what: string, content: unknown, message: RegExp][] = [
    ['no JSON', '{', /cannot be read/],
    ['a list', [], /must be a JSON object/],
    ['a name with a space', { 'a b': {} }, /provider name/],
    ['no client', { google: {} }, /google\.clientId: is required/],
    ['all tenants of Microsoft', { microsoft: { clientId: 'x', tenant: 'common' } }, /microsoft\.(tenant|issuer)/],
    ['clear text', { own: { clientId: 'x', issuer: 'http://login.example' } }, /own\.issuer: must be an https URL/],
    ['an unknown field', { google: { clientId: 'x', trustEmail: true } }, /trustEmail/],
    [
      'accounts for everybody',
      { google: { clientId: 'x', createAccounts: { domains: [] } } },
      /createAccounts\.domains: is empty/,
    ],
    [
      'new owners',
      { google: { clientId: 'x', createAccounts: { domains: ['a.example'], role: 'owner' } } },
      /createAccounts\.role/,
    ],
  ]
  for (const [what, content, message] of WRONG) it(`refuse ${what}`, () => assert.throws(() => load(content), message))
})
