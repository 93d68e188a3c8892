/** /public/contacts over HTTP: adding, changing and deleting, concurrent requests, and the isolation of workspaces. */
import { assert } from 'chai'
import { createKey } from '#src/auth/keys.ts'
import { newId } from '#src/platform/id.ts'
import { startApi, textOf, type Json, type Tenant, type TestResponse, type TestApi } from '#test/support/api.ts'
import { ACCEPTED, BASE, FULL, REFUSED, contactCalls, pathsOf, refusedWith } from './contacts.test-data.ts'

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

  const { call, newAudience, add, get, list, countOf, unsubscribe } = contactCalls(() => ({ api, tenant, audienceId }))

  for (const [what, body, expected] of ACCEPTED)
    it(`POST /add-contact accepts ${what}`, async () => {
      const contact = await get(`id=${await add({ email: 'a@x.example', ...body })}`)
      assert.deepEqual(Object.fromEntries(Object.keys(expected).map((key) => [key, contact[key]])), expected)
    })

  it('POST /add-contact accepts audienceId as an alias of audience_id', async () => {
    const { status } = await call('POST', '/add-contact', { email: 'a@x.example', audienceId })
    assert.deepEqual([status, await countOf()], [201, 1])
  })

  for (const [body, path] of REFUSED)
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

  it('DELETE /delete-contact: 200 with its id in JSON, removed from all audiences', async () => {
    const id = await add({ email: 'a@x.example' })
    const other = await add({ email: 'b@x.example' })
    const answer = await call('DELETE', `/delete-contact?id=${id}`)
    const body = { success: true, message: 'Contact deleted.', data: { id } }
    assert.deepEqual([answer.status, answer.body, await countOf()], [200, body, 1])
    assert.strictEqual((await call('GET', `/get-contact?id=${id}`)).status, 404)
    const byEmail = await call('DELETE', '/delete-contact?email=b@x.example')
    assert.deepEqual([byEmail.status, byEmail.body], [200, { ...body, data: { id: other } }])
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
