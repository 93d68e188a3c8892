import { assert } from 'chai'
import { startApi, type TestApi } from '#test/support/api.ts'
import { findGuide } from './guides.ts'

describe('the guides', () => {
  let api: TestApi
  before(async () => {
    api = await startApi()
  })
  after(() => api.stop())

  for (const page of ['going-live', 'going-live.md']) {
    it(page, async () => {
      const response = await fetch(`${api.url}/docs/guides/${page}`)
      assert.deepEqual([response.status, response.headers.get('content-type')], [200, 'text/plain; charset=utf-8'])
      assert.match(await response.text(), /^# Going live\n/)
    })
  }
  it('are compressed once, also for concurrent requests', async () => {
    const [first, second] = await Promise.all([findGuide('going-live'), findGuide('going-live')])
    assert.ok(first?.gzip)
    assert.strictEqual(second, first)
    assert.strictEqual(await findGuide('going-live'), first)
    assert.strictEqual(await findGuide('none'), null)
  })
  for (const page of ['none', '..%2Freference%2Fcli', '%2e%2e%2f%2e%2e%2fREADME', 'going-live%00', 'GOING-LIVE']) {
    it(`refuses ${page}`, async () => {
      const response = await fetch(`${api.url}/docs/guides/${page}`)
      assert.ok([400, 404].includes(response.status), String(response.status))
    })
  }
})
