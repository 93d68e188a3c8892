import { assert } from 'chai'
import type { TestApi } from '#test/support/api.ts'
import { until } from '#test/support/until.ts'
import { json, signupForm, startFormApi, type FormResponse } from './subscribe-form.test-data.ts'

/** Sixty a minute are accepted, and one more for each second that the test needs. */
const SUBMISSIONS = 90

describe('the rate limit of the public signup form', () => {
  let api: TestApi
  before(async () => {
    api = await startFormApi()
  })
  after(() => api.stop())
  const { audience, postForm, postJson, members } = signupForm(() => api)

  it('per network: 429 with Retry-After, whatever X-Forwarded-For claims', async () => {
    const { subscribeToken } = await audience()
    const posts = await Promise.all(
      Array.from({ length: SUBMISSIONS }, (_, i) =>
        postJson(subscribeToken, { email: `n${i}@pace.example` }, { 'x-forwarded-for': `203.0.113.${i}, 192.0.2.7` }),
      ),
    )
    const refused = posts.filter(({ status }) => status === 429)
    assert.isAtLeast(refused.length, 1)
    assert.isAtLeast(posts.length - refused.length, 60)
    assert.strictEqual(json(refused[0] ?? (posts[0] as FormResponse))['error'], 'RATE_LIMITED')
    assert.ok(Number(refused[0]?.headers.get('retry-after')) > 0)
    let page = ''
    await until(async () => {
      const answer = await postForm(subscribeToken, { email: 'n@pace.example' }, { 'x-forwarded-for': '192.0.2.7' })
      page = answer.text
      return answer.status === 429
    })
    assert.include(page, '<h1>Too many attempts</h1>')
    assert.strictEqual((await postJson(subscribeToken, { email: 'n@pace.example' })).status, 200)
  })
  it('an IPv6 /64 is one network', async () => {
    const { subscribeToken } = await audience()
    const posts = await Promise.all(
      Array.from({ length: SUBMISSIONS }, (_, i) =>
        postJson(
          subscribeToken,
          { email: `v${i}@pace.example` },
          { 'x-forwarded-for': `2001:db8:1:2::${i.toString(16)}` },
        ),
      ),
    )
    assert.isAtLeast(posts.filter(({ status }) => status === 429).length, 1)
  })
  it('per address: from many networks, with and without a plus', async () => {
    const { subscribeToken } = await audience()
    const posts = await Promise.all(
      Array.from({ length: 11 }, (_, i) =>
        postJson(subscribeToken, { email: i % 2 === 0 ? 'Victim@x.example' : `victim+${i}@x.example` }),
      ),
    )
    assert.isAtLeast(posts.filter(({ status }) => status === 429).length, 1)
    assert.strictEqual((await postJson(subscribeToken, { email: 'other@x.example' })).status, 200)
  })
  it('stores no address in Redis', async () => {
    const { subscribeToken } = await audience()
    await postJson(subscribeToken, { email: 'secret@x.example' })
    const { openRedis } = await import('#src/stores/redis.ts')
    const { openLog } = await import('#src/platform/log.ts')
    const redis = openRedis(api.redis.url, openLog({ logLevel: 'silent' }, 'test'))
    await new Promise((resolve) => redis.once('ready', resolve))
    const names = await redis.keys('mailstead:attempts:*')
    redis.disconnect()
    assert.ok(
      names.length > 0 && names.every((name) => /^mailstead:attempts:\{subscribe:[\w-]{22}\}$/.test(name)),
      names.join(),
    )
  })
  it('without Redis the form works, and each process limits the rate on its own', async () => {
    const { id, subscribeToken } = await audience()
    await api.redis.crash()
    try {
      const posts = await Promise.all(
        Array.from({ length: SUBMISSIONS }, (_, i) =>
          postJson(subscribeToken, { email: `away${i}@pace.example` }, { 'x-forwarded-for': '192.0.2.99' }),
        ),
      )
      const accepted = posts.filter(({ status }) => status === 200)
      assert.isAtLeast(accepted.length, 60)
      assert.isAtLeast(posts.filter(({ status }) => status === 429).length, 1)
      assert.strictEqual((await members(id)).length, accepted.length)
    } finally {
      await api.redis.restart()
    }
  })
})
