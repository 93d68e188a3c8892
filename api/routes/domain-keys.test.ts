/** /public/domains/api-keys/create over HTTP: refusals, expiry, concurrent requests and the scope. */
import { assert } from 'chai'
import { newId } from '#src/platform/id.ts'
import { listOf, startApi, textOf, type Tenant, type TestApi, type TestResponse } from '#test/support/api.ts'
import { until } from '#test/support/until.ts'
import { refused } from './domains.test-data.ts'

describe('/public/domains', () => {
  let api: TestApi
  let other: Tenant
  before(async () => {
    api = await startApi()
    other = await api.addTenant()
  })
  after(() => api.stop())

  const createKey = (body: object, key = api.admin): Promise<TestResponse> =>
    api.call('POST', '/public/domains/api-keys/create', { key, body })

  describe('api-keys/create', () => {
    const wrong: readonly [body: object, path: string][] = [
      [{}, 'name'],
      [{ name: '' }, 'name'],
      [{ name: 'k' }, 'custom_domain_id'],
      [{ name: 'k', custom_domain_id: 'x' }, 'custom_domain_id'],
      [{ name: 'x'.repeat(256) }, 'name'],
      [{ name: 'a\nb' }, 'name'],
      [{ name: 'k', expires_at: 'tomorrow' }, 'expires_at'],
      [{ name: 'k', expires_at: '2031-02-31T00:00:00Z' }, 'expires_at'],
    ]
    for (const [body, path] of wrong) {
      it(`refuses ${JSON.stringify(body).slice(0, 60)}`, async () => {
        const answer = await createKey({
          ...(path === 'custom_domain_id' ? {} : { custom_domain_id: api.domainId }),
          ...body,
        })
        assert.deepEqual(
          [...refused(answer), listOf(answer.body['details'])[0]?.['path']],
          [400, false, 'VALIDATION_ERROR', path],
        )
      })
    }
    it('refuses a time in the past; a time without an offset is UTC', async () => {
      const past = await createKey({ name: 'k', custom_domain_id: api.domainId, expires_at: '2020-01-01T00:00:00Z' })
      assert.deepEqual(
        [...refused(past), listOf(past.body['details'])[0]?.['path']],
        [400, false, 'VALIDATION_ERROR', 'expires_at'],
      )
      for (const [given, read] of [
        ['2031-01-01T00:00:00', '2031-01-01T00:00:00.000Z'],
        ['2031-01-01T00:00:00+02:00', '2030-12-31T22:00:00.000Z'],
      ])
        assert.strictEqual(
          (await createKey({ name: 'k', custom_domain_id: api.domainId, expires_at: given })).body['data']?.[
            'api_key'
          ]?.['expires_at'],
          read,
        )
    })
    it('returns 404 for an unknown domain', async () => {
      assert.deepEqual(refused(await createKey({ name: 'k', custom_domain_id: newId() })), [404, false, 'NOT_FOUND'])
    })
    it('creates 50 different keys concurrently', async () => {
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, i) => createKey({ name: `k${i}`, custom_domain_id: api.domainId })),
      )
      assert.strictEqual(new Set(answers.map((answer) => textOf(answer.body['data']?.['secret_key']))).size, 50)
    })
    it('requires its own scope', async () => {
      await api.db.query(`UPDATE api_keys SET scopes = '{domains:manage}' WHERE workspace_id = $1 AND kind = 'admin'`, [
        other.workspaceId,
      ])
      await until(
        async () => (await createKey({ name: 'k', custom_domain_id: other.domainId }, other.admin)).status === 403,
        () => 'it is let in',
      )
    })
  })
})
