/**
 * What an attacker tries with accounts: guess passwords, learn who has an account, use a link twice, use the link of
 * somebody else, rise above the own role, and reach people of another workspace.
 */
import { assert } from 'chai'
import { ROLE_NAMES, type MemberRole } from '#src/people/roles.ts'
import { createFirstLink, storeInvitation } from '#src/people/invitations.ts'
import { createReset } from '#src/people/password-resets.ts'
import { newId } from '#src/platform/id.ts'
import { listOf, OPERATOR_TOKEN, startApi, textOf, type TestApi, type TestResponse } from '#test/support/api.ts'
import { addPerson, addSignedIn, asPerson, cookieOf, idOf, PASSWORD, signIn } from '#test/support/people.ts'

type SignedIn = Awaited<ReturnType<typeof addSignedIn>>

describe('attacks on people', () => {
  let api: TestApi
  let networks = 0
  before(async () => {
    api = await startApi({ TRUST_PROXY: '1' })
  })
  after(() => api.stop())

  /** Each test comes from a network of its own, because networks are limited. */
  const newNetwork = (): Record<string, string> => ({ 'x-forwarded-for': `198.51.${++networks}.1` })
  const login = (email: string, password: string, headers: Record<string, string>): Promise<TestResponse> =>
    api.call('POST', '/auth/login', { key: null, body: { email, password }, headers })
  const join = (token: string, body: object, headers: Record<string, string> = newNetwork()): Promise<TestResponse> =>
    api.call('POST', `//join/${token}`, { key: null, body, headers: { accept: 'application/json', ...headers } })

  async function tokenFor(role: MemberRole, email = `${newId()}@people.example`): Promise<string> {
    const place = { workspaceId: api.workspaceId, role, isOperator: false, invitedBy: null }
    return (await api.db.transaction((tx) => storeInvitation(tx, { ...place, email }))).token
  }

  describe('guessing passwords', () => {
    it('is limited by account and network, whether the account exists or not', async () => {
      const { email } = await addPerson(api)
      for (const address of [email, `${newId()}@people.example`]) {
        const from = newNetwork()
        const statuses = []
        for (let i = 0; i < 6; i++) statuses.push((await login(address, 'a wrong guess', from)).status)
        assert.deepEqual(statuses, [401, 401, 401, 401, 401, 429])
        const right = await login(address, PASSWORD, from)
        assert.deepEqual([right.status, right.body['reason']], [429, 'client_rate'] as unknown as never[])
        assert.isAbove(Number(right.headers.get('retry-after')), 0)
      }
      // nobody is locked out by the guesses of another network
      assert.equal((await login(email, PASSWORD, newNetwork())).status, 200)
    })
    it('in parallel gains nothing', async () => {
      const { email } = await addPerson(api)
      const from = newNetwork()
      const answers = await Promise.all(Array.from({ length: 12 }, () => login(email, 'a wrong guess', from)))
      assert.lengthOf(
        answers.filter(({ status }) => status === 401),
        5,
      )
    })
    it('shows nothing: an unknown, a disabled and a wrong login have the same answer', async () => {
      const [known, disabled] = [await addPerson(api), await addPerson(api)]
      await api.call('POST', `/admin/users/${disabled.userId}/disable`, { key: OPERATOR_TOKEN })
      const answers = [
        await login(known.email, 'a wrong guess', newNetwork()),
        await login(disabled.email, PASSWORD, newNetwork()),
        await login('nobody@people.example', PASSWORD, newNetwork()),
        await login('no address', PASSWORD, newNetwork()),
      ]
      const seen = answers.map(({ status, body, headers }) => {
        const { request_id: _, ...rest } = body as unknown as Record<string, unknown>
        return [status, rest, headers.get('set-cookie')]
      })
      for (const one of seen) assert.deepEqual(one, seen[0])
      assert.equal(answers[0]?.status, 401)
    })
    it('of the present password is limited, too', async () => {
      const { call } = await addSignedIn(api, {})
      const body = { present_password: 'a wrong guess', new_password: 'another password' }
      const headers = newNetwork()
      const statuses = []
      for (let i = 0; i < 6; i++) statuses.push((await call('POST', '/auth/password', { body, headers })).status)
      assert.deepEqual(statuses, [403, 403, 403, 403, 403, 429])
    })
  })

  describe('links', () => {
    const account = { name: 'Eve', password: 'a password of Eve' }
    it('create an account with the role, once', async () => {
      const token = await tokenFor('viewer', 'eve@people.example')
      const shown = await api.call('GET', `//join/${token}`, { key: null, headers: { accept: 'application/json' } })
      assert.equal(textOf(shown.body['data']?.['email']), 'eve@people.example')
      const joined = await join(token, account)
      assert.equal(joined.status, 200, JSON.stringify(joined.body))
      const me = await asPerson(api, cookieOf(joined))('GET', '/auth/me')
      assert.match(JSON.stringify(me.body), /"role":"viewer"/)
      assert.equal((await join(token, { ...account, name: 'Again' })).status, 404)
    })
    it('used twice at once create one account', async () => {
      const token = await tokenFor('viewer')
      const answers = await Promise.all([join(token, account), join(token, account), join(token, account)])
      assert.lengthOf(
        answers.filter(({ status }) => status === 200),
        1,
      )
    })
    it('of a known address need its session, and no other', async () => {
      const [known, other] = [await addPerson(api), await addSignedIn(api, {})]
      const token = await tokenFor('admin', known.email)
      assert.equal((await join(token, account)).status, 409)
      const asOther = { cookie: other.cookie, origin: api.config.publicUrl }
      assert.equal((await join(token, {}, asOther)).status, 409)
      const own = { cookie: await signIn(api, known), origin: api.config.publicUrl }
      assert.equal((await join(token, {}, { ...own, origin: 'https://evil.example' })).status, 403)
      assert.equal((await join(token, {}, own)).status, 200)
    })
    it('that are too old, revoked or unknown get one answer', async () => {
      const [old, revoked] = [await tokenFor('viewer', 'old@x.example'), await tokenFor('viewer', 'gone@x.example')]
      await api.db.query(`UPDATE invitations SET expires_at = now() WHERE email = 'old@x.example'`)
      await api.db.query(`UPDATE invitations SET revoked_at = now() WHERE email = 'gone@x.example'`)
      for (const token of [old, revoked, 'A'.repeat(43), 'x']) {
        const answer = await join(token, account)
        assert.deepEqual([answer.status, answer.body['error']], [404, 'NOT_FOUND'] as unknown as never[])
      }
    })
    it('for the first operator end with the first operator', async () => {
      const other = await api.addTenant()
      await api.db.query('UPDATE users SET is_operator = false')
      const first = await api.db.transaction((tx) => createFirstLink(tx, other.workspaceId))
      const second = await api.db.transaction((tx) => createFirstLink(tx, other.workspaceId))
      const chosen = { ...account, email: 'Operator@People.example' }
      assert.equal((await join(first ?? '', chosen)).status, 404, 'a later link replaces it')
      const joined = await join(second ?? '', chosen)
      assert.equal(joined.status, 200)
      const me = await asPerson(api, cookieOf(joined))('GET', '/auth/me')
      assert.match(JSON.stringify(me.body), /"email":"operator@people.example".*"is_operator":true.*"role":"owner"/)
      assert.isNull(await api.db.transaction((tx) => createFirstLink(tx, other.workspaceId)))
      const { rows } = await api.db.query<{ hash: Buffer }>('SELECT token_hash AS hash FROM invitations')
      assert.ok(rows.every(({ hash }) => hash.length === 32))
    })
    it('for a new password work once, and end all sessions', async () => {
      const person = await addSignedIn(api, {})
      const { token } = await api.db.transaction((tx) => createReset(tx, person.userId))
      const reset = (password: string): Promise<TestResponse> =>
        api.call('POST', `//reset/${token}`, { key: null, body: { password }, headers: { accept: 'application/json' } })
      assert.equal((await reset('short')).status, 400)
      assert.equal((await reset('the next password')).status, 200)
      assert.equal((await reset('and one more password')).status, 404)
      assert.equal((await person.call('GET', '/auth/me')).status, 401)
      assert.equal((await login(person.email, 'the next password', newNetwork())).status, 200)
    })
  })

  describe('rising above the own role', () => {
    const byRole = {} as Record<MemberRole, SignedIn>
    before(async () => {
      for (const role of ROLE_NAMES) byRole[role] = await addSignedIn(api, { role })
    })
    it('an admin makes and changes no owner, and a lower role nobody', async () => {
      const { owner, admin, viewer } = byRole
      const refused = [
        await admin.call('PATCH', `/public/members/${admin.userId}`, { body: { role: 'owner' } }),
        await admin.call('PATCH', `/public/members/${viewer.userId}`, { body: { role: 'owner' } }),
        await admin.call('PATCH', `/public/members/${owner.userId}`, { body: { role: 'viewer' } }),
        await admin.call('DELETE', `/public/members/${owner.userId}`),
        await admin.call('POST', '/public/invitations', { body: { email: 'new@x.example', role: 'owner' } }),
      ]
      for (const role of ['developer', 'marketer', 'viewer'] as const) {
        const { call, userId } = byRole[role]
        refused.push(await call('PATCH', `/public/members/${userId}`, { body: { role: 'admin' } }))
        refused.push(await call('POST', '/public/invitations', { body: { email: 'new@x.example', role: 'viewer' } }))
        refused.push(await call('POST', '/public/api-keys', { body: { name: 'K', scopes: ['contacts:read'] } }))
      }
      assert.deepEqual([...new Set(refused.map(({ status }) => status))], [403])
    })
    it('an admin revokes no invitation of an owner', async () => {
      const body = { email: 'next-owner@x.example', role: 'owner' }
      const id = idOf(await byRole.owner.call('POST', '/public/invitations', { body }))
      assert.equal((await byRole.admin.call('DELETE', `/public/invitations/${id}`)).status, 403)
      assert.equal((await byRole.owner.call('DELETE', `/public/invitations/${id}`)).status, 200)
    })
    it('a developer rotates no key that does more than the role', async () => {
      const { body } = await api.call('GET', '/public/api-keys?type=admin', { key: api.admin })
      const id = textOf(listOf(body['data']?.['keys'])[0]?.['id'])
      assert.equal((await byRole.developer.call('POST', `/public/api-keys/${id}/rotate`)).status, 403)
    })
    it('the last owner stays, also if two leave at once', async () => {
      const { workspaceId } = await api.addTenant()
      const one = await addSignedIn(api, { role: 'owner', workspaceId })
      const two = await addSignedIn(api, { role: 'owner', workspaceId })
      const leave = ({ call }: SignedIn): Promise<TestResponse> =>
        call('POST', '/public/members/leave', { workspace: workspaceId })
      const statuses = (await Promise.all([leave(one), leave(two)])).map(({ status }) => status)
      assert.sameMembers(statuses, [200, 409])
    })
    it('another role, or a removal, ends the sessions and the invitations of the member', async () => {
      const { workspaceId } = await api.addTenant()
      const owner = await addSignedIn(api, { role: 'owner', workspaceId })
      const member = await addSignedIn(api, { role: 'admin', workspaceId })
      const place = { workspace: workspaceId }
      const body = { email: 'second-self@x.example', role: 'admin' }
      const invited = await member.call('POST', '/public/invitations', { ...place, body })
      assert.equal(invited.status, 201)
      const path = `/public/members/${member.userId}`
      assert.equal((await owner.call('PATCH', path, { ...place, body: { role: 'viewer' } })).status, 200)
      assert.equal((await member.call('GET', '/auth/me')).status, 401)
      const open = await owner.call('GET', '/public/invitations', place)
      assert.equal(Number(open.body['data']?.['total']), 0)
      const again = asPerson(api, await signIn(api, member))
      assert.equal((await owner.call('DELETE', path, place)).status, 200)
      assert.equal((await again('GET', '/auth/me')).status, 401)
    })
  })

  it('ids of another workspace are unknown, and nothing of it changes', async () => {
    const other = await api.addTenant()
    const { workspaceId } = other
    const owner = await addSignedIn(api, { role: 'owner' })
    const foreign = await addPerson(api, { role: 'viewer', workspaceId })
    const place = { workspaceId, role: 'viewer', isOperator: false, invitedBy: null } as const
    const { id } = await api.db.transaction((tx) => storeInvitation(tx, { ...place, email: 'x@foreign.example' }))
    const answers = [
      await owner.call('PATCH', `/public/members/${foreign.userId}`, { body: { role: 'admin' } }),
      await owner.call('DELETE', `/public/members/${foreign.userId}`),
      await owner.call('DELETE', `/public/invitations/${id}`),
      await owner.call('GET', '/public/members', { workspace: workspaceId }),
    ]
    assert.deepEqual(
      answers.map(({ status }) => status),
      [404, 404, 404, 404],
    )
    for (const path of ['/public/members', '/public/invitations']) {
      const text = JSON.stringify((await owner.call('GET', path)).body)
      assert.notMatch(text, new RegExp(`${foreign.userId}|foreign.example`))
    }
    const { rows } = await api.db.query(
      'SELECT FROM workspace_members WHERE user_id = $1 AND role = $2 AND workspace_id = $3',
      [foreign.userId, 'viewer', workspaceId],
    )
    assert.lengthOf(rows, 1)
  })
})
