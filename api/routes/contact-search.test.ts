import { assert } from 'chai'
import { newId } from '#src/platform/id.ts'
import { listOf, startApi, textOf, type Json, type TestApi } from '#test/support/api.ts'

describe('searching and changing contacts', () => {
  let api: TestApi
  let news: string
  let shop: string
  const ids: Record<string, string> = {}
  before(async () => {
    api = await startApi({ DNS_SERVERS: '127.0.0.1:1' })
    news = await added('audiences/add-audience', { name: 'News' })
    shop = await added('audiences/add-audience', { name: 'Shop' })
    for (const [name, audience, plan] of [
      ['anna', news, 'pro'],
      ['anton', shop, 'basic'],
      ['bert', news, 'basic'],
    ] as const)
      ids[name] = await added('contacts/add-contact', {
        email: `${name}@example.org`,
        audience_id: audience,
        tags: [name],
        custom_attributes: { plan },
      })
  })
  after(() => api.stop())

  async function call(method: string, path: string, body?: object): Promise<Json> {
    const answer = await api.call(method, `/public/${path}`, {
      key: api.admin,
      ...(body === undefined ? {} : { body }),
    })
    assert.isBelow(answer.status, 300, JSON.stringify(answer.body))
    return answer.body['data'] as Json
  }
  const added = async (path: string, body: object): Promise<string> => textOf((await call('POST', path, body))['id'])
  const search = async (query: string): Promise<unknown[]> =>
    listOf((await call('GET', `contacts/search?${query}`))['contacts']).map((one) => one['email'])
  const addresses = (...names: string[]): string[] => names.map((name) => `${name}@example.org`)

  it('finds contacts by each condition, and by several', async () => {
    const segment = await added('segments', { name: 'Pro', filter: { attribute: 'plan', value: 'pro' } })
    const cases: readonly [string, readonly string[]][] = [
      ['', ['anna', 'anton', 'bert']],
      ['search=AN', ['anna', 'anton']],
      [`search=an&audienceId=${news}`, ['anna']],
      [`audienceId=${news}`, ['anna', 'bert']],
      [`segmentId=${segment}`, ['anna']],
      ['tag=bert', ['bert']],
      ['attribute=plan&value=basic', ['anton', 'bert']],
      ['attribute=plan', ['anna', 'anton', 'bert']],
      [`status=subscribed&audienceId=${shop}`, ['anton']],
      ['status=blocked', []],
      ['search=%25', []],
    ]
    for (const [query, expected] of cases) assert.deepEqual(await search(query), addresses(...expected), query)
  })

  it('has each contact on one page', async () => {
    const found: unknown[] = []
    for (let cursor: string | null = ''; cursor !== null;) {
      const page: Json = await call('GET', `contacts/search?limit=1&cursor=${cursor}`)
      found.push(...listOf(page['contacts']).map((one) => one['email']))
      const next: unknown = page['next_cursor']
      cursor = typeof next === 'string' ? next : null
    }
    assert.deepEqual(found, addresses('anna', 'anton', 'bert'))
  })

  it('lists attributes and memberships', async () => {
    assert.deepEqual((await call('GET', 'contacts/attributes'))['attributes'], ['plan'])
    const [first] = listOf((await call('GET', `contacts/memberships?id=${ids['anna']}`))['memberships'])
    assert.deepInclude(first, { audience_id: news, audience_name: 'News', status: 'subscribed' })
  })

  it('changes several, counts those that are missing, and never subscribes again', async () => {
    const chosen = [ids['anna'], ids['bert']]
    const tagged = await call('POST', 'contacts/change-contacts', {
      ids: [...chosen, newId()],
      add_tags: ['vip'],
      remove_tags: ['bert'],
      audience_id: shop,
    })
    assert.deepInclude(tagged, { changed: 2, missing: 1 })
    assert.deepEqual(await search('tag=vip'), addresses('anna', 'bert'))
    assert.deepEqual(await search('tag=bert'), [])
    assert.lengthOf(await search(`audienceId=${shop}`), 3)
    await call('POST', 'contacts/change-contacts', { ids: chosen, unsubscribe: true })
    await call('POST', 'contacts/change-contacts', { ids: chosen, audience_id: shop })
    assert.deepEqual(await search('status=subscribed'), addresses('anton'))
  })

  it('refuses a request without a change, and an audience of another workspace', async () => {
    const refused = async (body: object): Promise<number> =>
      (await api.call('POST', '/public/contacts/change-contacts', { key: api.admin, body })).status
    assert.strictEqual(await refused({ ids: [ids['anna']] }), 400)
    assert.strictEqual(await refused({ ids: [ids['anna']], audience_id: newId() }), 404)
  })

  it('reads and changes no contact of another workspace', async () => {
    const other = await api.addTenant()
    const body = { ids: [ids['anna']], delete: true }
    const { status } = await api.call('POST', '/public/contacts/change-contacts', { key: other.admin, body })
    assert.strictEqual(status, 404)
    const path = `/public/contacts/search?audienceId=${news}`
    assert.strictEqual((await api.call('GET', path, { key: other.admin })).status, 404)
    assert.include(await search(''), 'anna@example.org')
  })

  it('deletes', async () => {
    await call('POST', 'contacts/change-contacts', { ids: [ids['anna']], delete: true })
    assert.deepEqual(await search('search=anna'), [])
  })
})
