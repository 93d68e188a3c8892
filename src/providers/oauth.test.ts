/** What an OAuth server answers, and what it means; what it is asked. */
import { createHash } from 'node:crypto'
import { assert } from 'chai'
import fc from 'fast-check'
import { loadOAuthProviders } from '#config/oauth-providers.ts'
import { authorizeUrlOf, parseTokenResponse } from './oauth.ts'

const idToken = (claims: object): string => `x.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.y`

describe('the token endpoint', () => {
  const CASES: readonly (readonly [name: string, status: number, body: unknown, expected: object])[] = [
    [
      'all of it',
      200,
      { access_token: 'a', refresh_token: 'r', expires_in: 3600, id_token: idToken({ email: 'Me@X.example' }) },
      { kind: 'granted', accessToken: 'a', refreshToken: 'r', expiresInSeconds: 3600, email: 'me@x.example' },
    ],
    [
      'the least',
      200,
      { access_token: 'a' },
      { kind: 'granted', accessToken: 'a', refreshToken: null, expiresInSeconds: 600, email: null },
    ],
    [
      'a life as text',
      200,
      { access_token: 'a', expires_in: '99' },
      { kind: 'granted', accessToken: 'a', refreshToken: null, expiresInSeconds: 99, email: null },
    ],
    [
      'a life of nothing',
      200,
      { access_token: 'a', expires_in: -5 },
      { kind: 'granted', accessToken: 'a', refreshToken: null, expiresInSeconds: 600, email: null },
    ],
    [
      'a broken id token',
      200,
      { access_token: 'a', id_token: 'a.%.c' },
      { kind: 'granted', accessToken: 'a', refreshToken: null, expiresInSeconds: 600, email: null },
    ],
    [
      'a token that would break a line',
      200,
      { access_token: 'a\r\nMAIL FROM:<x>' },
      { kind: 'failed', reason: 'own returned no token: status 200' },
    ],
    ['no token', 200, {}, { kind: 'failed', reason: 'own returned no token: status 200' }],
    [
      'taken back',
      400,
      { error: 'invalid_grant', error_description: 'Token has been revoked' },
      { kind: 'revoked', reason: 'own has revoked the grant (invalid_grant: Token has been revoked)' },
    ],
    [
      "our client is wrong: not the account's fault",
      401,
      { error: 'invalid_client' },
      { kind: 'failed', reason: 'own returned no token: invalid_client' },
    ],
    ['busy', 503, 'away', { kind: 'failed', reason: 'own returned no token: status 503' }],
    ['a list', 200, '[1]', { kind: 'failed', reason: 'own returned no token: status 200' }],
  ]
  for (const [name, status, body, expected] of CASES)
    it(name, () =>
      assert.deepEqual(
        parseTokenResponse(status, typeof body === 'string' ? body : JSON.stringify(body), 'own'),
        expected,
      ),
    )
  it('any response is parsed, and only a token is a grant', () => {
    fc.assert(
      fc.property(fc.integer({ min: 100, max: 599 }), fc.oneof(fc.string(), fc.json()), (status, body) => {
        assert.ok(['failed', 'revoked', 'granted'].includes(parseTokenResponse(status, body, 'own').kind))
      }),
    )
  })
})

describe('the authorize URL', () => {
  it('keeps the parameters of the provider, and adds state, PKCE and login hint', () => {
    const provider = loadOAuthProviders('test/support/oauth-providers.json').get('corp') ?? assert.fail('no provider')
    const url = new URL(
      authorizeUrlOf(provider, {
        redirectUri: 'https://us.example/oauth/callback',
        state: 's',
        verifier: 'v',
        email: 'me@corp.example',
      }),
    )
    assert.deepEqual(Object.fromEntries(url.searchParams), {
      tenant: '1',
      response_type: 'code',
      client_id: 'mailstead',
      redirect_uri: 'https://us.example/oauth/callback',
      scope: 'openid mail',
      state: 's',
      code_challenge: createHash('sha256').update('v').digest('base64url'),
      code_challenge_method: 'S256',
      login_hint: 'me@corp.example',
    })
    assert.ok(!url.href.includes('secret'))
  })
})
