/**
 * Second factors: authenticator apps and recovery codes. And what an attacker tries who knows the password: guessing,
 * replaying codes, and skipping the factor.
 */
import { assert } from 'chai'
import { Secret, TOTP } from 'otpauth'
import { hashSecretToken } from '#src/people/secret-token.ts'
import { startApi, textOf, listOf, OPERATOR_TOKEN, type TestApi, type TestResponse } from '#test/support/api.ts'
import { addPerson, addSignedIn, asPerson, cookieOf, PASSWORD, type TestPerson } from '#test/support/people.ts'

const ORIGIN = 'http://mail.corp.example'
const STEP_MS = 30_000

type SignedIn = Awaited<ReturnType<typeof addSignedIn>>

describe('second factors', () => {
  let api: TestApi
  before(async () => {
    api = await startApi({ PUBLIC_URL: ORIGIN, TRUST_PROXY: '1' })
  })
  after(() => api.stop())

  let networks = 0
  const newNetwork = (): Record<string, string> => ({ 'x-forwarded-for': `203.0.113.${++networks}` })
  const post = (path: string, body: object, headers: Record<string, string> = newNetwork()): Promise<TestResponse> =>
    api.call('POST', path, { key: null, body, headers })
  const codeOf = (secret: string, atMs = Date.now()): string =>
    new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: atMs })

  /** The password is right; returns the token for the second factor. */
  async function login({ email }: Pick<TestPerson, 'email'>): Promise<string> {
    const answer = await post('/auth/login', { email, password: PASSWORD })
    assert.deepEqual([answer.status, textOf(answer.body['data']?.['status'])], [200, 'second_factor'])
    assert.equal(cookieOf(answer), '')
    return textOf(answer.body['data']?.['login_token'])
  }
  const finish = (token: string, factor: object): Promise<TestResponse> =>
    post('/auth/login/second-factor', { login_token: token, ...factor })
  const me = (answer: TestResponse): Promise<TestResponse> => asPerson(api, cookieOf(answer))('GET', '/auth/me')

  /** `code` is the one that confirmed it. */
  async function addApp(person: SignedIn): Promise<{ secret: string; code: string; codes: string[] }> {
    const started = await person.call('POST', '/auth/totp')
    const secret = textOf(started.body['data']?.['secret'])
    const enrolment = textOf(started.body['data']?.['enrolment'])
    const code = codeOf(secret)
    const confirmed = await person.call('POST', '/auth/totp/confirm', { body: { enrolment, code } })
    assert.equal(confirmed.status, 200, JSON.stringify(confirmed.body))
    return { secret, code, codes: listOf(confirmed.body['data']?.['recovery_codes']).map(textOf) }
  }
  /** As if the last code had been used long ago. */
  const forgetStep = ({ userId }: TestPerson): Promise<unknown> =>
    api.db.query(`UPDATE login_methods SET details = '{"step": 0}' WHERE user_id = $1 AND kind = 'totp'`, [userId])
  describe('an authenticator app', () => {
    it('is asked for after the password, and its code signs in', async () => {
      const person = await addSignedIn(api, { role: 'viewer' })
      const { secret } = await addApp(person)
      assert.equal((await person.call('GET', '/auth/me')).status, 200, 'this session has proven it')
      const answer = await finish(await login(person), { code: codeOf(secret, Date.now() + STEP_MS) })
      assert.equal(answer.status, 200, JSON.stringify(answer.body))
      assert.equal((await me(answer)).status, 200)
      const { rows } = await api.db.query('SELECT methods FROM user_sessions WHERE user_id = $1 ORDER BY created_at', [
        person.userId,
      ])
      assert.deepEqual(rows, [{ methods: ['password', 'totp'] }, { methods: ['password', 'totp'] }])
    })
    it('is not stored before a code of it has arrived, and ends the other sessions', async () => {
      const person = await addSignedIn(api, {})
      const other = asPerson(api, await loginCookie(person))
      const started = await person.call('POST', '/auth/totp')
      const enrolment = textOf(started.body['data']?.['enrolment'])
      const wrong = await person.call('POST', '/auth/totp/confirm', { body: { enrolment, code: '000000' } })
      assert.equal(wrong.status, 403)
      assert.equal((await other('GET', '/auth/me')).status, 200)
      const code = codeOf(textOf(started.body['data']?.['secret']))
      const foreign = await addSignedIn(api, {})
      assert.equal((await foreign.call('POST', '/auth/totp/confirm', { body: { enrolment, code } })).status, 409)
      assert.equal((await person.call('POST', '/auth/totp/confirm', { body: { enrolment, code } })).status, 200)
      assert.equal((await other('GET', '/auth/me')).status, 401)
      const { rows } = await api.db.query<{ text: string }>('SELECT to_jsonb(l)::text AS text FROM login_methods l')
      assert.notInclude(rows.map(({ text }) => text).join(), textOf(started.body['data']?.['secret']))
    })
    it('accepts each code once, also if it is sent twice at the same time', async () => {
      const person = await addSignedIn(api, {})
      const { secret, code: used } = await addApp(person)
      assert.equal((await finish(await login(person), { code: used })).status, 401, 'used by the confirmation')
      const code = codeOf(secret, Date.now() + STEP_MS)
      const tokens = [await login(person), await login(person), await login(person)]
      const statuses = (await Promise.all(tokens.map((token) => finish(token, { code })))).map(({ status }) => status)
      assert.deepEqual(
        statuses.filter((status) => status === 200),
        [200],
      )
    })
    it('needs a recent login, and is removed by one', async () => {
      const person = await addSignedIn(api, {})
      await addApp(person)
      const listed = await person.call('GET', '/auth/login-methods')
      const methods = listOf(listed.body['data']?.['login_methods'])
      assert.deepEqual(
        methods.map(({ kind }) => textOf(kind)),
        ['password', 'totp', 'recovery_codes'],
      )
      const id = textOf(methods[1]?.['id'])
      assert.equal((await person.call('DELETE', `/auth/login-methods/${id}`)).status, 200)
      assert.match(await loginCookie(person), /^mailstead-session=./, 'the password is enough again')
      await api.db.query(`UPDATE user_sessions SET created_at = now() - interval '1 hour' WHERE user_id = $1`, [
        person.userId,
      ])
      for (const path of ['/auth/totp', '/auth/recovery-codes', '/auth/passkeys/options'])
        assert.equal((await person.call('POST', path)).status, 403, path)
    })
  })

  async function loginCookie({ email }: TestPerson): Promise<string> {
    return cookieOf(await post('/auth/login', { email, password: PASSWORD }))
  }

  describe('recovery codes', () => {
    it('work once each, in any spelling, and are replaced as a whole', async () => {
      const person = await addSignedIn(api, {})
      const { codes } = await addApp(person)
      assert.equal(new Set(codes).size, 10)
      const [first = '', second = ''] = codes
      assert.equal((await finish(await login(person), { code: first.toUpperCase().replaceAll('-', ' ') })).status, 200)
      assert.equal((await finish(await login(person), { code: first })).status, 401)
      assert.equal((await person.call('POST', '/auth/recovery-codes')).status, 200)
      assert.equal((await finish(await login(person), { code: second })).status, 401)
      const { rows } = await api.db.query<{ text: string }>('SELECT to_jsonb(l)::text AS text FROM login_methods l')
      assert.notInclude(rows.map(({ text }) => text).join(), second)
    })
    it('used twice at once sign in once', async () => {
      const person = await addSignedIn(api, {})
      const { codes } = await addApp(person)
      const tokens = [await login(person), await login(person), await login(person)]
      const answers = await Promise.all(tokens.map((token) => finish(token, { code: codes[0] ?? '' })))
      assert.lengthOf(
        answers.filter(({ status }) => status === 200),
        1,
      )
    })
  })

  describe('an attacker with the password', () => {
    it('guesses few codes, over all logins, and nobody else is slowed down', async () => {
      const [person, other] = [await addSignedIn(api, {}), await addSignedIn(api, {})]
      const [{ secret }, { secret: otherSecret }] = [await addApp(person), await addApp(other)]
      const statuses = []
      for (let i = 0; i < 6; i++) statuses.push((await finish(await login(person), { code: '000000' })).status)
      assert.deepEqual(statuses, [401, 401, 401, 401, 401, 429])
      await forgetStep(person)
      assert.equal((await finish(await login(person), { code: codeOf(secret) })).status, 429)
      await forgetStep(other)
      assert.equal((await finish(await login(other), { code: codeOf(otherSecret) })).status, 200)
    })
    it('guesses no more in parallel', async () => {
      const person = await addSignedIn(api, {})
      await addApp(person)
      const token = await login(person)
      const answers = await Promise.all(Array.from({ length: 12 }, () => finish(token, { code: '000000' })))
      assert.lengthOf(
        answers.filter(({ status }) => status === 401),
        5,
      )
    })
    it('gets nothing from the first step: no session, no other endpoint, no token twice', async () => {
      const person = await addSignedIn(api, {})
      const { secret } = await addApp(person)
      await forgetStep(person)
      const token = await login(person)
      const cookie = `mailstead-session=${token}`
      assert.equal((await asPerson(api, cookie)('GET', '/auth/me')).status, 401)
      assert.equal((await post('/auth/login/passkey', { token, response: { id: 'x' } })).status, 401)
      assert.equal((await finish(token, { code: codeOf(secret) })).status, 200)
      await forgetStep(person)
      assert.equal((await finish(token, { code: codeOf(secret) })).status, 409)
      for (const wrong of ['A'.repeat(43), 'x']) assert.equal((await finish(wrong, { code: '000000' })).status, 409)
    })
    it('cannot finish a login after the password was changed, the user disabled, or the time is over', async () => {
      const person = await addSignedIn(api, {})
      const { secret } = await addApp(person)
      await forgetStep(person)
      const [changed, late] = [await login(person), await login(person)]
      const lateHash = hashSecretToken(late)
      await api.db.query('UPDATE pending_logins SET expires_at = now() WHERE token_hash = $1', [lateHash])
      assert.equal((await finish(late, { code: codeOf(secret) })).status, 409)
      const body = { present_password: PASSWORD, new_password: PASSWORD }
      assert.equal((await person.call('POST', '/auth/password', { body, headers: newNetwork() })).status, 200)
      assert.equal((await finish(changed, { code: codeOf(secret) })).status, 409)
      const disabled = await login(person)
      await api.call('POST', `/admin/users/${person.userId}/disable`, { key: OPERATOR_TOKEN })
      assert.equal((await finish(disabled, { code: codeOf(secret) })).status, 409)
    })
    it('cannot use a page of another site', async () => {
      const headers = { 'sec-fetch-site': 'cross-site', ...newNetwork() }
      for (const path of ['/auth/login/second-factor', '/auth/login/passkey'])
        assert.equal((await post(path, { login_token: 'x', token: 'x', code: '1', response: {} }, headers)).status, 403)
    })
  })

  it('an operator resets them: the password is enough then, and all sessions have ended', async () => {
    const person = await addSignedIn(api, {})
    await addApp(person)
    const reset = await api.call('POST', `/admin/users/${person.userId}/reset-second-factors`, { key: OPERATOR_TOKEN })
    assert.equal(reset.status, 200)
    assert.equal((await person.call('GET', '/auth/me')).status, 401)
    assert.match(await loginCookie(person), /^mailstead-session=./)
  })

  describe('if they are required', () => {
    let strict: TestApi
    before(async () => {
      strict = await startApi({ PUBLIC_URL: ORIGIN, SECOND_FACTOR: 'operators' })
    })
    after(() => strict.stop())
    it('who has none can only add one, and then do everything', async () => {
      const operator = await addSignedIn(strict, { isOperator: true, role: 'owner' })
      const refused = [
        await operator.call('GET', '/admin/users', { workspace: null }),
        await operator.call('GET', '/public/members'),
        await operator.call('POST', '/auth/workspaces', { body: { name: 'X' } }),
      ]
      for (const { status, body } of refused)
        assert.deepEqual([status, /requires a second factor/.test(textOf(body['message']))], [403, true])
      const { body } = await operator.call('GET', '/auth/me')
      assert.deepEqual(body['data']?.['needs_second_factor'] as unknown, true)
      await addApp(operator)
      assert.equal((await operator.call('GET', '/admin/users', { workspace: null })).status, 200)
    })
    it('others are not asked', async () => {
      const viewer = await addSignedIn(strict, { role: 'viewer' })
      assert.equal((await viewer.call('GET', '/public/members')).status, 200)
      assert.ok((await addPerson(strict)).userId)
    })
  })
})
