/**
 * /public/contacts over HTTP: the tables of the specification, both styles of names, hostile values, concurrent
 * requests, and the isolation of workspaces.
 */
import { assert } from 'chai'
import { createKey } from '#src/auth/keys.ts'
import { newId } from '#src/platform/id.ts'
import { listOf, startApi, textOf, type Json, type Tenant, type TestResponse, type TestApi } from '#test/support/api.ts'

type Fields = Readonly<Record<string, unknown>>

const BASE = '/public/contacts'
const byText = (a: string, b: string): number => (a < b ? -1 : 1)
const FULL = {
  first_name: 'Ann',
  last_name: 'Lee',
  company_name: 'Acme',
  job_title: 'CTO',
  phone_number: '+1 555',
  linkedin: 'https://linkedin.example/in/ann',
  timezone: 'Europe/Berlin',
  tags: 'a|b',
  custom_attributes: { plan: 'pro', seats: 5, nested: { deep: [1] } },
}

describe('/public/contacts', () => {
  let api: TestApi
  let tenant: Tenant
  let audienceId: string
  before(async function () {
    this.timeout(120_000)
    api = await startApi()
  })
  after(() => api.stop())
  beforeEach(async () => {
    tenant = await api.addTenant()
    audienceId = await newAudience()
  })

  const call = (method: string, path: string, body?: unknown, key = tenant.admin): Promise<TestResponse> =>
    api.call(method, `${BASE}${path}`, { key, ...(body === undefined ? {} : { body }) })
  const newAudience = async (of = tenant): Promise<string> => {
    const { body } = await api.call('POST', '/public/audiences/add-audience', { key: of.admin, body: { name: 'a' } })
    return textOf((body['data'] as Json)['id'])
  }
  const add = async (body: object): Promise<string> => {
    const answer = await call('POST', '/add-contact', { audience_id: audienceId, ...body })
    assert.strictEqual(answer.status, 201, JSON.stringify(answer.body))
    return textOf((answer.body['data'] as Json)['id'])
  }
  const get = async (query: string): Promise<Fields> => {
    const answer = await call('GET', `/get-contact?${query}`)
    assert.strictEqual(answer.status, 200, JSON.stringify(answer.body))
    return answer.body['data'] as unknown as Fields
  }
  const list = async (query = ''): Promise<Fields[]> => {
    const answer = await call('GET', `/get-contacts?audienceId=${audienceId}&${query}`)
    assert.strictEqual(answer.status, 200, JSON.stringify(answer.body))
    return listOf((answer.body['data'] as Json)['contacts'])
  }
  const countOf = async (): Promise<unknown> =>
    (await api.call('GET', `/public/audiences/get-audience?id=${audienceId}`, { key: tenant.admin })).body['data']?.[
      'contact_count'
    ]
  const pathsOf = (answer: TestResponse): string[] =>
    listOf(answer.body['details'])
      .map(({ path }) => textOf(path))
      .toSorted(byText)
  const refusedWith = (answer: TestResponse, path: string, what: string): void => {
    assert.deepEqual([answer.status, answer.body['error']], [400, 'VALIDATION_ERROR'], what)
    assert.ok(pathsOf(answer).includes(path), `${what}: ${JSON.stringify(answer.body)}`)
  }
  const unsubscribe = (id: string): Promise<TestResponse> =>
    call('PATCH', `/update-contact?id=${id}`, { status: 'unsubscribed', audience_id: audienceId })

  it('GET /get-contact: the full contact, in camelCase and with the snake_case fields of add-contact', async () => {
    const id = await add({ email: 'Ann@X.example', ...FULL })
    const { createdAt, updatedAt, ...rest } = await get(`id=${id}`)
    assert.ok(
      typeof createdAt === 'string' && new Date(createdAt).toISOString() === createdAt && updatedAt === createdAt,
    )
    const names = { firstName: 'Ann', lastName: 'Lee', companyName: 'Acme', jobTitle: 'CTO', phoneNumber: '+1 555' }
    const { tags: _, custom_attributes: attributes, ...twins } = FULL
    assert.deepEqual(rest, {
      id,
      email: 'ann@x.example',
      ...names,
      ...twins,
      tags: ['a', 'b'],
      customAttributes: attributes,
      custom_attributes: attributes,
      deliverabilityScore: null,
      emailVerificationDate: null,
      customHeaders: null,
      status: 'subscribed',
      globalStatus: 'subscribed',
      optedOut: false,
      opted_out: false,
    })
    assert.deepEqual(await get('email=ANN%40x.example'), await get(`id=${id.toUpperCase()}`))
  })

  it('GET /get-contacts: slim contacts', async () => {
    const id = await add({ email: 'ann@x.example', ...FULL })
    const [slim = {}] = await list()
    const { createdAt: _, ...rest } = slim
    assert.deepEqual(rest, {
      id,
      email: 'ann@x.example',
      firstName: 'Ann',
      first_name: 'Ann',
      lastName: 'Lee',
      last_name: 'Lee',
      companyName: 'Acme',
      company_name: 'Acme',
      jobTitle: 'CTO',
      job_title: 'CTO',
      phoneNumber: '+1 555',
      phone_number: '+1 555',
      status: 'subscribed',
      tags: ['a', 'b'],
      deliverabilityScore: null,
    })
  })

  const accepted: readonly (readonly [string, Fields, Fields])[] = [
    [
      'both styles of names',
      {
        firstName: 'Ann',
        lastName: 'Lee',
        companyName: 'C',
        jobTitle: 'J',
        phoneNumber: '1',
        customAttributes: { a: 1 },
      },
      {
        firstName: 'Ann',
        lastName: 'Lee',
        companyName: 'C',
        jobTitle: 'J',
        phoneNumber: '1',
        customAttributes: { a: 1 },
      },
    ],
    ['name, split', { name: ' Ann  van der Lee ' }, { firstName: 'Ann', lastName: 'van der Lee' }],
    ['name of one word', { name: 'Ann' }, { firstName: 'Ann', lastName: null }],
    ['name next to first_name', { name: 'Ann Lee', first_name: 'Bea' }, { firstName: 'Bea', lastName: 'Lee' }],
    ['tags with |', { tags: ' a | b||a ' }, { tags: ['a', 'b'] }],
    ['tags as a list', { tags: ['a', 'b,c', '{"}'] }, { tags: ['a', 'b,c', '{"}'] }],
    ['empty texts', { first_name: '', tags: '', linkedin: ' ' }, { firstName: null, tags: [], linkedin: null }],
    [
      'null',
      { first_name: null, tags: null, custom_attributes: null },
      { firstName: null, tags: [], customAttributes: {} },
    ],
    ['a phone number of digits', { phone_number: 15551234567 }, { phoneNumber: '15551234567' }],
    [
      'unknown fields',
      { colour: 'red', score: 1, id: newId(), workspace_id: newId() },
      { firstName: null, deliverabilityScore: null },
    ],
    [
      'any script',
      { first_name: 'Ζωή 🦉', company_name: `O'Brien "&" <b>` },
      { firstName: 'Ζωή 🦉', companyName: `O'Brien "&" <b>` },
    ],
    ["a prototype's name", { custom_attributes: { constructor: 'x' } }, { customAttributes: { constructor: 'x' } }],
  ]
  for (const [what, body, expected] of accepted)
    it(`POST /add-contact accepts ${what}`, async () => {
      const contact = await get(`id=${await add({ email: 'a@x.example', ...body })}`)
      assert.deepEqual(Object.fromEntries(Object.keys(expected).map((key) => [key, contact[key]])), expected)
    })

  it('POST /add-contact accepts audienceId as an alias of audience_id', async () => {
    const { status } = await call('POST', '/add-contact', { email: 'a@x.example', audienceId })
    assert.deepEqual([status, await countOf()], [201, 1])
  })

  const refused: readonly (readonly [unknown, string])[] = [
    [{ email: undefined }, 'email'],
    [{ email: '' }, 'email'],
    [{ email: null }, 'email'],
    [{ email: 5 }, 'email'],
    [{ email: ['a@x.example'] }, 'email'],
    [{ email: 'nobody' }, 'email'],
    [{ email: 'a@x.example\r\nBcc: b@x.example' }, 'email'],
    [{ email: `${'x'.repeat(300)}@x.example` }, 'email'],
    [{ email: 'a@b@' }, 'email'],
    [{ audience_id: undefined }, 'audience_id'],
    [{ audience_id: null }, 'audience_id'],
    [{ audience_id: 'x' }, 'audience_id'],
    [{ audience_id: 5 }, 'audience_id'],
    [{ first_name: 'x'.repeat(256) }, 'first_name'],
    [{ firstName: 5 }, 'firstName'],
    [{ last_name: ['a'] }, 'last_name'],
    [{ company_name: { a: 1 } }, 'company_name'],
    [{ job_title: 'a\u0007b' }, 'job_title'],
    [{ linkedin: 'javascript:alert(1)' }, 'linkedin'],
    [{ linkedin: 'linkedin.com/in/a' }, 'linkedin'],
    [{ linkedin: `https://x.example/${'x'.repeat(2000)}` }, 'linkedin'],
    [{ timezone: 'Mars/Base' }, 'timezone'],
    [{ timezone: 5 }, 'timezone'],
    [{ tags: 5 }, 'tags'],
    [{ tags: ['a', 5] }, 'tags'],
    [{ tags: Array.from({ length: 101 }, (_, i) => `t${i}`) }, 'tags'],
    [{ tags: 'x'.repeat(101) }, 'tags'],
    [{ custom_attributes: [] }, 'custom_attributes'],
    [{ custom_attributes: 'a' }, 'custom_attributes'],
    [{ customAttributes: { a: { b: { c: { d: { e: { f: 1 } } } } } } }, 'customAttributes'],
    [{ custom_attributes: { a: 'x'.repeat(33_000) } }, 'custom_attributes'],
  ]
  for (const [body, path] of refused)
    it(`POST /add-contact refuses ${JSON.stringify(body).slice(0, 70)} at ${path} and stores nothing`, async () => {
      refusedWith(
        await call('POST', '/add-contact', { email: 'a@x.example', audience_id: audienceId, ...(body as object) }),
        path,
        'add',
      )
      assert.strictEqual(await countOf(), 0)
    })

  it('POST /add-contact reports all errors in one response', async () => {
    const answer = await call('POST', '/add-contact', { email: 'x', tags: 5, timezone: 'x', linkedin: 'x' })
    assert.deepEqual(pathsOf(answer), ['email', 'linkedin', 'tags', 'timezone'])
  })

  it('POST /add-contact with a known address: 201, updates the profile and joins the audience', async () => {
    const id = await add({ email: 'a@x.example', first_name: 'Ann', last_name: 'Lee' })
    const first = audienceId
    audienceId = await newAudience()
    assert.strictEqual(await add({ email: 'A@x.example', first_name: 'Bea' }), id)
    const contact = await get(`id=${id}`)
    assert.deepEqual([contact['firstName'], contact['lastName'], await countOf()], ['Bea', 'Lee', 1])
    audienceId = first
    assert.strictEqual(await countOf(), 1)
  })

  it('an unsubscribed membership stays unsubscribed', async () => {
    const id = await add({ email: 'a@x.example' })
    assert.strictEqual((await unsubscribe(id)).status, 200)
    await add({ email: 'a@x.example' })
    await call('PATCH', `/update-contact?id=${id}`, { audience_id: audienceId, status: 'subscribed' })
    assert.strictEqual((await get(`id=${id}`))['status'], 'unsubscribed')
    assert.deepEqual(await list('subscribedOnly=true'), [])
    const { rows } = await api.db.query('SELECT type FROM events WHERE workspace_id = $1 ORDER BY id', [
      tenant.workspaceId,
    ])
    assert.deepEqual(rows, [{ type: 'contact.subscribed' }, { type: 'contact.unsubscribed' }])
  })

  it('GET /get-contact: status in the requested audience, or the latest one; null in none', async () => {
    const id = await add({ email: 'a@x.example' })
    await unsubscribe(id)
    const first = audienceId
    audienceId = await newAudience()
    await add({ email: 'a@x.example' })
    const elsewhere = await newAudience()
    const queries = [`audienceId=${first}`, `audience_id=${audienceId}`, '', `audienceId=${elsewhere}`]
    const statuses = await Promise.all(queries.map((query) => get(`id=${id}&${query}`)))
    assert.deepEqual(
      statuses.map(({ status }) => status),
      ['unsubscribed', 'subscribed', 'subscribed', null],
    )
    for (const unknown of [newId(), 'nonsense'])
      assert.strictEqual((await call('GET', `/get-contact?id=${id}&audienceId=${unknown}`)).status, 404)
  })

  it('GET /get-contact: shows that a contact opted out of all mail', async () => {
    const id = await add({ email: 'none@x.example' })
    const optOutFields = async (): Promise<unknown[]> => {
      const contact = await get(`id=${id}`)
      return [contact['optedOut'], contact['opted_out'], contact['globalStatus'], contact['status']]
    }
    assert.deepEqual(await optOutFields(), [false, false, 'subscribed', 'subscribed'])
    await api.db.query('UPDATE contacts SET opted_out_at = now() WHERE id = $1', [id])
    assert.deepEqual(await optOutFields(), [true, true, 'subscribed', 'subscribed'])
  })
  it('GET /get-contact: globalStatus blocked while the address is suppressed', async () => {
    const id = await add({ email: 'a@x.example' })
    await api.db.query(`INSERT INTO suppressions (workspace_id, address, cause) VALUES ($1, 'a@x.example', 'bounce')`, [
      tenant.workspaceId,
    ])
    const contact = await get(`id=${id}`)
    assert.deepEqual([contact['globalStatus'], contact['status']], ['blocked', 'subscribed'])
  })

  it('deliverabilityScore and emailVerificationDate are returned, and lists can be sorted by them', async () => {
    for (const [email, score] of [
      ['low@x.example', 0.25],
      ['high@x.example', 0.75],
    ] as const) {
      const id = await add({ email })
      await api.db.query(`UPDATE contacts SET score = $2, verified_at = '2026-01-02T03:04:05.678Z' WHERE id = $1`, [
        id,
        score,
      ])
      const contact = await get(`id=${id}`)
      assert.deepEqual(
        [contact['deliverabilityScore'], contact['emailVerificationDate']],
        [score, '2026-01-02T03:04:05.678Z'],
      )
    }
    await add({ email: 'new@x.example' })
    const emails = (await list('sortBy=deliverabilityScore&sortDir=desc')).map(({ email }) => email)
    assert.deepEqual(emails, ['high@x.example', 'low@x.example', 'new@x.example'])
  })

  for (const [query, path] of [
    ['', 'id'],
    ['id=', 'id'],
    ['email=', 'id'],
    [`id=${newId()}&email=a@x.example`, 'id'],
    ['email=nobody', 'email'],
    ['id=a&id=b', 'id'],
  ] as const)
    it(`one contact by ?${query.slice(0, 30)}: 400`, async () => {
      for (const [method, name] of [
        ['GET', 'get'],
        ['PATCH', 'update'],
        ['DELETE', 'delete'],
      ] as const)
        refusedWith(await call(method, `/${name}-contact?${query}`, method === 'PATCH' ? {} : undefined), path, name)
    })

  for (const query of [
    `id=${newId()}`,
    'id=nonsense',
    'email=unknown@x.example',
    `id=${encodeURIComponent(`' OR true --`)}`,
  ])
    it(`one contact by ?${query.slice(0, 30)}: 404`, async () => {
      for (const [method, name] of [
        ['GET', 'get'],
        ['PATCH', 'update'],
        ['DELETE', 'delete'],
      ] as const) {
        const answer = await call(method, `/${name}-contact?${query}`, method === 'PATCH' ? {} : undefined)
        assert.deepEqual([answer.status, answer.body['error']], [404, 'NOT_FOUND'], name)
      }
    })

  it('an address with a plus is found, URL-encoded or not', async () => {
    const id = await add({ email: 'a+tag@x.example' })
    for (const query of ['email=a%2Btag%40x.example', 'email=a+tag@x.example'])
      assert.strictEqual((await get(query))['id'], id, query)
  })

  it('GET /get-contacts: pages, totals, and every alias of the sort parameters', async () => {
    for (const [email, firstName, lastName] of [
      ['c', 'bob', 'Z'],
      ['a', 'Ann', ''],
      ['b', '', 'y'],
    ] as const)
      await add({ email: `${email}@x.example`, firstName, lastName })
    const firstLetters = async (query: string): Promise<string> =>
      (await list(query)).map(({ email }) => String(email)[0]).join('')
    for (const [query, expected] of [
      ['', 'cab'],
      ['sortBy=createdAt&sortDir=desc', 'bac'],
      ['sortBy=created_at', 'cab'],
      ['sortBy=email', 'abc'],
      ['sortBy=email&sortDir=DESC', 'cba'],
      ['sortBy=firstName', 'bac'],
      ['sortBy=first_name&sortDir=desc', 'cab'],
      ['sortBy=lastName', 'abc'],
      ['sortBy=last_name', 'abc'],
      ['sortBy=deliverability_score', 'cab'],
      ['limit=1&page=2', 'a'],
      ['limit=2&page=2', 'b'],
      ['page=3', ''],
      ['limit=2&page=1&sortDir=desc', 'ba'],
      ['limit=2&page=2&sortDir=desc', 'c'],
      ['subscribedOnly=false', 'cab'],
    ] as const)
      assert.strictEqual(await firstLetters(query), expected, query)
    const [second] = await list('limit=1&page=2')
    await unsubscribe(String(second?.['id']))
    for (const [query, expected] of [
      ['subscribedOnly=true', 'cb'],
      ['subscribed_only=1&sortBy=email', 'bc'],
      ['subscribedOnly=false', 'cab'],
    ] as const)
      assert.strictEqual(await firstLetters(query), expected, query)
    const { body } = await call('GET', `/get-contacts?audience_id=${audienceId}&limit=2`)
    const { contacts: _, ...rest } = body['data'] as unknown as Fields
    assert.deepEqual(rest, {
      page: 1,
      limit: 2,
      total: 3,
      totalPages: 2,
      meta: { total: 3, page: 1, limit: 2, has_more: true },
    })
  })

  for (const query of [
    'limit=1001',
    'limit=0',
    'page=0',
    'page=1.5',
    'sortBy=colour',
    'sortDir=up',
    'subscribedOnly=maybe',
    'sortBy=__proto__',
  ])
    it(`GET /get-contacts?${query}: 400`, async () =>
      refusedWith(
        await call('GET', `/get-contacts?audienceId=${audienceId}&${query}`),
        query.split('=')[0] ?? '',
        query,
      ))

  it('GET /get-contacts: audienceId is required and must belong to the workspace', async () => {
    refusedWith(await call('GET', '/get-contacts'), 'audienceId', 'none')
    for (const id of [newId(), 'nonsense'])
      assert.strictEqual((await call('GET', `/get-contacts?audienceId=${id}`)).status, 404)
  })

  it('PATCH /update-contact: null clears, omitted fields stay, tags are replaced, attributes merged', async () => {
    const id = await add({ email: 'a@x.example', ...FULL })
    const answer = await call('PATCH', '/update-contact?email=A@x.example', {
      first_name: null,
      jobTitle: 'CEO',
      tags: ['c'],
      custom_attributes: { plan: 'free', x: 1 },
    })
    assert.deepEqual([answer.status, answer.body['data']], [200, { id }])
    const contact = await get(`id=${id}`)
    assert.deepEqual(
      [contact['firstName'], contact['lastName'], contact['jobTitle'], contact['tags'], contact['customAttributes']],
      [null, 'Lee', 'CEO', ['c'], { plan: 'free', seats: 5, nested: { deep: [1] }, x: 1 }],
    )
    await call('PATCH', `/update-contact?id=${id}`, { custom_attributes: null })
    assert.deepEqual((await get(`id=${id}`))['customAttributes'], {})
    assert.strictEqual((await call('PATCH', `/update-contact?id=${id}`, {})).status, 200)
  })

  it('PATCH /update-contact: audience_id joins the audience; an unknown one changes nothing', async () => {
    const id = await add({ email: 'a@x.example' })
    audienceId = await newAudience()
    assert.strictEqual((await call('PATCH', `/update-contact?id=${id}`, { audienceId })).status, 200)
    assert.strictEqual(await countOf(), 1)
    const answer = await call('PATCH', `/update-contact?id=${id}`, { first_name: 'x', audience_id: newId() })
    assert.deepEqual([answer.status, (await get(`id=${id}`))['firstName']], [404, null])
  })

  it('PATCH /update-contact: a new address, unless another contact has it', async () => {
    const id = await add({ email: 'a@x.example' })
    await add({ email: 'b@x.example' })
    assert.strictEqual((await call('PATCH', `/update-contact?id=${id}`, { email: 'C@x.example' })).status, 200)
    assert.strictEqual((await get('email=c@x.example'))['id'], id)
    const conflict = await call('PATCH', `/update-contact?id=${id}`, { email: 'b@x.example', first_name: 'x' })
    assert.deepEqual(
      [conflict.status, conflict.body['error'], (await get(`id=${id}`))['firstName']],
      [409, 'CONFLICT', null],
    )
    refusedWith(await call('PATCH', `/update-contact?id=${id}`, { email: 'nobody' }), 'email', 'update')
  })

  it('PATCH /update-contact: refuses attributes that grow beyond the limit', async () => {
    const id = await add({ email: 'a@x.example' })
    const grow = (key: string): Promise<TestResponse> =>
      call('PATCH', `/update-contact?id=${id}`, { custom_attributes: { [key]: 'x'.repeat(30_000) } })
    assert.deepEqual([(await grow('a')).status, (await grow('b')).status], [200, 200])
    refusedWith(await grow('c'), 'custom_attributes', 'grown')
  })

  it('PATCH /update-contact: status unsubscribed without an audience ends all subscriptions', async () => {
    const id = await add({ email: 'a@x.example' })
    audienceId = await newAudience()
    await add({ email: 'a@x.example' })
    await call('PATCH', `/update-contact?id=${id}`, { status: 'unsubscribed' })
    const { rows } = await api.db.query('SELECT 1 FROM memberships WHERE contact_id = $1 AND is_subscribed', [id])
    assert.strictEqual(rows.length, 0)
  })

  it('DELETE /delete-contact: 204, removed from all audiences', async () => {
    const id = await add({ email: 'a@x.example' })
    const other = await add({ email: 'b@x.example' })
    const answer = await call('DELETE', `/delete-contact?id=${id}`)
    assert.deepEqual([answer.status, answer.body, await countOf()], [204, null, 1])
    assert.strictEqual((await call('GET', `/get-contact?id=${id}`)).status, 404)
    assert.strictEqual((await call('DELETE', '/delete-contact?email=b@x.example')).status, 204)
    assert.deepEqual([await list(), (await call('DELETE', `/delete-contact?id=${other}`)).status], [[], 404])
  })

  it('fifty concurrent requests with one address create one contact', async () => {
    const ids = await Promise.all(
      Array.from({ length: 50 }, (_, i) => add({ email: 'same@x.example', first_name: `n${i}` })),
    )
    assert.deepEqual([new Set(ids).size, await countOf(), (await list()).length], [1, 1, 1])
  })

  it('a write is visible to the next read, also with concurrent requests', async () => {
    const id = await add({ email: 'a@x.example', first_name: '0' })
    for (let i = 1; i <= 5; i++) {
      const asking = Array.from({ length: 10 }, () => get(`id=${id}`))
      await call('PATCH', `/update-contact?id=${id}`, { first_name: String(i) })
      const [contact] = await Promise.all([get('email=a@x.example'), ...asking])
      assert.strictEqual(contact?.['firstName'], String(i))
    }
  })

  it('keys: 401 without, 403 FORBIDDEN for a Regular one, 403 INSUFFICIENT_SCOPE without the scope', async () => {
    const make = async (scope: 'contacts:read' | 'contacts:write'): Promise<string> => {
      const keyFields = {
        kind: 'admin',
        prefix: api.config.keyPrefix,
        workspaceId: tenant.workspaceId,
        name: 'k',
        scopes: [scope],
      } as const
      const made = await createKey(api.db, keyFields)
      assert.ok(made.kind === 'created')
      return made.secretKey
    }
    const [reader, writer] = [await make('contacts:read'), await make('contacts:write')]
    const id = newId()
    for (const [method, path, withoutScope] of [
      ['GET', `/get-contacts?audienceId=${audienceId}`, writer],
      ['GET', `/get-contact?id=${id}`, writer],
      ['POST', '/add-contact', reader],
      ['PATCH', `/update-contact?id=${id}`, reader],
      ['DELETE', `/delete-contact?id=${id}`, reader],
    ] as const) {
      const body = method === 'GET' || method === 'DELETE' ? undefined : {}
      assert.strictEqual((await api.call(method, `${BASE}${path}`, { key: null, body })).status, 401, path)
      const answers = [await call(method, path, body, tenant.regular), await call(method, path, body, withoutScope)]
      const results = answers.map((answer) => [answer.status, answer.body['error']])
      assert.deepEqual(
        results,
        [
          [403, 'FORBIDDEN'],
          [403, 'INSUFFICIENT_SCOPE'],
        ],
        path,
      )
    }
  })

  it('another workspace can neither read nor change it', async () => {
    const id = await add({ email: 'a@x.example', first_name: 'Ann' })
    const other = await api.addTenant()
    const theirs = await newAudience(other)
    const before = await get(`id=${id}`)
    for (const [method, path, body] of [
      ['GET', `/get-contact?id=${id}`, undefined],
      ['GET', '/get-contact?email=a@x.example', undefined],
      ['GET', `/get-contacts?audienceId=${audienceId}`, undefined],
      ['PATCH', `/update-contact?id=${id}`, { first_name: 'x' }],
      ['PATCH', `/update-contact?id=${id}`, { audience_id: theirs }],
      ['DELETE', `/delete-contact?id=${id}`, undefined],
      ['POST', '/add-contact', { email: 'b@x.example', audience_id: audienceId }],
    ] as const) {
      const answer = await call(method, path, body, other.admin)
      assert.deepEqual([answer.status, answer.body['error']], [404, 'NOT_FOUND'], path)
    }
    const twin = await call(
      'POST',
      '/add-contact',
      { email: 'a@x.example', audience_id: theirs, first_name: 'Eve' },
      other.admin,
    )
    assert.notStrictEqual(textOf((twin.body['data'] as Json)['id']), id, 'an address is one contact in each workspace')
    assert.deepEqual([await get(`id=${id}`), await countOf()], [before, 1])
  })
})
