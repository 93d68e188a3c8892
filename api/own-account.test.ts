/**
 * What people do with their own account, and what an attacker would try with it: find out who has an account, send mail
 * without end, take an address of somebody else, or use a link of another user.
 */
import { assert } from 'chai'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { OPERATOR_TOKEN, startApi, textOf, type TestApi, type TestResponse } from '#test/support/api.ts'
import { addPerson, addSignedIn, asPerson, PASSWORD, signIn } from '#test/support/people.ts'
import { until } from '#test/support/until.ts'

const newAddress = (): string => `${newId()}@people.example`

describe('the own account', () => {
  let api: TestApi
  before(async () => {
    api = await startApi({ MODE: 'live', MAILSTEAD_HOSTNAME: 'mx.sender.example', TRUST_PROXY: '1' })
    await addPerson(api, { isOperator: true, role: 'owner' })
  })
  after(() => api.stop())

  async function mailTo(email: string): Promise<{ id: string; text: string; from: string; workspaceId: string }[]> {
    const { rows } = await api.db.query<{ id: string; text: string; from: string; workspaceId: string }>(
      sql`
        SELECT m.id, b.body_text AS text, m.from_email AS "from", m.workspace_id AS "workspaceId"
        FROM messages m
        JOIN message_bodies b ON b.message_id = m.id
        WHERE m.to_list::text LIKE $1 AND m.is_confidential
        ORDER BY m.id
      `,
      [`%"${email}"%`],
    )
    return rows
  }
  function linkIn(text: string): string {
    return /https?:\/\/\S+?(\/(?:reset|confirm-email)\/\S+)/.exec(text)?.[1] ?? ''
  }
  async function mailedLink(email: string): Promise<string> {
    await until(
      async () => (await mailTo(email)).length > 0,
      () => `no mail to ${email}`,
    )
    return linkIn((await mailTo(email)).at(-1)?.text ?? '')
  }
  function forgot(email: string, address = '203.0.113.1'): Promise<TestResponse> {
    return api.call('POST', '/auth/forgot-password', {
      key: null,
      body: { email },
      headers: { 'x-forwarded-for': address },
    })
  }

  describe('a forgotten password', () => {
    it('is replaced by a mailed link, once, and all sessions end', async () => {
      const person = await addSignedIn(api, { role: 'viewer' })
      assert.equal((await forgot(person.email.toUpperCase(), '203.0.113.2')).status, 200)
      const link = await mailedLink(person.email)
      const body = { password: 'another password' }
      const reset = (): Promise<TestResponse> => api.call('POST', `/${link}`, { key: null, body })
      assert.deepEqual([(await reset()).status, (await reset()).status], [200, 404])
      assert.equal((await person.call('GET', '/auth/me')).status, 401)
      const login = { email: person.email, password: 'another password' }
      assert.equal((await api.call('POST', '/auth/login', { key: null, body: login })).status, 200)
    })
    it('is answered in the same way for everybody, and only people with a password get mail', async () => {
      const [withPassword, without, disabled] = [await addPerson(api), await addPerson(api), await addPerson(api)]
      await api.db.query('DELETE FROM login_methods WHERE user_id = $1', [without.userId])
      await api.db.query('UPDATE users SET disabled_at = now() WHERE id = $1', [disabled.userId])
      const addresses = [newAddress(), without.email, disabled.email, 'no address', withPassword.email]
      const answers = await Promise.all(addresses.map((email, i) => forgot(email, `203.0.113.${20 + i}`)))
      assert.lengthOf(new Set(answers.map(({ status, body }) => JSON.stringify([status, body]))), 1)
      await mailedLink(withPassword.email)
      for (const email of addresses.slice(0, 4)) assert.lengthOf(await mailTo(email), 0, email)
    })
    it('is mailed three times an hour, from any client', async () => {
      const person = await addPerson(api)
      for (let i = 0; i < 6; i++) {
        assert.equal((await forgot(person.email, `198.51.100.${i}`)).status, 200)
        await until(async () => (await mailTo(person.email)).length >= Math.min(i + 1, 3))
      }
      const other = await addPerson(api)
      await forgot(other.email, '198.51.100.99')
      await mailedLink(other.email) // what was asked for before is done
      assert.lengthOf(await mailTo(person.email), 3)
    })
    it('is limited for a network', async () => {
      const answers = await Promise.all(Array.from({ length: 30 }, () => forgot(newAddress(), '192.0.2.77')))
      assert.lengthOf(
        answers.filter(({ status }) => status === 429),
        10,
      )
    })
    it('is not asked for by a page of another site', async () => {
      const person = await addPerson(api)
      const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
      const answer = await api.call('POST', '/auth/forgot-password', {
        key: null,
        body: { email: person.email },
        headers,
      })
      assert.equal(answer.status, 403)
      assert.lengthOf(await mailTo(person.email), 0)
    })
    it('a request of a stranger ends no link that an operator made', async () => {
      const person = await addPerson(api)
      const made = await api.call('POST', `/admin/users/${person.userId}/reset-password`, { key: OPERATOR_TOKEN })
      await forgot(person.email, '203.0.113.90')
      await mailedLink(person.email)
      const path = new URL(textOf(made.body['data']?.['link'])).pathname
      const shown = await api.call('GET', `/${path}`, { key: null, headers: { accept: 'application/json' } })
      assert.equal(shown.status, 200)
    })
    it('is offered where mail can be sent', async () => {
      const { body } = await api.call('GET', '/auth/providers', { key: null })
      assert.deepEqual(body['data']?.['mails_password_links'] as unknown, true)
    })
    it('its mail is sent from a workspace of an operator, and nobody there reads it', async () => {
      const { workspaceId } = await api.addTenant()
      const person = await addPerson(api, { role: 'owner', workspaceId })
      await forgot(person.email, '203.0.113.91')
      await mailedLink(person.email)
      const [mail] = await mailTo(person.email)
      assert.equal(mail?.workspaceId, api.workspaceId)
      const read = await api.call('GET', `/public/emails/${mail?.id}/content`, { key: api.admin })
      assert.equal(read.status, 403)
    })
  })

  describe('an email address', () => {
    it('changes when its owner opens the link, signed in, and the address before gets a report', async () => {
      const person = await addSignedIn(api, { role: 'viewer' })
      const second = asPerson(api, await signIn(api, person))
      const email = newAddress()
      assert.equal((await person.call('POST', '/auth/email', { body: { email } })).status, 200)
      const link = await mailedLink(email)
      const shown = await api.call('GET', `/${link}`, { key: null, headers: { accept: 'application/json' } })
      assert.deepEqual([shown.status, shown.body['data']?.['email']] as unknown, [200, email])
      const stranger = await addSignedIn(api, { role: 'viewer' })
      assert.equal((await api.call('POST', `/${link}`, { key: null, body: {} })).status, 401)
      assert.equal((await stranger.call('POST', `/${link}`, { body: {} })).status, 401)
      assert.equal((await person.call('POST', `/${link}`, { body: {} })).status, 200)
      assert.equal((await person.call('POST', `/${link}`, { body: {} })).status, 404)
      const me = await person.call('GET', '/auth/me')
      assert.equal(textOf(me.body['data']?.['user']?.['email']), email)
      assert.equal((await second('GET', '/auth/me')).status, 401, 'other sessions have ended')
      assert.include((await mailTo(person.email)).at(-1)?.text ?? '', 'has another email address')
      const entries = await api.call('GET', '/admin/audit-log?action=confirm-email', { key: OPERATOR_TOKEN })
      assert.include(JSON.stringify(entries.body), email)
    })
    it('of another user is neither taken nor revealed', async () => {
      const [person, other] = [await addSignedIn(api, { role: 'viewer' }), await addPerson(api)]
      const free = newAddress()
      const ask = (email: string): Promise<TestResponse> => person.call('POST', '/auth/email', { body: { email } })
      const [taken, open] = [await ask(other.email), await ask(free)]
      assert.equal(
        JSON.stringify(taken.body)
          .replace(other.email, '')
          .replace(/req_\w+/, ''),
        JSON.stringify(open.body)
          .replace(free, '')
          .replace(/req_\w+/, ''),
      )
      assert.lengthOf(await mailTo(other.email), 0)
      const link = await mailedLink(free)
      await addPerson(api, { email: free })
      assert.equal((await person.call('POST', `/${link}`, { body: {} })).status, 409)
      const me = await person.call('GET', '/auth/me')
      assert.equal(textOf(me.body['data']?.['user']?.['email']), person.email)
    })
    it('needs a recent login', async () => {
      const person = await addSignedIn(api, { role: 'viewer' })
      await api.db.query(`UPDATE user_sessions SET created_at = now() - interval '1 hour' WHERE user_id = $1`, [
        person.userId,
      ])
      assert.equal((await person.call('POST', '/auth/email', { body: { email: newAddress() } })).status, 403)
      assert.equal((await person.call('DELETE', '/auth/me')).status, 403)
    })
  })

  describe('a name and an end', () => {
    it('are the own ones', async () => {
      const [person, other] = [await addSignedIn(api, { role: 'viewer' }), await addPerson(api)]
      assert.equal((await person.call('PATCH', '/auth/me', { body: { name: '  Berta  ' } })).status, 200)
      for (const name of ['a\u0000b', 'a\u2028b', '\u202e', 'Anna \u2066\u202eatreB', 'a\u200fb']) {
        assert.equal((await person.call('PATCH', '/auth/me', { body: { name } })).status, 400, JSON.stringify(name))
      }
      const { rows } = await api.db.query<{ name: string }>('SELECT name FROM users WHERE id = ANY ($1) ORDER BY id', [
        [person.userId, other.userId],
      ])
      assert.deepEqual(rows.map(({ name }) => name).toSorted(), ['Anna', 'Berta'])
      assert.equal((await person.call('DELETE', '/auth/me')).status, 200)
      assert.equal((await person.call('GET', '/auth/me')).status, 401)
      const { rows: left } = await api.db.query('SELECT FROM users WHERE id = $1', [person.userId])
      assert.lengthOf(left, 0)
    })
    it('the last owner of a workspace stays', async () => {
      const { workspaceId } = await api.addTenant()
      const owner = await addSignedIn(api, { role: 'owner', workspaceId })
      assert.equal((await owner.call('DELETE', '/auth/me')).status, 409)
    })
  })

  describe('the operator', () => {
    const change = (id: string, body: object): Promise<TestResponse> =>
      api.call('PATCH', `/admin/users/${id}`, { key: OPERATOR_TOKEN, body })

    it('makes users operators and takes the rights back, and their sessions end', async () => {
      const person = await addSignedIn(api, { role: 'viewer' })
      assert.equal((await change(person.userId, { is_operator: true })).status, 200)
      assert.equal((await person.call('GET', '/auth/me')).status, 401)
      const call = asPerson(api, await signIn(api, person))
      const asOperator = (): Promise<TestResponse> => call('GET', '/admin/users', { workspace: null })
      assert.equal((await asOperator()).status, 200)
      const body = { email: newAddress(), is_operator: true }
      const invited = await call('POST', '/admin/users/invite', { workspace: null, body })
      assert.equal((await change(person.userId, { is_operator: false })).status, 200)
      assert.equal((await asOperator()).status, 401)
      const path = new URL(textOf(invited.body['data']?.['link'])).pathname
      assert.equal((await api.call('GET', `/${path}`, { key: null })).status, 404, 'their invitations end')
    })
    it('corrects an address that nobody has', async () => {
      const [person, other] = [await addPerson(api), await addPerson(api)]
      const email = newAddress()
      assert.equal((await change(person.userId, { email: other.email })).status, 409)
      assert.equal((await change(person.userId, { email, name: 'Carla' })).status, 200)
      const login = { email, password: PASSWORD }
      assert.equal((await api.call('POST', '/auth/login', { key: null, body: login })).status, 200)
      assert.equal((await change(person.userId, {})).status, 400)
    })
  })

  it('an owner renames the workspace, a developer does not', async () => {
    const { workspaceId } = await api.addTenant()
    const owner = await addSignedIn(api, { role: 'owner', workspaceId })
    const developer = await addSignedIn(api, { role: 'developer', workspaceId })
    const rename = (person: typeof owner): Promise<TestResponse> =>
      person.call('PATCH', '/public/workspace', { workspace: workspaceId, body: { name: 'Renamed' } })
    assert.deepEqual([(await rename(developer)).status, (await rename(owner)).status], [403, 200])
    const read = await owner.call('GET', '/public/workspace', { workspace: workspaceId })
    assert.equal(textOf(read.body['data']?.['name']), 'Renamed')
  })
})
