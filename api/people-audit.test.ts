/**
 * The audit log has every change by a person, as theirs: one request for each changing endpoint of people. A new
 * endpoint without a request fails. Also what an invitation and a member of another workspace are answered with.
 */
import { assert } from 'chai'
import { Secret, TOTP } from 'otpauth'
import { newId } from '#src/platform/id.ts'
import { hashSecretToken } from '#src/people/secret-token.ts'
import {
  listOf,
  OPERATOR_TOKEN,
  startApi,
  textOf,
  type Json,
  type TestApi,
  type TestResponse,
} from '#test/support/api.ts'
import { addPerson, addSignedIn, asPerson, idOf, PASSWORD, signIn, type TestPerson } from '#test/support/people.ts'
import { createVirtualAuthenticator } from '#test/support/virtual-authenticator.ts'
import { isAudited } from '#api/http/audit.ts'
import { isPersonal } from '#api/http/route.ts'
import { ROUTES } from './table.ts'

type SignedIn = Awaited<ReturnType<typeof addSignedIn>>

interface Scene {
  readonly api: TestApi
  readonly owner: SignedIn
  /** A developer of the workspace. */
  readonly member: TestPerson
  readonly invitation: string
}

/** Each changes something; the first two are public endpoints. */
const REQUESTS: Readonly<Record<string, (scene: Scene) => Promise<TestResponse>>> = {
  login: ({ api, owner }) =>
    api.call('POST', '/auth/login', { key: null, body: { email: owner.email, password: PASSWORD } }),
  'change-password': ({ owner }) =>
    owner.call('POST', '/auth/password', { body: { present_password: PASSWORD, new_password: PASSWORD } }),
  'end-session': async ({ api, owner }) => {
    const { rows } = await api.db.query<{ id: string }>(
      'SELECT id FROM user_sessions WHERE token_hash <> $1 AND user_id = $2',
      [hashSecretToken(owner.cookie.split('=')[1] ?? ''), owner.userId],
    )
    return owner.call('DELETE', `/auth/sessions/${rows[0]?.id ?? newId()}`)
  },
  'end-other-sessions': ({ owner }) => owner.call('DELETE', '/auth/sessions'),
  'remove-login-method': async ({ api, owner }) => {
    const id = newId()
    await api.db.query(
      `INSERT INTO login_methods (id, user_id, kind, subject, secret) VALUES ($1, $2, 'oidc', $3, '')`,
      [id, owner.userId, `https://own.example ${id}`],
    )
    return owner.call('DELETE', `/auth/login-methods/${id}`)
  },
  'renew-recovery-codes': async ({ api, owner }) => {
    await api.db.query(
      `INSERT INTO login_methods (id, user_id, kind, subject, secret) VALUES ($1, $2, 'passkey', $3, '')`,
      [newId(), owner.userId, newId()],
    )
    return owner.call('POST', '/auth/recovery-codes')
  },
  'confirm-totp': async ({ owner }) => {
    const started = await owner.call('POST', '/auth/totp')
    const code = new TOTP({ secret: Secret.fromBase32(textOf(started.body['data']?.['secret'])) }).generate()
    const enrolment = textOf(started.body['data']?.['enrolment'])
    return owner.call('POST', '/auth/totp/confirm', { body: { enrolment, code } })
  },
  'add-passkey': async ({ api, owner }) => {
    const { body } = await owner.call('POST', '/auth/passkeys/options')
    const challenge = textOf(body['data']?.['options']?.['challenge'])
    const response = createVirtualAuthenticator().create({ challenge }, { origin: api.config.publicUrl })
    const token = textOf(body['data']?.['token'])
    return owner.call('POST', '/auth/passkeys', { body: { token, name: 'Key', response } })
  },
  'change-me': ({ owner }) => owner.call('PATCH', '/auth/me', { body: { name: 'Another' } }),
  'change-workspace': ({ owner }) => owner.call('PATCH', '/public/workspace', { body: { name: `Renamed ${newId()}` } }),
  'delete-me': async ({ api, member }) => asPerson(api, await signIn(api, member))('DELETE', '/auth/me'),
  'create-workspace': ({ owner }) => owner.call('POST', '/auth/workspaces', { body: { name: 'Second' } }),
  'create-admin-key': ({ owner }) =>
    owner.call('POST', '/public/api-keys', { body: { name: 'K', scopes: ['contacts:read'] } }),
  'create-invitation': ({ owner }) =>
    owner.call('POST', '/public/invitations', { body: { email: 'new@people.example', role: 'viewer' } }),
  'revoke-invitation': ({ owner, invitation }) => owner.call('DELETE', `/public/invitations/${invitation}`),
  'change-member': ({ owner, member }) =>
    owner.call('PATCH', `/public/members/${member.userId}`, { body: { role: 'viewer' } }),
  'remove-member': ({ owner, member }) => owner.call('DELETE', `/public/members/${member.userId}`),
  'leave-workspace': async ({ api, member }) =>
    asPerson(api, await signIn(api, member))('POST', '/public/members/leave'),
  logout: ({ owner }) => owner.call('POST', '/auth/logout'),
}

