/**
 * Lists and naming variants: every query parameter with its default and its limits, both shapes of a page, both
 * spellings.
 */
import { assert } from 'chai'
import { listOf, startApi, textOf, type Json, type TestResponse, type TestApi } from '#test/support/api.ts'

interface ListRow {
  readonly list: string
  /** The field with the items. */
  readonly items: string
  /** The query it cannot do without; `#` is the id of the audience. */
  readonly needs: string
  readonly sortBy: readonly string[]
}

const LISTS: readonly ListRow[] = [
  {
    list: '/public/audiences/get-audiences',
    items: 'audiences',
    needs: '',
    sortBy: ['name', 'contactCount', 'contact_count', 'createdAt', 'created_at'],
  },
  {
    list: '/public/contacts/get-contacts',
    items: 'contacts',
    needs: 'audienceId=#',
    sortBy: [
      'firstName',
      'first_name',
      'lastName',
      'last_name',
      'email',
      'createdAt',
      'created_at',
      'deliverabilityScore',
      'deliverability_score',
    ],
  },
  { list: '/send-email/scheduled', items: 'emails', needs: '', sortBy: [] },
  { list: '/templates', items: 'templates', needs: '', sortBy: [] },
  { list: '/public/automations/get-all', items: 'automations', needs: '', sortBy: [] },
  { list: '/public/webhooks', items: 'webhooks', needs: '', sortBy: [] },
]

const REFUSED = ['limit=1001', 'limit=0', 'limit=-1', 'limit=ten', 'page=0', 'page=x']

describe('specification: lists and naming variants', () => {
  let api: TestApi
  let audience: string
  before(async () => {
    api = await startApi()
    for (const name of ['B', 'A', 'C'])
      audience = textOf((await post('/public/audiences/add-audience', { name }))['data']?.['id'])
    for (const [email, first] of [
      ['b@x.example', 'Bob'],
      ['a@x.example', 'Cecil'],
      ['c@x.example', 'Anna'],
    ] as const)
      await post('/public/contacts/add-contact', { email, audience_id: audience, first_name: first })
  })
  after(() => api.stop())

  const post = async (path: string, body: object): Promise<Json> =>
    (await api.call('POST', path, { key: api.admin, body })).body
  const get = (list: string, ...query: readonly string[]): Promise<TestResponse> =>
    api.call(
      'GET',
      `${list}?${query
        .filter((part) => part !== '')
        .join('&')
        .replace('#', audience)}`,
      { key: list.startsWith('/send-email') ? api.regular : api.admin },
    )

  for (const { list, items, needs, sortBy } of LISTS) {
    describe(`GET ${list}`, () => {
      it('page is 1 and limit is 50 by default; both shapes of a page are there', async () => {
        const { status, body } = await get(list, needs)
        const { [items]: found, ...page } = body['data'] ?? assert.fail()
        const { total } = page
        assert.deepEqual(
          [status, page],
          [
            200,
            {
              page: 1,
              limit: 50,
              total,
              totalPages: Math.ceil(Number(total) / 50),
              meta: { total, page: 1, limit: 50, has_more: false },
            },
          ],
        )
        assert.strictEqual(listOf(found).length, Number(total))
      })
      it('limit goes up to 1000', async () =>
        assert.strictEqual((await get(list, needs, 'limit=1000')).body['data']?.['limit'], 1000))
      for (const query of REFUSED)
        it(`400 VALIDATION_ERROR: ${query}`, async () => {
          const { status, body } = await get(list, needs, query)
          assert.deepEqual(
            [status, body['error'], listOf(body['details'])[0]?.['path']],
            [400, 'VALIDATION_ERROR', query.split('=')[0]],
          )
        })
      for (const name of sortBy)
        it(`sortBy ${name}, both directions`, async () => {
          for (const way of ['asc', 'desc'])
            assert.strictEqual((await get(list, needs, `sortBy=${name}`, `sortDir=${way}`)).status, 200)
        })
      if (sortBy.length > 0)
        for (const query of ['sortBy=colour', 'sortDir=sideways'])
          it(`400 VALIDATION_ERROR: ${query}`, async () =>
            assert.strictEqual((await get(list, needs, query)).status, 400))
    })
  }

  const namesOf = async (...query: string[]): Promise<unknown[]> => {
    const { body } = await get('/public/audiences/get-audiences', ...query)
    return listOf(body['data']?.['audiences']).map((one) => one['name'])
  }
  const emailsOf = async (...query: string[]): Promise<string> => {
    const { body } = await get('/public/contacts/get-contacts', ...query)
    return listOf(body['data']?.['contacts'])
      .map((one) => textOf(one['email'])[0])
      .join('')
  }

  it('audiences: createdAt, desc by default', async () => assert.deepEqual(await namesOf(), ['C', 'A', 'B']))
  it('audiences: name', async () => assert.deepEqual(await namesOf('sortBy=name', 'sortDir=asc'), ['A', 'B', 'C']))
  it('audiences: contact_count, the most first', async () =>
    assert.strictEqual((await namesOf('sortBy=contact_count'))[0], 'C'))
  it('contacts: createdAt, asc by default', async () => assert.strictEqual(await emailsOf('audienceId=#'), 'bac'))
  it('contacts: audience_id is an alias', async () => assert.strictEqual(await emailsOf('audience_id=#'), 'bac'))
  it('contacts: email', async () => assert.strictEqual(await emailsOf('audienceId=#', 'sortBy=email'), 'abc'))
  it('contacts: firstName, desc', async () =>
    assert.strictEqual(await emailsOf('audienceId=#', 'sortBy=firstName', 'sortDir=desc'), 'abc'))
  it('contacts: audienceId is required', async () => {
    const { status, body } = await get('/public/contacts/get-contacts')
    assert.deepEqual(
      [status, body['error'], listOf(body['details'])[0]?.['path']],
      [400, 'VALIDATION_ERROR', 'audienceId'],
    )
  })
  it('the last page knows that it is, a page behind it is empty', async () => {
    const last = await get('/public/audiences/get-audiences', 'page=2', 'limit=2')
    assert.deepEqual(
      [listOf(last.body['data']?.['audiences']).length, last.body['data']?.['meta']?.['has_more']],
      [1, false],
    )
    assert.strictEqual(
      (await get('/public/audiences/get-audiences', 'page=1', 'limit=2')).body['data']?.['meta']?.['has_more'],
      true,
    )
    assert.deepEqual(
      (await get('/public/audiences/get-audiences', 'page=9', 'limit=2')).body['data']?.['audiences'],
      [],
    )
  })
})
