/** GET /metrics of an api process: its own metrics, those of others from Redis, and a response without Redis. */
import { assert } from 'chai'
import { startApi, textOf, type TestApi } from '#test/support/api.ts'
import { checkExposition, type MetricSample } from '#test/support/exposition.ts'
import { until } from '#test/support/until.ts'

describe('/metrics', () => {
  let api: TestApi
  before(async () => {
    api = await startApi()
  })
  after(() => api.stop())

  async function scrape(): Promise<Map<string, MetricSample[]>> {
    const { status, headers, body } = await api.call('GET', '//metrics', { key: null })
    assert.deepEqual([status, headers.get('content-type')], [200, 'text/plain; version=0.0.4; charset=utf-8'])
    return checkExposition(textOf(body))
  }

  it('counts requests by route and status, and how long they took', async () => {
    for (const key of [api.admin, 'x']) await api.call('GET', '/integrations/verify', { key })
    const all = await scrape()
    const counted = all
      .get('mailstead_http_requests_total')
      ?.filter(({ labels }) => labels['route'] === 'verify-key')
      .map(({ labels, value }) => [labels['status'], value])
    assert.deepEqual(counted, [
      ['200', 1],
      ['401', 1],
    ])
    const took = all
      .get('mailstead_http_request_duration_seconds')
      ?.find(({ name, labels }) => name.endsWith('_count') && labels['route'] === 'verify-key')
    assert.strictEqual(took?.value, 2)
  })
  it('contains no name of a workspace', async () => {
    await api.call('GET', `/public/emails/get-email/${api.workspaceId}`)
    const text = textOf((await api.call('GET', '//metrics')).body)
    for (const secret of [api.workspaceId, api.domain, api.regular]) assert.ok(!text.includes(secret))
  })
  it('answers without Redis, and reports that Redis is away', async () => {
    await api.redis.crash()
    await until(async () => (await scrape()).get('mailstead_redis_up')?.[0]?.value === 0)
    assert.strictEqual((await scrape()).get('mailstead_database_up')?.[0]?.value, 1)
  })
})