describe('changes by people', () => {
  let api: TestApi
  before(async () => {
    api = await startApi()
  })
  after(() => api.stop())

  async function newScene(): Promise<Scene> {
    const owner = await addSignedIn(api, { role: 'owner', isOperator: true })
    await signIn(api, owner)
    const member = await addPerson(api, { role: 'developer' })
    const body = { email: `${newId()}@people.example`, role: 'viewer' }
    const invitation = idOf(await owner.call('POST', '/public/invitations', { body }))
    return { api, owner, member, invitation }
  }
  async function entriesOf(action: string): Promise<Json[]> {
    const { body } = await api.call('GET', `/admin/audit-log?action=${action}`, { key: OPERATOR_TOKEN })
    return listOf(body['data']?.['entries'])
  }

  it('has a request for every endpoint of people', () => {
    const missing = ROUTES.filter((spec) => isPersonal(spec) && isAudited(spec) && REQUESTS[spec.name] === undefined)
    assert.deepEqual(
      missing.map(({ name }) => name),
      [],
      'add them to REQUESTS',
    )
  })
  for (const [name, send] of Object.entries(REQUESTS))
    it(`has an entry of ${name}`, async () => {
      const scene = await newScene()
      const answer = await send(scene)
      assert.isBelow(answer.status, 300, JSON.stringify(answer.body))
      const [entry] = await entriesOf(name)
      const actor = ['leave-workspace', 'delete-me'].includes(name) ? scene.member.userId : scene.owner.userId
      assert.deepEqual([entry?.['actor']?.['type'], entry?.['actor']?.['id']], ['user', actor] as unknown as Json[])
      assert.equal(textOf(entry?.['ip_address']), '127.0.0.1')
    })

  it('an operator who is signed in is the operator there, with their user', async () => {
    const { owner, member } = await newScene()
    assert.equal((await owner.call('POST', `/admin/users/${member.userId}/disable`, { workspace: null })).status, 200)
    const [entry] = await entriesOf('admin-disable-user')
    assert.deepEqual(entry?.['actor'] as unknown, { type: 'operator', id: owner.userId, name: 'Anna' })
  })
  it('a workspace sees the members who changed it, and no operator', async () => {
    const { owner } = await newScene()
    const { body } = await owner.call('GET', '/public/audit-log?limit=1000')
    const actors = listOf(body['data']?.['entries']).map(
      (entry) => entry['actor'] as unknown as Record<string, unknown>,
    )
    assert.ok(actors.some(({ type, id, name }) => type === 'user' && id === owner.userId && name === 'Anna'))
    assert.ok(actors.every(({ type, id, name }) => type !== 'operator' || (id === null && name === null)))
  })
  it('contains no password and no token, and nothing of a deleted user', async () => {
    const { rows } = await api.db.query<{ text: string }>('SELECT to_jsonb(l)::text AS text FROM audit_log l')
    const all = rows.map(({ text }) => text).join('\n')
    assert.notMatch(all, /argon2id|\\\\x[0-9a-f]{64}/)
    const gone = await addPerson(api)
    await api.call('POST', `/admin/users/${gone.userId}/disable`, { key: OPERATOR_TOKEN })
    await api.call('DELETE', `/admin/users/${gone.userId}`, { key: OPERATOR_TOKEN })
    const { rows: left } = await api.db.query('SELECT FROM audit_log l WHERE to_jsonb(l)::text LIKE $1', [
      `%${gone.email}%`,
    ])
    assert.lengthOf(left, 0)
  })
})
