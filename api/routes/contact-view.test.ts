/** /public/contacts over HTTP: one contact, and lists with pages and orders. */
import { assert } from 'chai'
import { newId } from '#src/platform/id.ts'
import { startApi, type Tenant, type TestApi } from '#test/support/api.ts'
import { FULL, contactCalls, refusedWith, type Fields } from './contacts.test-data.ts'

describe('/public/contacts', () => {
  let api: TestApi
  let tenant: Tenant
  let audienceId: string
  before(async () => {
    api = await startApi()
  })
  after(() => api.stop())
  beforeEach(async () => {
    tenant = await api.addTenant()
    audienceId = await newAudience()
  })

  const { call, newAudience, add, get, list, unsubscribe } = contactCalls(() => ({ api, tenant, audienceId }))

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
})
