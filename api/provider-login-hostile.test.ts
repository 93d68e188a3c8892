/**
 * What an attacker tries with logins at an identity provider: foreign states, planted codes and forged tokens; and
 * providers that lie, are slow or away.
 */
import { assert } from 'chai'
import { listOf, textOf, type TestApi, type TestResponse } from '#test/support/api.ts'
import type { IdentityServer } from '#test/support/identity-server.ts'
import { addSignedIn, cookieOf } from '#test/support/people.ts'
import { seen, someone, startProviderScene, type ProviderScene } from './provider-login.test-data.ts'

describe('attacks on logins at an identity provider', () => {
  let scene: ProviderScene
  let api: TestApi
  let server: IdentityServer
  before(async () => {
    scene = await startProviderScene()
    ;({ api, server } = scene)
  })
  after(() => scene.stop())
  beforeEach(() => {
    server.intercept = null
  })

  describe('an attacker', () => {
    it('does not sign a victim in as himself: the code works only in the browser that began', async () => {
      server.person = await scene.addKnown()
      const mine = await scene.begin('own')
      const planted = await server.signIn(mine.url)
      const victim = await scene.begin('own')
      for (const cookie of ['', victim.cookie, `mailstead-sign-in=${'A'.repeat(43)}`])
        assert.equal((await scene.comeBack(planted, cookie)).status, 409)
      assert.equal((await scene.comeBack(planted, mine.cookie)).status, 409, 'the state is void')
    })
    it('uses no code and no state twice, and no state of another login or provider', async () => {
      server.person = await scene.addKnown()
      const { url, cookie } = await scene.begin('own')
      const back = await server.signIn(url)
      const second = await scene.begin('own')
      const mixed = new URL(back)
      mixed.searchParams.set('state', new URL(second.url).searchParams.get('state') ?? '')
      assert.notEqual(
        (await scene.comeBack(mixed, second.cookie)).status,
        200,
        'the code of one with the state of another',
      )
      assert.equal((await scene.comeBack(back, cookie)).status, 200)
      assert.equal((await scene.comeBack(back, cookie)).status, 409)
      const third = await scene.begin('own')
      const elsewhere = new URL(await server.signIn(third.url))
      elsewhere.pathname = '/auth/callback/corp'
      assert.equal((await scene.comeBack(elsewhere, third.cookie)).status, 409)
    })
    it('gets nothing twice at once', async () => {
      server.person = await scene.addKnown()
      const { url, cookie } = await scene.begin('own')
      const back = await server.signIn(url)
      const statuses = await Promise.all([1, 2, 3].map(async () => (await scene.comeBack(back, cookie)).status))
      assert.sameMembers(statuses, [200, 409, 409])
    })
    it('does not attach an identity to a session that has ended, nor one of somebody else', async () => {
      const user = await addSignedIn(api, { role: 'viewer' })
      const start = async (): Promise<[TestResponse, URL]> => {
        const started = await user.call('POST', '/auth/providers/own/link', { body: {} })
        return [started, await server.signIn(textOf(started.body['data']?.['authorize_url']))]
      }
      server.person = await scene.addKnown()
      const [first, taken] = await start()
      assert.match(seen(await scene.comeBack(taken, cookieOf(first)))[1], /belongs to another account/)
      server.person = someone()
      const [second, late] = await start()
      await user.call('POST', '/auth/logout')
      assert.equal((await scene.comeBack(late, cookieOf(second))).status, 409)
    })
    it('needs a recent login to attach an identity, and to remove one', async () => {
      const user = await addSignedIn(api, { role: 'viewer' })
      await api.db.query(`UPDATE user_sessions SET created_at = now() - interval '16 minutes' WHERE user_id = $1`, [
        user.userId,
      ])
      const { body } = await user.call('GET', '/auth/login-methods')
      const id = textOf(listOf(body['data']?.['login_methods'])[0]?.['id'])
      const answers = [
        await user.call('POST', '/auth/providers/own/link', { body: {} }),
        await user.call('DELETE', `/auth/login-methods/${id}`),
      ]
      for (const answer of answers) assert.match(seen(answer)[1], /login within the last 15 minutes/)
    })
    it('begins no login from another site, and chooses no other place to return to', async () => {
      const headers = { 'sec-fetch-site': 'cross-site', ...scene.newNetwork() }
      const path = '/auth/providers/own/login'
      assert.equal((await api.call('POST', path, { key: null, body: {}, headers })).status, 403)
      for (const place of ['https://evil.example', '//evil.example', '/\\evil.example', '/a\nb', 'x'])
        assert.equal(
          (await api.call('POST', path, { key: null, body: { return_to: place }, headers: scene.newNetwork() })).status,
          400,
          place,
        )
    })
    it('begins no endless number of logins', async () => {
      const headers = scene.newNetwork()
      const path = '/auth/providers/own/login'
      const answers = await Promise.all(
        Array.from({ length: 70 }, () => api.call('POST', path, { key: null, body: {}, headers })),
      )
      assert.lengthOf(
        answers.filter(({ status }) => status === 429),
        10,
      )
    })
  })

  describe('a provider', () => {
    const json =
      (value: unknown): IdentityServer['intercept'] =>
      (_, res) => {
        res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
        return true
      }
    it('that declines, or says that it is another issuer, signs nobody in', async () => {
      server.person = await scene.addKnown()
      const { url, cookie } = await scene.begin('own')
      const back = await server.signIn(url)
      const state = back.searchParams.get('state') ?? ''
      const error = new URL(`${back.origin}${back.pathname}?error=access_denied&state=${state}`)
      assert.equal((await scene.comeBack(error, cookie)).status, 403)
      const second = await scene.begin('own')
      const mixedUp = await server.signIn(second.url)
      mixedUp.searchParams.set('iss', 'https://evil.example')
      assert.equal((await scene.comeBack(mixedUp, second.cookie)).status, 503)
    })
    it('whose metadata name another issuer is refused before anybody goes there', async () => {
      server.intercept = json({ issuer: server.url, authorization_endpoint: 'https://evil.example/a' })
      const path = '/auth/providers/other/login'
      const answer = await api.call('POST', path, { key: null, body: {}, headers: scene.newNetwork() })
      assert.equal(answer.status, 503)
    })
    const forgeries: readonly [what: string, change: (claims: Record<string, unknown>) => object][] = [
      ['signed by another key', (claims) => claims],
      ['of another issuer', (claims) => ({ ...claims, iss: 'https://evil.example' })],
      ['for another client', (claims) => ({ ...claims, aud: 'somebody else' })],
      ['with another nonce', (claims) => ({ ...claims, nonce: 'x' })],
      ['that is too old', (claims) => ({ ...claims, exp: 1 })],
      ['without a signature', (claims) => ({ ...claims, alg: 'none' })],
    ]
    for (const [what, change] of forgeries)
      it(`cannot be forged with an id_token ${what}`, async () => {
        server.person = await scene.addKnown()
        const { url, cookie } = await scene.begin('own')
        const back = await server.signIn(url)
        const nonce = new URL(url).searchParams.get('nonce')
        const now = Math.floor(Date.now() / 1000)
        const claims = { iss: server.url, aud: server.clientId, sub: server.person.sub, iat: now, exp: now + 60, nonce }
        const { alg = 'ES256', ...payload } = change(claims) as Record<string, unknown>
        const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
        const signature = alg === 'none' ? '' : Buffer.alloc(64, 1).toString('base64url')
        const idToken = `${part({ alg })}.${part(payload)}.${signature}`
        server.intercept = (req, res) =>
          req.url === '/token' &&
          json({ access_token: 'x', token_type: 'bearer', id_token: idToken })?.(req, res) === true
        assert.equal((await scene.comeBack(back, cookie)).status, 503)
      })
    it('that is away, or ends the connection, delays nobody else and gets another chance', async () => {
      const person = await scene.addKnown()
      server.person = person
      const { url, cookie } = await scene.begin('own')
      const back = await server.signIn(url)
      server.intercept = (req) => {
        req.socket.destroy()
        return true
      }
      const failed = await scene.comeBack(back, cookie)
      assert.deepEqual([failed.status, failed.headers.get('retry-after')], [503, '30'])
      server.intercept = null
      assert.equal((await scene.signInAt('own', person)).status, 200)
    })
    it('that sends an endless or wrong document is refused', async () => {
      for (const body of ['x'.repeat(300_000), '[', '{}']) {
        server.intercept = (_, res) => {
          res.writeHead(200, { 'content-type': 'application/json' }).end(body)
          return true
        }
        const path = '/auth/providers/other/login'
        const answer = await api.call('POST', path, { key: null, body: {}, headers: scene.newNetwork() })
        assert.equal(answer.status, 503, body.slice(0, 10))
      }
    })
  })
})
