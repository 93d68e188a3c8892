/** "Authentication": the formats of keys, the scopes, and rules 1 to 5, each at an endpoint of every section. */
import { assert } from 'chai'
import { createKey, MAX_ADMIN_KEYS } from '#src/auth/keys.ts'
import { deactivateKey } from '#src/auth/key-list.ts'
import { ALL_SCOPES, type KeyScope } from '#src/auth/scopes.ts'
import { startApi, type TestResponse, type TestApi } from '#test/support/api.ts'
import { until } from '#test/support/until.ts'

const ID = '00000000-0000-7000-8000-000000000000'

/** The table of scopes, and the one that the contract adds: what each opens. */
const SCOPES: readonly (readonly [scope: KeyScope, method: string, path: string])[] = [
  ['contacts:read', 'GET', '/public/contacts/get-contacts'],
  ['contacts:read', 'GET', '/public/contacts/get-contact'],
  ['contacts:write', 'POST', '/public/contacts/add-contact'],
  ['contacts:write', 'PATCH', '/public/contacts/update-contact'],
  ['contacts:write', 'DELETE', '/public/contacts/delete-contact'],
  ['audiences:manage', 'POST', '/public/audiences/add-audience'],
  ['audiences:manage', 'GET', '/public/audiences/get-audiences'],
  ['audiences:manage', 'GET', '/public/audiences/get-audience'],
  ['audiences:manage', 'DELETE', '/public/audiences/delete-audience'],
  ['automations:read', 'GET', '/public/automations/get-all'],
  ['automations:read', 'GET', `/public/automations/get-automation/${ID}`],
  ['automations:write', 'POST', '/public/automations/create'],
  ['automations:write', 'PATCH', `/public/automations/update-automation/${ID}`],
  ['automations:write', 'DELETE', `/public/automations/delete-automation/${ID}/subscribers`],
  ['automations:trigger', 'POST', '/public/automations/events/track'],
  ['domains:manage', 'POST', '/public/domains/add-domain'],
  ['domains:manage', 'GET', '/public/domains/get-domains'],
  ['domains:manage', 'GET', `/public/domains/domain-status/${ID}`],
  ['domains:manage', 'POST', `/public/domains/verify-domain/${ID}`],
  ['domains:manage', 'DELETE', `/public/domains/delete-domain/${ID}`],
  ['api-keys:create', 'POST', '/public/domains/api-keys/create'],
  ['webhooks:manage', 'GET', '/public/webhooks'],
  ['webhooks:manage', 'POST', '/public/webhooks'],
]
const SENDING = ['instant', 'high', 'async', 'bulk', 'schedule', 'batch'].map((name) => `/send-email/${name}`)

