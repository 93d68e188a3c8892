/**
 * Sessions and roles: every pair of a role and an endpoint is sent and compared with the table of permissions, so that
 * an endpoint that forgets its check is found. And what an attacker would try: planted sessions, requests of other
 * sites, other workspaces, and roles above the own one.
 */
import { assert } from 'chai'
import { ROLE_NAMES, type MemberRole } from '#src/people/roles.ts'
import { newId } from '#src/platform/id.ts'
import { listOf, startApi, textOf, type TestApi, type TestResponse } from '#test/support/api.ts'
import { addPerson, addSignedIn, asPerson, cookieOf, PASSWORD, signIn } from '#test/support/people.ts'
import { permissionOf, rolesOf } from '#api/http/route-permissions.ts'
import { isOfWorkspace, pathsOf, type AnyRoute } from '#api/http/route.ts'
import { ROUTES } from './table.ts'

const OF_WORKSPACES = ROUTES.filter(isOfWorkspace)
/** They change what the other cases need, and are tested on their own. */
const NOT_SENT = new Set(['leave-workspace'])

type SignedIn = Awaited<ReturnType<typeof addSignedIn>>

/** A path with an id that does not exist. */
function concrete(spec: AnyRoute): string {
  return `/${(pathsOf(spec)[0] ?? '').replace(/:\w+/g, newId())}`
}

const isRoleRefusal = ({ status, body }: TestResponse): boolean =>
  status === 403 && /Your role|for programs/.test(textOf(body['message']))

