/**
 * /public/audiences over HTTP: the tables of the specification, both variants of names and responses, and the
 * isolation of workspaces.
 */
import { assert } from 'chai'
import { purgeDeletedAudiences } from '#src/contacts/purge-contacts.ts'
import { newId } from '#src/platform/id.ts'
import { listOf, startApi, textOf, type Json, type Tenant, type TestResponse, type TestApi } from '#test/support/api.ts'

const BASE = '/public/audiences'

describe('/public/audiences', () => {
  let api: TestApi
  let tenant: Tenant
  before(async () => {
    api = await startApi({ SUBSCRIBE_BASE_URL: 'https://join.example' })
  })
  after(() => api.stop())
  beforeEach(async () => {
    tenant = await api.addTenant()
  })

  const call = (method: string, path: string, body?: unknown, key = tenant.admin): Promise<TestResponse> =>
    api.call(method, `${BASE}${path}`, { key, ...(body === undefined ? {} : { body }) })
  const create = async (body: object): Promise<Json> => {
    const answer = await call('POST', '/add-audience', body)
    assert.strictEqual(answer.status, 201, JSON.stringify(answer.body))
    return answer.body['data'] as Json
  }
  const addContact = async (audience: Json, email: string): Promise<string> => {
    const { status, body } = await api.call('POST', '/public/contacts/add-contact', {
      key: tenant.admin,
      body: { email, audience_id: audience['id'] },
    })
    assert.strictEqual(status, 201, JSON.stringify(body))
    return textOf((body['data'] as Json)['id'])
  }
  const names = (answer: TestResponse): unknown[] =>
    listOf((answer.body['data'] as Json)['audiences']).map((one) => one['name'])

  it('POST /add-audience: 201 with the fields of both variants', async () => {
    const made = (await create({ name: ' News ', description: 'weekly' })) as unknown as Record<string, string>
    const { id, createdAt, updatedAt, subscribeUrl, ...rest } = made
    assert.match(subscribeUrl ?? '', /^https:\/\/join\.example\/s\/[0-9a-f]{32}$/)
    assert.ok(id !== undefined && !Number.isNaN(Date.parse(createdAt ?? '')) && createdAt === updatedAt)
    assert.deepEqual(rest, {
      name: 'News',
      description: 'weekly',
      contactCount: 0,
      contact_count: 0,
      double_opt_in: false,
      created_at: createdAt,
      updated_at: updatedAt,
    })
  })

  const refused: readonly (readonly [unknown, string])[] = [
    [{}, 'name'],
    [{ name: '' }, 'name'],
    [{ name: '  ' }, 'name'],
    [{ name: null }, 'name'],
    [{ name: 5 }, 'name'],
    [{ name: ['a'] }, 'name'],
    [{ name: 'x'.repeat(256) }, 'name'],
    [{ name: 'a\nb' }, 'name'],
    [{ name: 'a', description: 'x'.repeat(2001) }, 'description'],
    [{ name: 'a', description: 5 }, 'description'],
    [{ name: 'a', double_opt_in: 'yes' }, 'double_opt_in'],
    ['[]', ''],
    ['{', ''],
  ]
  for (const [body, path] of refused)
    it(`POST /add-audience refuses ${JSON.stringify(body).slice(0, 60)}`, async () => {
      const { status, body: told } = await call('POST', '/add-audience', body)
      assert.deepEqual([status, told['error']], [400, 'VALIDATION_ERROR'])
      assert.ok(
        listOf(told['details']).some((detail) => (detail['path'] as unknown) === path),
        JSON.stringify(told),
      )
      assert.deepEqual(names(await call('GET', '/get-audiences')), [])
    })

  it('a name has at most 255 characters; unknown fields are ignored', async () => {
    const made = await create({ name: 'x'.repeat(255), colour: 'red', double_opt_in: true })
    assert.strictEqual(JSON.stringify(made['double_opt_in']), 'true')
  })

  it('GET /get-audience: 200 by id', async () => {
    const made = await create({ name: 'a' })
    await addContact(made, 'a@x.example')
    const { status, body } = await call('GET', `/get-audience?id=${textOf(made['id']).toUpperCase()}`)
    const { contactCount, contact_count: twin, ...rest } = body['data'] as unknown as Record<string, unknown>
    const { contactCount: _, contact_count: __, ...before } = made as unknown as Record<string, unknown>
    assert.deepEqual([status, contactCount, twin, rest], [200, 1, 1, before])
  })

  for (const [query, status, error] of [
    ['', 400, 'VALIDATION_ERROR'],
    ['?id=', 400, 'VALIDATION_ERROR'],
    ['?id=a&id=b', 400, 'VALIDATION_ERROR'],
    ['?id=%00', 400, 'VALIDATION_ERROR'],
    ['?id=nonsense', 404, 'NOT_FOUND'],
    [`?id=${newId()}`, 404, 'NOT_FOUND'],
    [`?id=' OR true --`, 404, 'NOT_FOUND'],
  ] as const)
    for (const [method, path] of [
      ['GET', '/get-audience'],
      ['DELETE', '/delete-audience'],
      ['PATCH', '/update-audience'],
    ] as const)
      it(`${method} ${path}${query}: ${status}`, async () => {
        const answer = await call(method, `${path}${query}`, method === 'PATCH' ? {} : undefined)
        assert.deepEqual([answer.status, answer.body['error']], [status, error])
      })

  it('GET /get-audiences: both variants of a list, newest first', async () => {
    for (const name of ['b', 'C', 'a']) await create({ name })
    const { status, body } = await call('GET', '/get-audiences?page=1&limit=2')
    const { audiences: _, ...rest } = body['data'] as unknown as Record<string, unknown>
    assert.deepEqual(
      [status, rest],
      [
        200,
        {
          page: 1,
          limit: 2,
          total: 3,
          totalPages: 2,
          meta: { total: 3, page: 1, limit: 2, has_more: true },
        },
      ],
    )
    assert.deepEqual(names(await call('GET', '/get-audiences')), ['a', 'C', 'b'])
    const { page, limit } = (await call('GET', '/get-audiences')).body['data'] as unknown as Record<string, number>
    assert.deepEqual([page, limit], [1, 50], 'the defaults')
  })

  it('GET /get-audiences: sortBy and sortDir in every spelling', async () => {
    const [one, two, three] = [await create({ name: 'b' }), await create({ name: 'C' }), await create({ name: 'a' })]
    await addContact(three, '1@x.example')
    for (const email of ['1@x.example', '2@x.example']) await addContact(one, email)
    assert.ok(two)
    for (const [query, expected] of [
      ['sortBy=name&sortDir=asc', ['a', 'b', 'C']],
      ['sortBy=name', ['C', 'b', 'a']],
      ['sortBy=createdAt&sortDir=ASC', ['b', 'C', 'a']],
      ['sortBy=created_at', ['a', 'C', 'b']],
      ['sortBy=contactCount', ['b', 'a', 'C']],
      ['sortBy=contact_count&sortDir=asc', ['C', 'a', 'b']],
      ['sortBy=name&sortDir=asc&limit=1&page=2', ['b']],
      ['page=9', []],
    ] as const)
      assert.deepEqual(names(await call('GET', `/get-audiences?${query}`)), expected, query)
  })

  for (const query of [
    'limit=1001',
    'limit=0',
    'limit=x',
    'page=0',
    'page=-1',
    'sortBy=colour',
    'sortDir=up',
    'sortBy=toString',
    'page=1&page=2',
  ])
    it(`GET /get-audiences?${query}: 400`, async () => {
      const answer = await call('GET', `/get-audiences?${query}`)
      assert.deepEqual([answer.status, answer.body['error']], [400, 'VALIDATION_ERROR'])
    })

  it('a list contains every audience created before the request, also with concurrent requests', async () => {
    for (let i = 0; i < 5; i++) {
      const asking = Array.from({ length: 10 }, () => call('GET', '/get-audiences'))
      await create({ name: `n${i}` })
      const [answer] = await Promise.all([call('GET', '/get-audiences'), ...asking])
      assert.strictEqual(names(answer).length, i + 1)
    }
  })

  it('PATCH /update-audience: changes only the given fields', async () => {
    const made = await create({ name: 'a', description: 'd' })
    const at = `/update-audience?id=${textOf(made['id'])}`
    const first = (await call('PATCH', at, { name: 'b', doubleOptIn: true })).body['data'] as unknown as Record<
      string,
      unknown
    >
    assert.deepEqual(
      [first['name'], first['description'], first['double_opt_in'], first['subscribeUrl']],
      ['b', 'd', true, made['subscribeUrl']],
    )
    const second = (await call('PATCH', at, { description: null })).body['data'] as unknown as Record<string, unknown>
    assert.deepEqual([second['name'], second['description'], second['double_opt_in']], ['b', null, true])
    assert.strictEqual((await call('PATCH', at, { name: '' })).status, 400)
  })

  it('DELETE /delete-audience: 204; removes its memberships, and contacts in no other audience', async () => {
    const [gone, stays] = [await create({ name: 'gone' }), await create({ name: 'stays' })]
    const only = await addContact(gone, 'only@x.example')
    const both = await addContact(gone, 'both@x.example')
    await addContact(stays, 'both@x.example')
    const answer = await call('DELETE', `/delete-audience?id=${textOf(gone['id'])}`)
    assert.deepEqual([answer.status, answer.body], [204, null])
    const statuses = async (): Promise<number[]> => {
      const contacts = '/public/contacts'
      const paths = [
        `${BASE}/get-audience?id=${textOf(gone['id'])}`,
        `${contacts}/get-contacts?audienceId=${textOf(gone['id'])}`,
        `${contacts}/get-contact?id=${only}`,
        `${contacts}/get-contact?email=only@x.example`,
        `${contacts}/get-contact?id=${both}`,
      ]
      return Promise.all(paths.map(async (path) => (await api.call('GET', path, { key: tenant.admin })).status))
    }
    assert.deepEqual(await statuses(), [404, 404, 404, 404, 200])
    assert.strictEqual((await call('DELETE', `/delete-audience?id=${textOf(gone['id'])}`)).status, 404)
    assert.deepEqual(names(await call('GET', '/get-audiences')), ['stays'])
    assert.notStrictEqual(await addContact(stays, 'only@x.example'), only, 'the address begins anew')
    while (await purgeDeletedAudiences(api.db)) continue
    assert.deepEqual(await statuses(), [404, 404, 404, 200, 200])
    const { rows } = await api.db.query('SELECT email FROM contacts WHERE workspace_id = $1 ORDER BY 1', [
      tenant.workspaceId,
    ])
    assert.deepEqual(rows, [{ email: 'both@x.example' }, { email: 'only@x.example' }])
  })

  it('a Regular key gets 403 FORBIDDEN, no key 401 UNAUTHORIZED', async () => {
    for (const [method, path] of [
      ['GET', '/get-audiences'],
      ['GET', `/get-audience?id=${newId()}`],
      ['POST', '/add-audience'],
      ['DELETE', `/delete-audience?id=${newId()}`],
      ['PATCH', `/update-audience?id=${newId()}`],
    ] as const) {
      const regular = await call(method, path, undefined, tenant.regular)
      assert.deepEqual([regular.status, regular.body['error']], [403, 'FORBIDDEN'], path)
      assert.strictEqual((await api.call(method, `${BASE}${path}`, { key: null })).status, 401, path)
    }
  })

  it('another workspace can neither read nor change it', async () => {
    const other = await api.addTenant()
    const made = await create({ name: 'mine' })
    const id = textOf(made['id'])
    for (const [method, path] of [
      ['GET', 'get'],
      ['DELETE', 'delete'],
      ['PATCH', 'update'],
    ] as const) {
      const answer = await call(
        method,
        `/${path}-audience?id=${id}`,
        method === 'PATCH' ? { name: 'theirs' } : undefined,
        other.admin,
      )
      assert.deepEqual([answer.status, answer.body['error']], [404, 'NOT_FOUND'], path)
    }
    assert.deepEqual(names(await call('GET', '/get-audiences', undefined, other.admin)), [])
    assert.deepEqual((await call('GET', `/get-audience?id=${id}`)).body['data'], made)
  })
})