describe('specification: authentication', () => {
  let api: TestApi
  const keys = new Map<KeyScope, string>()
  before(async () => {
    api = await startApi()
    for (const scope of new Set(SCOPES.map(([one]) => one))) {
      // a workspace has room for five, so each has one of its own
      const { workspaceId } = await api.addTenant()
      const made = await createKey(api.db, { kind: 'admin', prefix: 'ms', workspaceId, name: scope, scopes: [scope] })
      keys.set(scope, made.kind === 'created' ? made.secretKey : assert.fail(made.kind))
    }
  })
  after(() => api.stop())

  const call = (method: string, path: string, key: string | null): Promise<TestResponse> =>
    api.call(method, path, { key, ...(method === 'GET' ? {} : { body: {} }) })
  const errorOf = ({ status, body }: TestResponse): readonly unknown[] => [status, body?.['error']]

  it('the form of a Regular key', () => assert.match(api.regular, /^[a-z]+_[a-f0-9]+\.live_[a-f0-9]{64}$/))
  it('the form of an Admin key', () => assert.match(api.admin, /^[a-z]+_[a-f0-9]+\.adm_[a-f0-9]{64}$/))
  it('all scopes of the specification are there', () => {
    for (const [scope] of SCOPES) assert.ok(ALL_SCOPES.includes(scope), scope)
  })

  for (const [scope, method, path] of SCOPES) {
    it(`rule 1: ${method} ${path} with a Regular key is 403 FORBIDDEN`, async () =>
      assert.deepEqual(errorOf(await call(method, path, api.regular)), [403, 'FORBIDDEN']))
    it(`rule 2: ${method} ${path} without ${scope} is 403 INSUFFICIENT_SCOPE`, async () => {
      const other = [...keys].find(([one]) => one !== scope)?.[1] ?? ''
      assert.deepEqual(errorOf(await call(method, path, other)), [403, 'INSUFFICIENT_SCOPE'])
    })
    it(`${scope} opens ${method} ${path}`, async () => {
      const { status } = await call(method, path, keys.get(scope) ?? '')
      assert.ok(![401, 403].includes(status), String(status))
    })
    it(`rule 3: ${method} ${path} without a key is 401 UNAUTHORIZED`, async () =>
      assert.deepEqual(errorOf(await call(method, path, null)), [401, 'UNAUTHORIZED']))
  }
  for (const path of SENDING) {
    it(`POST ${path} with an Admin key is 403 FORBIDDEN`, async () =>
      assert.deepEqual(errorOf(await call('POST', path, api.admin)), [403, 'FORBIDDEN']))
    it(`rule 3: POST ${path} without a key is 401 UNAUTHORIZED`, async () =>
      assert.deepEqual(errorOf(await call('POST', path, null)), [401, 'UNAUTHORIZED']))
  }

  it('rule 3: expired, switched off and unknown keys get the same 401', async () => {
    const messages = new Set<unknown>()
    const order = {
      kind: 'regular',
      prefix: 'ms',
      workspaceId: api.workspaceId,
      name: 'k',
      domainId: api.domainId,
    } as const
    const [expired, off] = [
      await createKey(api.db, { ...order, expiresAt: new Date(Date.now() - 1000) }),
      await createKey(api.db, order),
    ]
    if (expired.kind !== 'created' || off.kind !== 'created') assert.fail()
    await deactivateKey(api.db, off.id)
    for (const key of [expired.secretKey, off.secretKey, api.regular.replace(/....$/, '0000'), 'nonsense']) {
      const answer = await call('GET', '/integrations/verify', key)
      assert.deepEqual(errorOf(answer), [401, 'UNAUTHORIZED'])
      messages.add(answer.body['message'])
    }
    assert.strictEqual(messages.size, 1)
  })
  it('a key that is switched off stops working soon', async () => {
    const order = {
      kind: 'regular',
      prefix: 'ms',
      workspaceId: api.workspaceId,
      name: 'k',
      domainId: api.domainId,
    } as const
    const made = await createKey(api.db, order)
    if (made.kind !== 'created') assert.fail()
    assert.strictEqual((await call('GET', '/integrations/verify', made.secretKey)).status, 200)
    await deactivateKey(api.db, made.id)
    await until(async () => (await call('GET', '/integrations/verify', made.secretKey)).status === 401)
  })
  it(`rule 4: at most ${MAX_ADMIN_KEYS} Admin keys`, async () => {
    const { workspaceId } = await api.addTenant() // has one
    const kinds: string[] = []
    for (let i = 0; i < 5; i++)
      kinds.push(
        (await createKey(api.db, { kind: 'admin', prefix: 'ms', workspaceId, name: 'k', scopes: ALL_SCOPES })).kind,
      )
    assert.deepEqual([MAX_ADMIN_KEYS, kinds], [5, [...Array<string>(4).fill('created'), 'too-many-admin-keys']])
  })
  it('a `from` outside the domain of the key is 403 FORBIDDEN', async () => {
    const body = { from: 'me@other.example', to: ['a@b.example'], subject: 's', body: 'x' }
    assert.deepEqual(errorOf(await api.call('POST', '/send-email/instant', { body })), [403, 'FORBIDDEN'])
  })
  it('GET /integrations/verify tells type, workspace and scopes', async () => {
    const { body } = await call('GET', '/integrations/verify', api.admin)
    assert.deepEqual(
      ['type', 'workspace_id', 'scopes'].map((field) => body['data']?.[field]),
      ['admin', api.workspaceId, ALL_SCOPES],
    )
  })
})