describe('people', () => {
  let api: TestApi
  const byRole = {} as Record<MemberRole, SignedIn>
  let stranger: SignedIn
  let operator: SignedIn
  before(async () => {
    api = await startApi({ DNS_SERVERS: '127.0.0.1:1', RDAP_URL: 'none', TRUST_PROXY: 'true' })
    for (const role of ROLE_NAMES) byRole[role] = await addSignedIn(api, { role })
    stranger = await addSignedIn(api, {})
    operator = await addSignedIn(api, { isOperator: true })
  })
  after(() => api.stop())

  function send(person: SignedIn, spec: AnyRoute, workspace?: string | null): Promise<TestResponse> {
    // a body that no schema accepts, so that nothing is changed
    const body = spec.method === 'GET' || spec.body === undefined ? {} : { body: 'x' }
    return person.call(spec.method, concrete(spec), { ...body, ...(workspace === undefined ? {} : { workspace }) })
  }

  describe('roles', () => {
    for (const role of ROLE_NAMES)
      it(`${role} gets the endpoints of the role, and no others`, async () => {
        // all requests of a person and of a workspace are limited: each role has a workspace of its own
        const { workspaceId } = await api.addTenant()
        const person = await addSignedIn(api, { role, workspaceId })
        const wrong: string[] = []
        for (const spec of OF_WORKSPACES.filter(({ name }) => !NOT_SENT.has(name))) {
          if (
            ['delete-suppressions', 'delete-captured-emails'].includes(spec.name) &&
            rolesOf(spec.name).includes(role)
          )
            continue
          const answer = await send(person, spec, workspaceId)
          const isOpen = rolesOf(spec.name).includes(role)
          if (isRoleRefusal(answer) === isOpen || [401, 429, 500].includes(answer.status))
            wrong.push(`${spec.name}: ${answer.status} ${JSON.stringify(answer.body)}`)
        }
        assert.deepEqual(wrong, [])
      })

    it('a workspace of others is one that does not exist', async () => {
      const people = [stranger, operator]
      for (let i = 0; i < 3; i++) people.push(await addSignedIn(api, { role: 'owner' }))
      const [other, ofService, first, second, third] = people as [SignedIn, SignedIn, SignedIn, SignedIn, SignedIn]
      for (const spec of OF_WORKSPACES.filter(({ name }) => permissionOf(name) !== null)) {
        const answers = [
          await send(other, spec),
          await send(first, spec, newId()),
          await send(ofService, spec),
          await send(second, spec, 'x'),
        ]
        for (const { status, body } of answers)
          assert.deepEqual([status, body['message']], [404, 'There is no such workspace. Call get-me to see yours.'])
        const unnamed = await send(third, spec, null)
        assert.deepEqual([unnamed.status, unnamed.body['error']], [400, 'VALIDATION_ERROR'], spec.name)
      }
    })

    it('operators get the endpoints of operators, and nobody else', async () => {
      for (const spec of ROUTES.filter(({ access }) => access === 'operator')) {
        assert.equal((await send(byRole.owner, spec)).status, 403, spec.name)
        if (spec.method === 'GET') assert.notInclude([401, 403, 500], (await send(operator, spec)).status, spec.name)
      }
    })
  })

  describe('sessions', () => {
    it('get-me names user, workspaces, roles and permissions', async () => {
      const { status, body } = await byRole.viewer.call('GET', '/auth/me', { workspace: null })
      assert.equal(status, 200)
      const [workspace] = listOf(body['data']?.['workspaces'])
      assert.deepEqual([textOf(workspace?.['id']), textOf(workspace?.['role'])], [api.workspaceId, 'viewer'])
      assert.include(JSON.stringify(workspace?.['permissions']), 'mail:read')
      assert.deepEqual(body['data']?.['may_create_workspaces'] as unknown, false)
    })

    it('have a cookie that scripts and other sites cannot use', async () => {
      const person = await addPerson(api)
      const answer = await api.call('POST', '/auth/login', {
        key: null,
        body: { email: person.email, password: PASSWORD },
      })
      assert.match(
        answer.headers.get('set-cookie') ?? '',
        /^mailstead-session=[\w-]{43}; Path=\/; Max-Age=2592000; HttpOnly; SameSite=Strict$/,
      )
      assert.notInclude(JSON.stringify(answer.body), cookieOf(answer).split('=')[1] ?? '?')
    })

    it('start with a new token, whatever cookie the browser has, and end the one before', async () => {
      const person = await addPerson(api)
      const planted = `mailstead-session=${'A'.repeat(43)}`
      const body = { email: person.email, password: PASSWORD }
      const first = await api.call('POST', '/auth/login', { key: null, body, headers: { cookie: planted } })
      const second = await api.call('POST', '/auth/login', { key: null, body, headers: { cookie: cookieOf(first) } })
      const statuses = await Promise.all(
        [planted, cookieOf(first), cookieOf(second)].map(
          async (cookie) => (await asPerson(api, cookie)('GET', '/auth/me')).status,
        ),
      )
      assert.deepEqual(statuses, [401, 401, 200])
    })

    it('are listed and ended; a logout removes the cookie', async () => {
      const person = await addPerson(api)
      const [one, two] = [await signIn(api, person), await signIn(api, person)].map((cookie) => asPerson(api, cookie))
      assert.ok(one !== undefined && two !== undefined)
      const { body } = await one('GET', '/auth/sessions')
      const sessions = body['data']?.['sessions'] as unknown as { id: string; is_current: boolean }[]
      assert.lengthOf(sessions, 2)
      const other = sessions.find((session) => !session.is_current)?.id ?? ''
      assert.equal((await stranger.call('DELETE', `/auth/sessions/${other}`)).status, 404)
      assert.equal((await one('DELETE', `/auth/sessions/${other}`)).status, 200)
      assert.equal((await two('GET', '/auth/me')).status, 401)
      const out = await one('POST', '/auth/logout')
      assert.equal(cookieOf(out), 'mailstead-session=')
      assert.equal((await one('GET', '/auth/me')).status, 401)
    })

    it('end by time: unused for long, and at the latest', async () => {
      for (const past of ['last_used_at', 'expires_at']) {
        const { userId, call } = await addSignedIn(api, { role: 'viewer' })
        await api.db.query(`UPDATE user_sessions SET ${past} = now() - interval '25 hours' WHERE user_id = $1`, [
          userId,
        ])
        assert.equal((await call('GET', '/auth/me')).status, 401, past)
      }
    })

    it('store no token', async () => {
      const { cookie } = await addSignedIn(api, {})
      const { rows } = await api.db.query<{ text: string }>('SELECT to_jsonb(s)::text AS text FROM user_sessions s')
      assert.notInclude(rows.map(({ text }) => text).join(), cookie.split('=')[1] ?? '?')
    })

    it('another password ends the other sessions, and needs the present one', async () => {
      const person = await addPerson(api)
      const [kept, ended] = [await signIn(api, person), await signIn(api, person)].map((cookie) =>
        asPerson(api, cookie),
      )
      assert.ok(kept !== undefined && ended !== undefined)
      const change = (present: string): Promise<TestResponse> =>
        kept('POST', '/auth/password', { body: { present_password: present, new_password: 'another password' } })
      assert.equal((await change('wrong')).status, 403)
      assert.equal((await change(PASSWORD)).status, 200)
      assert.deepEqual([(await kept('GET', '/auth/me')).status, (await ended('GET', '/auth/me')).status], [200, 401])
      const old = await api.call('POST', '/auth/login', {
        key: null,
        body: { email: person.email, password: PASSWORD },
      })
      assert.equal(old.status, 401)
    })
  })

  describe('requests of other sites', () => {
    const CASES: readonly [what: string, headers: Record<string, string>, isAccepted: boolean][] = [
      ['neither header', {}, false],
      ['the own Origin', { origin: 'OWN' }, true],
      ['same-origin', { 'sec-fetch-site': 'same-origin' }, true],
      ['another Origin', { origin: 'https://evil.example' }, false],
      ['no Origin of a sandboxed frame', { origin: 'null' }, false],
      ['a sibling site', { 'sec-fetch-site': 'same-site', origin: 'OWN' }, false],
      ['another site', { 'sec-fetch-site': 'cross-site' }, false],
      ['same-origin with another Origin', { 'sec-fetch-site': 'same-origin', origin: 'https://evil.example' }, false],
    ]
    for (const [what, given, isAccepted] of CASES)
      it(`${what}: a change is ${isAccepted ? 'accepted' : 'refused'}`, async () => {
        const { cookie } = byRole.owner
        const headers = Object.fromEntries(
          Object.entries(given).map(([name, value]) => [name, value === 'OWN' ? api.config.publicUrl : value]),
        )
        const { status } = await api.call('POST', '/public/audiences/add-audience', {
          key: null,
          body: { name: 'A' },
          headers: { cookie, 'x-workspace': api.workspaceId, ...headers },
        })
        assert.equal(status, isAccepted ? 201 : 403)
      })
    it('reading is refused too, and so is a login', async () => {
      const foreign = { 'sec-fetch-site': 'cross-site' }
      const { cookie, email } = byRole.owner
      const read = await api.call('GET', '/auth/me', { key: null, headers: { cookie, ...foreign } })
      const body = { email, password: PASSWORD }
      const login = await api.call('POST', '/auth/login', { key: null, body, headers: foreign })
      assert.deepEqual([read.status, login.status, cookieOf(login)], [403, 403, ''])
    })
    it('a key needs none of this, also beside a cookie', async () => {
      const { cookie } = byRole.viewer
      const body = { name: 'A' }
      const { status } = await api.call('POST', '/public/audiences/add-audience', {
        key: api.admin,
        body,
        headers: { cookie, 'sec-fetch-site': 'cross-site' },
      })
      assert.equal(status, 201)
    })
  })

  it('every endpoint of people has a permission', () => {
    for (const { name, access } of ROUTES) if (access === 'member') assert.isNotNull(permissionOf(name), name)
  })
})
