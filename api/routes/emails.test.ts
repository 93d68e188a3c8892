import { assert } from 'chai'
import { listOf, startApi, textOf, type Tenant, type TestResponse, type TestApi } from '#test/support/api.ts'

describe('GET /public/emails', () => {
  let api: TestApi
  let other: Tenant
  const ids: string[] = []
  before(async () => {
    api = await startApi()
    other = await api.addTenant()
    for (const message of [
      { to: ['Anna@b.example', 'bob@c.example'], subject: 'Your order', tags: ['order'] },
      { to: 'anna@b.example', subject: 'Reset' },
      { to: 'carl@bücher.example', subject: 'News', tags: ['news', 'order', { name: 'kind', value: 'weekly' }] },
    ]) {
      const { status, body } = await api.call('POST', '/send-email/high', {
        body: { from: `shop@${api.domain}`, text: 't', ...message },
      })
      assert.strictEqual(status, 200)
      ids.unshift(textOf(body['email_id']))
    }
  })
  after(() => api.stop())

  const search = (query: string, key = api.regular): Promise<TestResponse> =>
    api.call('GET', `/public/emails${query}`, { key })
  const found = ({ status, body }: TestResponse): number[] => {
    assert.strictEqual(status, 200, JSON.stringify(body))
    return listOf(body['data']?.['emails']).map((email) => ids.indexOf(textOf(email['email_id'])))
  }
  const at = (ms: number): string => new Date(Date.now() + ms).toISOString()

  const FOUND: readonly (readonly [query: () => string, ids: readonly number[]])[] = [
    [() => '', [0, 1, 2]],
    [() => '?recipient=ANNA@b.example', [1, 2]],
    [() => '?to=anna@b.example', [1, 2]],
    [() => '?recipient=b.example', [1, 2]],
    [() => '?recipient=b%C3%BCcher.example', [0]],
    [() => '?to=carl@b%C3%BCcher.example', [0]],
    [() => `?from=${api.domain}`, [0, 1, 2]],
    [() => `?from=shop@${api.domain}&to=bob@c.example`, [2]],
    [() => '?subject=ORDER', [2]],
    [() => '?tag=order', [0, 2]],
    [() => '?tag=order&subject=news', [0]],
    [() => '?status=queued', [0, 1, 2]],
    [() => '?status=delivered', []],
    [() => '?tier=high', [0, 1, 2]],
    [() => '?priority=async', []],
    [() => `?after=${at(60_000)}`, []],
    [() => `?from=${at(-60_000)}&to=${at(60_000)}`, [0, 1, 2]],
    [() => `?before=${at(-60_000)}`, []],
    [() => '?limit=2', [0, 1]],
    [() => '?limit=2&page=2', [2]],
    [() => `?cursor=${ids[0] ?? ''}`, [1, 2]],
  ]
  for (const [query, wanted] of FOUND)
    it(`${query.toString().slice(6)} finds ${wanted.join(', ') || 'nothing'}`, async () =>
      assert.deepEqual(found(await search(query())), wanted))

  it('an item has the head of the message; the page has the next cursor', async () => {
    const { body } = await search('?limit=1', api.admin)
    const data = body['data']
    const {
      id,
      email_id: emailId,
      created_at: createdAt,
      ...line
    } = listOf(data?.['emails'])[0] as unknown as Record<string, unknown>
    assert.deepEqual(line, {
      object: 'email',
      status: 'queued',
      from: `shop@${api.domain}`,
      to: ['carl@xn--bcher-kva.example'],
      subject: 'News',
      queue: 'high',
      priority: 'high',
      metadata: { priority: 'high', estimated_delivery: '0-30 seconds', recipients_count: 1 },
      from_name: null,
      tags: ['news', 'order', 'kind:weekly'],
      named_tags: [{ name: 'kind', value: 'weekly' }],
      scheduled_at: null,
    })
    assert.match(textOf(id), /^msg_\d+_/)
    assert.ok(Date.parse(textOf(createdAt)) > 0)
    assert.deepEqual(
      [data?.['next'], data?.['total'], data?.['totalPages'], data?.['total_is_exact']],
      [emailId, 3, 3, true],
    )
    assert.deepEqual(data?.['meta'], { total: 3, page: 1, limit: 1, has_more: true })
    assert.strictEqual((await search('?limit=3')).body['data']?.['next'], null)
  })

  const WRONG: readonly (readonly [query: string, field: string])[] = [
    ['status=eaten', 'status'],
    ['tier=express', 'tier'],
    ['recipient=@', 'recipient'],
    ['from=somebody', 'from'],
    ['to=a@b@', 'to'],
    ['after=soon', 'after'],
    ['cursor=7', 'cursor'],
    ['subject=', 'subject'],
    ['limit=1000&page=11', 'page'],
    ['page=0', 'page'],
  ]
  for (const [query, field] of WRONG) {
    it(`refuses ${query}`, async () => {
      const { status, body } = await search(`?${query}`)
      assert.deepEqual([status, body['error'], listOf(body['details'])[0]?.['path']], [400, 'VALIDATION_ERROR', field])
    })
  }

  it('finds no message of another workspace', async () => {
    for (const query of ['', '?recipient=anna@b.example', '?tag=order', '?subject=order', `?cursor=${ids[0] ?? ''}`])
      assert.deepEqual(found(await search(query, other.regular)), [])
  })
})
