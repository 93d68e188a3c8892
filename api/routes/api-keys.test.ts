import { assert } from 'chai'
import { createKey, type CreatedKey } from '#src/auth/keys.ts'
import type { KeyScope } from '#src/auth/scopes.ts'
import { countAudited } from '#test/support/audit-count.ts'
import { listOf, startApi, textOf, type Json, type Tenant, type TestApi, type TestResponse } from '#test/support/api.ts'
import { addSignedIn } from '#test/support/people.ts'
import { until } from '#test/support/until.ts'

interface NewKey {
  readonly id: string
  readonly secret: string
}

describe('API keys', () => {
  let api: TestApi
  let tenant: Tenant
  before(async () => {
    api = await startApi()
  })
  after(() => api.stop())
  beforeEach(async () => {
    tenant = await api.addTenant()
  })

  const ask = (method: string, path: string, key = tenant.admin, body?: object): Promise<TestResponse> =>
    api.call(method, `/public/api-keys${path}`, { key, ...(body === undefined ? {} : { body }) })
  const made = (key: CreatedKey): NewKey => {
    assert.ok(key.kind === 'created', key.kind)
    return { id: key.id, secret: key.secretKey }
  }
  const addAdmin = async (scopes: readonly KeyScope[], expiresAt: Date | null = null): Promise<NewKey> =>
    made(
      await createKey(api.db, {
        kind: 'admin',
        prefix: 'ms',
        workspaceId: tenant.workspaceId,
        name: 'some',
        scopes,
        expiresAt,
      }),
    )
  const addRegular = async (): Promise<NewKey> => {
    const { workspaceId, domainId } = tenant
    return made(await createKey(api.db, { kind: 'regular', prefix: 'ms', workspaceId, name: 'shop', domainId }))
  }
  const works = async (secret: string): Promise<boolean> =>
    (await api.call('GET', '/integrations/verify', { key: secret })).status === 200
  async function rotated(id: string, overlap: number, key = tenant.admin): Promise<string> {
    const { status, body } = await ask('POST', `/${id}/rotate`, key, { overlap_seconds: overlap })
    assert.strictEqual(status, 200, JSON.stringify(body))
    return textOf(body['data']?.['secret_key'])
  }

  it('are listed without their secrets, by type, and found by both forms of the id', async () => {
    const { id, secret } = await addRegular()
    const { status, body } = await ask('GET', '')
    assert.strictEqual(status, 200)
    const keys = listOf(body['data']?.['keys'])
    assert.deepEqual(
      keys.map((key) => [key['type'], key['name'], key['status'], key['is_current']]),
      [
        ['regular', 'shop', 'active', false],
        ['admin', 'admin', 'active', true],
        ['regular', 'regular', 'active', false],
      ],
    )
    assert.ok(!JSON.stringify(body).includes(secret.slice(-64)))
    const admins = listOf((await ask('GET', '?type=admin')).body['data']?.['keys'])
    assert.deepEqual(
      admins.map((key) => key['type']),
      ['admin'],
    )
    for (const name of [id, `key_${id.replaceAll('-', '')}`]) {
      const found = (await ask('GET', `/${name}`)).body['data']
      assert.deepEqual([found?.['id'], found?.['domain'], found?.['scopes']], [
        id,
        tenant.domain,
        [],
      ] as unknown as Json[])
    }
  })

  it('a rotated key works with the new and the earlier secret, with the same rights', async () => {
    const { id, secret } = await addRegular()
    const next = await rotated(id, 3600)
    assert.deepEqual([await works(secret), await works(next)], [true, true])
    const verified = await api.call('GET', '/integrations/verify', { key: next })
    assert.deepEqual([verified.body['data']?.['type'], verified.body['data']?.['domain']], [
      'regular',
      tenant.domain,
    ] as unknown as Json[])
    assert.strictEqual(listOf((await ask('GET', `/${id}`)).body['data']?.['earlier_secrets_until']).length, 1)
    assert.isAbove(await countAudited(api.db, 'rotate-api-key', [tenant.workspaceId]), 0)
  })
  it('earlier secrets end at their time, or at once with an overlap of 0', async () => {
    const { id, secret } = await addRegular()
    const second = await rotated(id, 1)
    await until(async () => !(await works(secret)))
    assert.ok(await works(second))
    const third = await rotated(id, 3600)
    const fourth = await rotated(id, 0)
    await until(async () => !(await works(third)))
    assert.deepEqual([await works(second), await works(fourth)], [false, true])
  })
  it('a rotation whose response was lost is repeated: the secret in use goes on working', async () => {
    const { id, secret } = await addRegular()
    await rotated(id, 3600) // nobody got it
    const next = await rotated(id, 3600)
    assert.deepEqual([await works(secret), await works(next)], [true, true])
  })
  it('has at most five valid secrets', async () => {
    const { id } = await addRegular()
    for (let i = 0; i < 4; i++) await rotated(id, 3600)
    const answer = await ask('POST', `/${id}/rotate`, tenant.admin, {})
    assert.deepEqual([answer.status, answer.body['error']], [409, 'CONFLICT'])
    await rotated(id, 0)
    assert.strictEqual((await ask('POST', `/${id}/rotate`, tenant.admin, {})).status, 200)
  })
  it('rotations at the same time lose no secret', async () => {
    const { id, secret } = await addRegular()
    const secrets = await Promise.all([1, 2, 3].map(() => rotated(id, 3600)))
    for (const one of [secret, ...secrets]) assert.ok(await works(one))
  })

  it('a key rotates itself, and only keys whose rights it has', async () => {
    const manager = await addAdmin(['api-keys:manage'])
    const next = await rotated(manager.id, 3600, manager.secret)
    const own = (await ask('GET', `/${manager.id}`, next)).body['data']
    assert.deepEqual([own?.['is_current'], own?.['scopes']], [true, ['api-keys:manage']] as unknown as Json[])
    const stronger = await addAdmin(['api-keys:manage', 'contacts:read'])
    const sending = await addRegular()
    for (const [id, missing] of [
      [stronger.id, 'contacts:read'],
      [sending.id, 'api-keys:create'],
    ] as const) {
      const answer = await ask('POST', `/${id}/rotate`, next, {})
      assert.deepEqual([answer.status, answer.body['error']], [403, 'INSUFFICIENT_SCOPE'])
      assert.include(textOf(answer.body['message']), missing)
    }
    assert.deepEqual([await works(stronger.secret), await works(sending.secret)], [true, true])
  })
  it('a rotation does not extend the life of a key', async () => {
    const end = new Date(Date.now() + 3_600_000)
    const { id, secret } = await addAdmin(['contacts:read'], end)
    await rotated(id, 86_400)
    assert.strictEqual((await ask('GET', `/${id}`)).body['data']?.['expires_at'] as unknown, end.toISOString())
    await api.db.query(`UPDATE api_keys SET expires_at = now() - interval '1 second' WHERE id = $1`, [id])
    await until(async () => !(await works(secret)))
    const answer = await ask('POST', `/${id}/rotate`, tenant.admin, {})
    assert.deepEqual([answer.status, answer.body['error']], [409, 'CONFLICT'])
  })

  it('a revoked key and its earlier secrets are refused; repeating it returns 200', async () => {
    const { id, secret } = await addRegular()
    const next = await rotated(id, 3600)
    for (const answer of [await ask('DELETE', `/${id}`), await ask('DELETE', `/${id}`)])
      assert.deepEqual([answer.status, answer.body['data']?.['status']], [200, 'revoked'] as unknown as Json[])
    await until(async () => !(await works(secret)) && !(await works(next)))
    assert.strictEqual((await ask('POST', `/${id}/rotate`, tenant.admin, {})).status, 409)
    assert.isAbove(await countAudited(api.db, 'revoke-api-key', [tenant.workspaceId]), 0)
  })
  it('need the scope api-keys:manage', async () => {
    const { secret } = await addAdmin(['api-keys:create'])
    const answers = [await ask('GET', '', secret), await ask('GET', '', tenant.regular)]
    assert.deepEqual(
      answers.map(({ body }) => body['error'] as unknown),
      ['INSUFFICIENT_SCOPE', 'FORBIDDEN'],
    )
  })

  const LOCAL = ['127.0.0.0/8', '::1/128']
  const ELSEWHERE = ['192.0.2.0/24']

  it('may be bound to networks, also IPv6, in canonical form, with an entry in the audit log', async () => {
    const { id, secret } = await addRegular()
    const { status, body } = await ask('PATCH', `/${id}`, tenant.admin, {
      allowed_networks: ['192.0.2.77/24', '192.0.2.1/24', '2001:DB8::1/32'],
    })
    assert.strictEqual(status, 200, JSON.stringify(body))
    assert.deepEqual(body['data']?.['allowed_networks'], ['192.0.2.0/24', '2001:db8::/32'] as unknown)
    assert.strictEqual(await countAudited(api.db, 'change-api-key', [tenant.workspaceId]), 1)
    await until(async () => !(await works(secret)))
    const refused = await api.call('GET', '/integrations/verify', { key: secret })
    assert.deepEqual([refused.status, refused.body['error']] as unknown[], [403, 'FORBIDDEN'])
    await ask('PATCH', `/${id}`, tenant.admin, { allowed_networks: LOCAL })
    await until(() => works(secret))
    await ask('PATCH', `/${id}`, tenant.admin, { allowed_networks: [] })
    assert.ok(await works(secret))
  })
  it('cannot be opened to invalid networks', async () => {
    const { id } = await addRegular()
    for (const network of ['0.0.0.0/0', '::/0', 'localhost', '010.0.0.1', '::ffff:1.2.3.4/120', 'x'.repeat(100), ''])
      assert.strictEqual((await ask('PATCH', `/${id}`, tenant.admin, { allowed_networks: [network] })).status, 400)
    const many = Array.from({ length: 51 }, (_, i) => `192.0.2.${i}`)
    assert.strictEqual((await ask('PATCH', `/${id}`, tenant.admin, { allowed_networks: many })).status, 400)
    assert.strictEqual((await ask('PATCH', `/${id}`, tenant.admin, {})).status, 400)
  })
  it('do not lock themselves out, unless forced', async () => {
    const own = await addAdmin(['api-keys:manage'])
    const change = (body: object): Promise<TestResponse> => ask('PATCH', `/${own.id}`, own.secret, body)
    assert.strictEqual((await change({ allowed_networks: ELSEWHERE })).status, 409)
    assert.ok(await works(own.secret))
    assert.strictEqual((await change({ allowed_networks: LOCAL, name: 'here' })).status, 200)
    assert.strictEqual((await change({ allowed_networks: ELSEWHERE, force: true })).status, 200)
    await until(async () => !(await works(own.secret)))
  })
  it('with more rights cannot be opened by those with less', async () => {
    const weak = await addAdmin(['api-keys:manage'])
    const strong = await addAdmin(['api-keys:manage', 'contacts:read'])
    const refused = await ask('PATCH', `/${strong.id}`, weak.secret, { allowed_networks: [] })
    assert.deepEqual([refused.status, refused.body['error']] as unknown[], [403, 'INSUFFICIENT_SCOPE'])
    assert.strictEqual((await ask('PATCH', `/${strong.id}`, strong.secret, { name: 'mine' })).status, 200)
  })
  it('of people get other scopes and another end, with an entry in the audit log; the secret stays', async () => {
    const { id, secret } = await addAdmin(['contacts:read'])
    const owner = await addSignedIn(api, { role: 'owner', workspaceId: tenant.workspaceId })
    const change = (body: object): Promise<TestResponse> =>
      owner.call('PATCH', `/public/api-keys/${id}`, { body, workspace: tenant.workspaceId })
    const end = new Date(Date.now() + 3_600_000).toISOString()
    const { status, body } = await change({ scopes: ['statistics:read', 'audiences:manage'], expires_at: end })
    assert.strictEqual(status, 200, JSON.stringify(body))
    assert.deepEqual([body['data']?.['scopes'], body['data']?.['expires_at']] as unknown[], [
      ['statistics:read', 'audiences:manage'],
      end,
    ])
    assert.strictEqual(await countAudited(api.db, 'change-api-key', [tenant.workspaceId]), 1)
    const statusOf = async (path: string): Promise<number> => (await api.call('GET', path, { key: secret })).status
    await until(async () => (await statusOf('/public/audiences/get-audiences')) === 200)
    await until(async () => (await statusOf('/public/contacts/get-contacts')) === 403)
    assert.strictEqual((await change({ expires_at: null })).body['data']?.['expires_at'], null)
    for (const wrong of [{ scopes: [] }, { scopes: ['all'] }, { expires_at: '2001-01-01T00:00:00Z' }, { force: true }])
      assert.strictEqual((await change(wrong)).status, 400, JSON.stringify(wrong))
  })
  it('that send have no scopes to change, but an end', async () => {
    const { id, secret } = await addRegular()
    const refused = await ask('PATCH', `/${id}`, tenant.admin, { scopes: ['contacts:read'] })
    assert.deepEqual([refused.status, refused.body['error']] as unknown[], [400, 'VALIDATION_ERROR'])
    const soon = new Date(Date.now() + 500).toISOString()
    assert.strictEqual((await ask('PATCH', `/${id}`, tenant.admin, { expires_at: soon })).status, 200)
    await until(async () => !(await works(secret)))
    const ended = await ask('PATCH', `/${id}`, tenant.admin, { expires_at: null })
    assert.deepEqual([ended.status, ended.body['error']] as unknown[], [409, 'CONFLICT'])
  })
  it('only restrict Admin keys, also themselves', async () => {
    const end = Date.now() + 3_600_000
    const at = (ms: number): string => new Date(ms).toISOString()
    const own = await addAdmin(['api-keys:manage', 'contacts:read', 'contacts:write'], new Date(end))
    const change = (body: object): Promise<TestResponse> => ask('PATCH', `/${own.id}`, own.secret, body)
    for (const [more, error] of [
      [{ scopes: ['api-keys:manage', 'contacts:read', 'audit:read'] }, 'INSUFFICIENT_SCOPE'],
      [{ expires_at: at(end + 1000) }, 'FORBIDDEN'],
      [{ expires_at: null }, 'FORBIDDEN'],
      [{ scopes: ['contacts:read'] }, 'CONFLICT'],
    ] as const)
      assert.strictEqual((await change(more)).body['error'] as unknown, error, JSON.stringify(more))
    const less = { scopes: ['api-keys:manage', 'contacts:read'], expires_at: at(end - 1000) }
    assert.strictEqual((await change(less)).status, 200)
    const strong = { scopes: [...less.scopes, 'contacts:write'] }
    // it has the scope that is added, but is no person
    assert.strictEqual((await ask('PATCH', `/${own.id}`, tenant.admin, strong)).body['error'] as unknown, 'FORBIDDEN')
  })
  it('are extended by people who may create them, and by no others', async () => {
    const { id } = await addAdmin(['statistics:read'])
    const body = { scopes: ['statistics:read', 'emails:manage'] }
    const developer = await addSignedIn(api, { role: 'developer', workspaceId: tenant.workspaceId })
    const refused = await developer.call('PATCH', `/public/api-keys/${id}`, { body, workspace: tenant.workspaceId })
    assert.deepEqual([refused.status, refused.body['error']] as unknown[], [403, 'FORBIDDEN'])
    const admin = await addSignedIn(api, { role: 'admin', workspaceId: tenant.workspaceId })
    const changed = await admin.call('PATCH', `/public/api-keys/${id}`, { body, workspace: tenant.workspaceId })
    assert.strictEqual(changed.status, 200)
  })
  it('are bound from the start when they are created with networks', async () => {
    const created = await api.call('POST', '/public/domains/api-keys/create', {
      key: tenant.admin,
      body: { name: 'shop', custom_domain_id: tenant.domainId, allowed_networks: ELSEWHERE },
    })
    assert.strictEqual(created.status, 201, JSON.stringify(created.body))
    assert.isFalse(await works(textOf(created.body['data']?.['secret_key'])))
  })
})
