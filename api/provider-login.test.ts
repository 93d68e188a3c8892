/**
 * The login at an identity provider, against a real one (oidc-provider): the ways in which a person gets in, and who
 * does not.
 */
import { assert } from 'chai'
import { listOf, textOf, type TestApi, type TestResponse } from '#test/support/api.ts'
import type { IdentityServer } from '#test/support/identity-server.ts'
import { addPerson, addSignedIn, asPerson, cookieOf } from '#test/support/people.ts'
import { newId } from '#src/platform/id.ts'
import {
  DOMAIN,
  newAddress,
  seen,
  someone,
  startProviderScene,
  type ProviderScene,
} from './provider-login.test-data.ts'

describe('login at an identity provider', () => {
  let scene: ProviderScene
  let api: TestApi
  let server: IdentityServer
  before(async () => {
    scene = await startProviderScene()
    ;({ api, server } = scene)
  })
  after(() => scene.stop())
  const me = (answer: TestResponse): Promise<TestResponse> => asPerson(api, cookieOf(answer))('GET', '/auth/me')

  describe('a person gets in', () => {
    it('with an invitation of the verified address, once, and then without it', async () => {
      const person = someone()
      const token = await scene.invite(person.email ?? '')
      const joined = await scene.signInAt('own', person, { invitation: token })
      assert.equal(joined.status, 200, JSON.stringify(joined.body))
      assert.match(JSON.stringify((await me(joined)).body), /"role":"developer"/)
      assert.equal(
        (await scene.signInAt('own', { ...someone(), email: person.email ?? '' }, { invitation: token })).status,
        409,
      )
      // the address may change: the subject counts
      const again = await scene.signInAt('own', { ...person, email: newAddress(), name: 'Other' })
      assert.equal(textOf((await me(again)).body['data']?.['user']?.['email']), person.email)
      const { body } = await asPerson(api, cookieOf(again))('GET', '/auth/login-methods')
      const methods = listOf(body['data']?.['login_methods']).map(({ kind, name }) => [kind, name])
      assert.deepEqual(methods as unknown, [['oidc', 'own']])
    })
    it('from a recent session that attaches the identity, and signs in with it afterwards', async () => {
      const user = await addSignedIn(api, { role: 'viewer' })
      const person = someone()
      server.person = person
      const started = await user.call('POST', '/auth/providers/own/link', { body: {} })
      const url = await server.signIn(textOf(started.body['data']?.['authorize_url']))
      assert.equal((await scene.comeBack(url, cookieOf(started))).status, 200)
      const answer = await scene.signInAt('own', person)
      assert.equal(textOf(answer.body['data']?.['user_id']), user.userId)
    })
    it('with a new account, where the operator permits it for the domain', async () => {
      const person = someone(newAddress(DOMAIN))
      const created = await scene.signInAt('corp', person)
      assert.equal(created.status, 200, JSON.stringify(created.body))
      assert.equal(textOf((await me(created)).body['data']?.['user']?.['email']), person.email)
      assert.equal((await scene.signInAt('own', someone(newAddress(DOMAIN)))).status, 403, 'another provider does not')
    })
    it('as a browser: with pages, a cookie, and a path of this service', async () => {
      server.person = await scene.addKnown()
      const headers = {
        accept: 'text/html',
        'content-type': 'application/x-www-form-urlencoded',
        ...scene.newNetwork(),
      }
      const path = '/auth/providers/own/login'
      const forward = await api.call('POST', path, { key: null, headers, body: 'return_to=/campaigns%3Fa=1' })
      const target = /url=(.*)$/.exec(forward.headers.get('refresh') ?? '')?.[1] ?? ''
      const back = await server.signIn(target)
      const shown = await scene.comeBack(back, cookieOf(forward), { accept: 'text/html' })
      assert.deepEqual([shown.status, shown.headers.get('refresh')], [200, '0; url=/campaigns?a=1'])
      assert.match(cookieOf(shown), /^mailstead-session=[\w-]{43}$/)
    })
    it('after the keys of the provider were rotated', async () => {
      const person = await scene.addKnown()
      server.rotateKeys()
      assert.equal((await scene.signInAt('own', person)).status, 200)
      server.rotateKeys()
      assert.equal((await scene.signInAt('own', person)).status, 200)
    })
  })

  describe('nobody gets in', () => {
    it('as a user whose address is equal: neither verified, nor with an unused invitation of it', async () => {
      const { email } = await addPerson(api, { role: 'owner' })
      const token = await scene.invite(email)
      for (const provider of ['own', 'trusting'])
        for (const body of [{}, { invitation: token }]) {
          const [status, message] = seen(await scene.signInAt(provider, someone(email), body))
          assert.equal(status, 409, provider)
          assert.match(message, /has an account that is not connected/)
        }
      const { rows } = await api.db.query('SELECT FROM login_methods WHERE kind = $1 AND details ->> $2 = $3', [
        'oidc',
        'email',
        email,
      ])
      assert.lengthOf(rows, 0)
    })
    it('with an address that is not verified, unless the operator trusts the provider', async () => {
      const email = newAddress()
      const token = await scene.invite(email)
      for (const verified of [false, undefined, 'no', 'false']) {
        const person = { sub: newId(), email, ...(verified === undefined ? {} : { email_verified: verified }) }
        const [status, message] = seen(await scene.signInAt('own', person, { invitation: token }))
        assert.deepEqual([status, /has not verified/.test(message)], [403, true], String(verified))
      }
      const denied = { sub: newId(), email, email_verified: false }
      assert.equal((await scene.signInAt('trusting', denied, { invitation: token })).status, 403)
      assert.equal((await scene.signInAt('trusting', { sub: newId(), email }, { invitation: token })).status, 200)
    })
    it('without an invitation, with that of another address, or from another domain', async () => {
      assert.match(seen(await scene.signInAt('own', someone()))[1], /You have no account here/)
      const token = await scene.invite(newAddress())
      assert.match(seen(await scene.signInAt('own', someone(), { invitation: token }))[1], /This invitation is for/)
      for (const domain of ['evil.example', `x.${DOMAIN}`, `evil${DOMAIN}`])
        assert.match(seen(await scene.signInAt('corp', someone(newAddress(domain))))[1], /not of a domain/)
    })
    it('whose account is disabled', async () => {
      const person = await scene.addKnown()
      await api.db.query('UPDATE users SET disabled_at = now() WHERE email = $1', [person.email])
      assert.equal((await scene.signInAt('own', person)).status, 403)
    })
  })

  it('providers are listed by name only', async () => {
    const { body } = await api.call('GET', '/auth/providers', { key: null })
    assert.deepEqual(body['data']?.['providers']?.[0 as never] as unknown, { name: 'own', label: 'Own' })
    assert.notInclude(JSON.stringify(body), server.clientSecret)
    const unknown = await api.call('POST', '/auth/providers/x/login', {
      key: null,
      body: {},
      headers: scene.newNetwork(),
    })
    assert.equal(unknown.status, 404)
  })
})
