/**
 * Passkeys, with a virtual authenticator: as login without a password and as second factor; and what an attacker tries:
 * another place, another challenge, copies, replays, and the passkey of somebody else.
 */
import { assert } from 'chai'
import { OPERATOR_TOKEN, startApi, textOf, type TestApi, type TestResponse } from '#test/support/api.ts'
import { addSignedIn, asPerson, cookieOf, PASSWORD } from '#test/support/people.ts'
import {
  createVirtualAuthenticator,
  type PasskeyJson,
  type VirtualAuthenticator,
} from '#test/support/virtual-authenticator.ts'

const ORIGIN = 'http://mail.corp.example'

type SignedIn = Awaited<ReturnType<typeof addSignedIn>>

describe('a passkey', () => {
  let api: TestApi
  before(async () => {
    api = await startApi({ PUBLIC_URL: ORIGIN, TRUST_PROXY: '1' })
  })
  after(() => api.stop())

  let networks = 0
  const post = (path: string, body: object): Promise<TestResponse> =>
    api.call('POST', path, { key: null, body, headers: { 'x-forwarded-for': `203.0.113.${++networks}` } })
  async function login({ email }: SignedIn): Promise<string> {
    const answer = await post('/auth/login', { email, password: PASSWORD })
    assert.deepEqual([answer.status, textOf(answer.body['data']?.['status'])], [200, 'second_factor'])
    return textOf(answer.body['data']?.['login_token'])
  }
  const finish = (token: string, factor: object): Promise<TestResponse> =>
    post('/auth/login/second-factor', { login_token: token, ...factor })
  const me = (answer: TestResponse): Promise<TestResponse> => asPerson(api, cookieOf(answer))('GET', '/auth/me')
  const claims = { origin: ORIGIN }
  const optionsOf = (answer: TestResponse): { token: string; challenge: string } => ({
    token: textOf(answer.body['data']?.['token']),
    challenge: textOf(answer.body['data']?.['options']?.['challenge']),
  })
  async function addKey(person: SignedIn): Promise<VirtualAuthenticator> {
    const authenticator = createVirtualAuthenticator()
    const { token, challenge } = optionsOf(await person.call('POST', '/auth/passkeys/options'))
    const response = authenticator.create({ challenge }, claims)
    const added = await person.call('POST', '/auth/passkeys', { body: { token, name: 'Key', response } })
    assert.equal(added.status, 201, JSON.stringify(added.body))
    return authenticator
  }
  const begin = async (): Promise<ReturnType<typeof optionsOf>> =>
    optionsOf(await post('/auth/login/passkey/options', {}))
  const signIn = (token: string, response: PasskeyJson): Promise<TestResponse> =>
    post('/auth/login/passkey', { token, response })

  it('signs in without a password, and is two factors', async () => {
    const person = await addSignedIn(api, { role: 'viewer' })
    const authenticator = await addKey(person)
    const { token, challenge } = await begin()
    const answer = await signIn(token, authenticator.get({ challenge }, claims))
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    assert.equal(textOf((await me(answer)).body['data']?.['user']?.['email']), person.email)
  })
  it('is the second factor after a password', async () => {
    const [person, other] = [await addSignedIn(api, {}), await addSignedIn(api, {})]
    const [authenticator, foreign] = [await addKey(person), await addKey(other)]
    const token = await login(person)
    const ask = async (): Promise<ReturnType<typeof optionsOf>> =>
      optionsOf(await post('/auth/login/second-factor/passkey', { login_token: token }))
    const first = await ask()
    const wrong = { token: first.token, response: foreign.get(first, claims) }
    assert.equal((await finish(token, { passkey: wrong })).status, 401, 'of somebody else')
    const second = await ask()
    const right = { token: second.token, response: authenticator.get(second, claims) }
    assert.equal((await finish(token, { passkey: right })).status, 200)
  })
  it('is refused for another place or challenge, without the person, and with a signature that is wrong', async () => {
    const person = await addSignedIn(api, {})
    const authenticator = await addKey(person)
    const cases: readonly [string, (challenge: string) => PasskeyJson][] = [
      ['another origin', (challenge) => authenticator.get({ challenge }, { origin: 'https://evil.example' })],
      [
        'another origin for this host',
        (challenge) => authenticator.get({ challenge }, { origin: 'https://evil.example', rpId: 'mail.corp.example' }),
      ],
      ['another challenge', () => authenticator.get({ challenge: 'AAAA' }, claims)],
      ['nobody verified', (challenge) => authenticator.get({ challenge }, { ...claims, isVerified: false })],
      [
        'another key',
        (challenge) => {
          const forger = createVirtualAuthenticator()
          forger.create({ challenge }, claims)
          return { ...forger.get({ challenge }, claims), id: authenticator.get({ challenge }, claims).id }
        },
      ],
      ['no response', () => ({ id: authenticator.get({ challenge: 'x' }, claims).id })],
    ]
    for (const [what, respond] of cases) {
      const { token, challenge } = await begin()
      assert.equal((await signIn(token, respond(challenge))).status, 401, what)
    }
  })
  it('is refused when it was copied: its counter stands still; and a response works once', async () => {
    const authenticator = await addKey(await addSignedIn(api, {}))
    const first = await begin()
    const response = authenticator.get(first, claims)
    assert.equal((await signIn(first.token, response)).status, 200)
    assert.equal((await signIn(first.token, response)).status, 401)
    authenticator.counter = 1
    const second = await begin()
    assert.equal((await signIn(second.token, authenticator.get(second, claims))).status, 401)
  })
  it('without a counter works, as those of platforms', async () => {
    const authenticator = await addKey(await addSignedIn(api, {}))
    await api.db.query(`UPDATE login_methods SET details = jsonb_set(details, '{counter}', '0') WHERE kind = 'passkey'`)
    authenticator.counter = 0
    for (const _ of [1, 2]) {
      const { token, challenge } = await begin()
      assert.equal((await signIn(token, authenticator.get({ challenge }, claims))).status, 200)
    }
  })
  it('of a disabled user signs nobody in', async () => {
    const person = await addSignedIn(api, {})
    const authenticator = await addKey(person)
    await api.call('POST', `/admin/users/${person.userId}/disable`, { key: OPERATOR_TOKEN })
    const { token, challenge } = await begin()
    assert.equal((await signIn(token, authenticator.get({ challenge }, claims))).status, 401)
  })
  it('is added only to the session that asked for it, once', async () => {
    const [person, other] = [await addSignedIn(api, {}), await addSignedIn(api, {})]
    const { token, challenge } = optionsOf(await person.call('POST', '/auth/passkeys/options'))
    const response = createVirtualAuthenticator().create({ challenge }, claims)
    const body = { token, name: 'Key', response }
    assert.equal((await other.call('POST', '/auth/passkeys', { body })).status, 409)
    assert.equal((await person.call('POST', '/auth/passkeys', { body })).status, 409, 'the options were used')
  })
})
