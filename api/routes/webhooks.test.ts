/** /public/webhooks over HTTP: response schemas, aliases, refusals, and the isolation of workspaces. */
import { assert } from 'chai'
import { createKey } from '#src/auth/keys.ts'
import { newId } from '#src/platform/id.ts'
import { createEncryption } from '#src/crypto/encryption.ts'
import { sql } from '#src/stores/sql.ts'
import { createSecretDecryptor, signingKeyOf } from '#src/webhooks/secret.ts'
import { startApi, type Tenant, type TestResponse, type TestApi } from '#test/support/api.ts'
import { ALIASES, REFUSED, URL_A } from './webhooks.test-data.ts'

/** The fields that the tests read; deepEqual compares the complete object. */
type Fields = Readonly<Record<string, string>>

const BASE = '/public/webhooks'

describe('/public/webhooks', () => {
  let api: TestApi
  let other: Tenant
  before(async () => {
    api = await startApi()
    other = await api.addTenant()
  })
  after(() => api.stop())
  beforeEach(() => api.db.query('TRUNCATE webhook_endpoints, webhook_deliveries, webhook_attempts, events CASCADE'))

  const call = (method: string, path: string, body?: unknown, key = api.admin): Promise<TestResponse> =>
    api.call(method, `${BASE}${path}`, { key, ...(body === undefined ? {} : { body }) })
  const create = async (body: object = { url: URL_A, events: ['email.delivered'] }): Promise<Fields> => {
    const answer = await call('POST', '', body)
    assert.strictEqual(answer.status, 201, JSON.stringify(answer.body))
    return answer.body['data'] as unknown as Fields
  }
  const id = (endpoint: Fields): string => endpoint['id'] ?? ''

  it('POST creates an endpoint and shows the secret once', async () => {
    const answer = await call('POST', '', {
      url: URL_A,
      events: ['email.delivered', 'email.bounced'],
      description: 'shop',
    })
    assert.strictEqual(answer.status, 201)
    const { success, data } = answer.body
    assert.strictEqual(success, true)
    const {
      id: uuid = '',
      secret = '',
      created_at: created = '',
      updated_at: updated,
      ...rest
    } = data as unknown as Fields
    assert.match(uuid, /^[0-9a-f-]{36}$/)
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
    assert.ok(!Number.isNaN(Date.parse(created)) && created === updated)
    assert.deepEqual(rest, {
      object: 'webhook',
      url: URL_A,
      description: 'shop',
      events: ['email.delivered', 'email.bounced'],
      event_types: ['email.delivered', 'email.bounced'],
      is_active: true,
      disabled_reason: null,
      previous_secret_until: null,
    })
    for (const shown of [await call('GET', `/${uuid}`), await call('GET', '')])
      assert.ok(!JSON.stringify(shown.body).includes('whsec_'))
    const { rows } = await api.db.query<{ secret: Buffer }>('SELECT secret FROM webhook_endpoints')
    const open = createSecretDecryptor(createEncryption(Buffer.from('5a'.repeat(32), 'hex')))
    assert.ok(
      rows[0] !== undefined && open(rows[0].secret).standard.equals(signingKeyOf(secret).standard),
      'the secret is encrypted and can be decrypted',
    )
  })

  for (const [body, events] of ALIASES)
    it(`accepts ${JSON.stringify(body)}`, async () =>
      assert.deepEqual(await create(body).then((made) => [made['url'], made['events']]), [URL_A, events]))

  for (const [body, path] of REFUSED) {
    it(`refuses ${JSON.stringify(body).slice(0, 80)} and stores nothing`, async () => {
      const answer = await call('POST', '', body)
      assert.deepEqual([answer.status, answer.body['success'], answer.body['error']], [400, false, 'VALIDATION_ERROR'])
      const details = answer.body['details'] as unknown as { path: string }[]
      assert.ok(
        details.some((detail) => detail.path.split('.')[0] === path),
        JSON.stringify(details),
      )
      assert.strictEqual((await api.db.query('SELECT 1 FROM webhook_endpoints')).rows.length, 0)
    })
  }

  it('GET lists in pages, newest first', async () => {
    const made: string[] = []
    for (let i = 0; i < 5; i++) made.unshift(id(await create({ url: `${URL_A}/${i}` })))
    const answer = await call('GET', '?page=2&limit=2')
    interface Listed {
      webhooks: { id: string }[]
      page: number
      limit: number
      total: number
      totalPages: number
      meta: object
    }
    const data = answer.body['data'] as unknown as Listed
    assert.deepEqual(
      data.webhooks.map((one) => one.id),
      made.slice(2, 4),
    )
    assert.deepEqual(
      [answer.status, data.page, data.limit, data.total, data.totalPages, data.meta],
      [200, 2, 2, 5, 3, { total: 5, page: 2, limit: 2, has_more: true }],
    )
    for (const query of ['?limit=0', '?limit=1001', '?page=0', '?page=x'])
      assert.strictEqual((await call('GET', query)).status, 400, query)
  })

  for (const named of ['path', 'query'] as const) {
    const at = (uuid: string): string => (named === 'path' ? `/${uuid}` : `?id=${uuid}`)
    it(`GET, PATCH and DELETE with the id in the ${named}`, async () => {
      const made = await create()
      const found = await call('GET', at(id(made)))
      assert.deepEqual([found.status, id(found.body['data'] as unknown as Fields)], [200, id(made)])
      const changed = await call('PATCH', at(id(made)), { types: 'email.opened', description: 'new', enabled: false })
      const data = changed.body['data'] as unknown as Fields
      assert.deepEqual(
        [changed.status, data['url'], data['events'], data['description'], data['is_active'], data['disabled_reason']],
        [200, URL_A, ['email.opened'], 'new', false, 'switched off by its owner'],
      )
      const again = (await call('PATCH', at(id(made)), { is_active: true, description: null })).body[
        'data'
      ] as unknown as Fields
      assert.deepEqual(
        [again['is_active'], again['disabled_reason'], again['description'], again['events']],
        [true, null, null, ['email.opened']],
      )
      assert.strictEqual((await call('PATCH', at(id(made)), { url: 'http://10.0.0.1/' })).status, 400)
      const gone = await call('DELETE', at(id(made)))
      assert.deepEqual([gone.status, gone.body], [204, null])
      for (const method of ['GET', 'PATCH', 'DELETE'])
        assert.strictEqual((await call(method, at(id(made)), method === 'PATCH' ? {} : undefined)).status, 404, method)
    })
  }

  it('PATCH and DELETE without an id are 400', async () => {
    assert.strictEqual((await call('PATCH', '', {})).status, 400)
    assert.strictEqual((await call('DELETE', '')).status, 400)
  })

  it('rotation returns a new secret, and until when the old one is valid', async () => {
    const made = await create()
    const rotated = await call('POST', `/${id(made)}/rotate-secret`)
    const data = rotated.body['data'] as unknown as Fields
    assert.strictEqual(rotated.status, 200)
    assert.notStrictEqual(data['secret'], made['secret'])
    const hours = (Date.parse(data['previous_secret_until'] ?? '') - Date.now()) / 3_600_000
    assert.ok(hours > 23.9 && hours <= 24, String(hours))
  })

  it('a test event is queued, appears in the log and can be replayed', async () => {
    const made = await create({ url: URL_A, events: ['email.clicked'] })
    const sent = await call('POST', `/${id(made)}/test`)
    const { event_id: eventId = '', type } = sent.body['data'] as unknown as Fields
    assert.deepEqual([sent.status, type], [200, 'email.clicked'])
    const chosen = await call('POST', `/${id(made)}/test`, { type: 'domain.verified' })
    assert.strictEqual((chosen.body['data'] as unknown as Fields)['type'], 'domain.verified')
    assert.strictEqual((await call('POST', `/${id(made)}/test`, { type: 'email.eaten' })).status, 400)
    const log = await call('GET', `/${id(made)}/deliveries?event_id=${eventId}`)
    const data = log.body['data'] as unknown as { deliveries: Fields[]; total: number; totalPages: number }
    assert.deepEqual(
      [log.status, data.total, data.totalPages, data.deliveries[0]?.['state'], data.deliveries[0]?.['attempts']],
      [200, 1, 1, 'pending', []],
    )
    assert.strictEqual(((await call('GET', `/${id(made)}/deliveries`)).body['data'] as unknown as Fields)['total'], 2)
    assert.strictEqual(
      ((await call('GET', `/${id(made)}/deliveries?state=failed`)).body['data'] as unknown as Fields)['total'],
      0,
    )
    for (const query of ['?state=odd', '?event_id=evt_x', '?limit=5000'])
      assert.strictEqual((await call('GET', `/${id(made)}/deliveries${query}`)).status, 400, query)
    assert.strictEqual((await call('POST', `/${id(made)}/deliveries/${eventId}/replay`)).status, 200)
    for (const unknown of ['evt_x', `evt_${'0'.repeat(32)}`, newId()])
      assert.strictEqual((await call('POST', `/${id(made)}/deliveries/${unknown}/replay`)).status, 404, unknown)
    await call('PATCH', `/${id(made)}`, { is_active: false })
    assert.strictEqual((await call('POST', `/${id(made)}/deliveries/${eventId}/replay`)).status, 409)
    assert.strictEqual((await call('POST', `/${id(made)}/test`)).status, 409)
  })

  it('the log shows the request with its signature and the response, never the secret', async () => {
    const made = await create()
    const sent = await call('POST', `/${id(made)}/test`)
    await api.db.query(
      sql`
        INSERT INTO webhook_attempts (
          event_id, endpoint_id, attempt, at, url, request_headers, request_body, status, response_body, error,
          duration_ms
        )
        SELECT event_id, endpoint_id, 1, '2031-01-01Z', $1, '{"webhook-signature": "v1,x"}', '{"a":1}', 500, 'busy',
          'answered 500', 12
        FROM webhook_deliveries
      `,
      [URL_A],
    )
    const log = await call('GET', `/${id(made)}/deliveries`)
    const { deliveries } = log.body['data'] as unknown as { deliveries: { id: string; attempts: Fields[] }[] }
    assert.strictEqual(deliveries[0]?.id, (sent.body['data'] as unknown as Fields)['event_id'])
    assert.deepEqual(deliveries[0]?.attempts, [
      {
        attempt: 1,
        at: '2031-01-01T00:00:00.000Z',
        url: URL_A,
        status: 500,
        error: 'answered 500',
        duration_ms: 12,
        request: { headers: { 'webhook-signature': 'v1,x' }, body: '{"a":1}' },
        response: { status: 500, body: 'busy' },
      },
    ])
  })

  describe('authorisation', () => {
    const calls: readonly (readonly [string, (uuid: string) => string])[] = [
      ['GET', (uuid) => `/${uuid}`],
      ['GET', (uuid) => `?id=${uuid}`],
      ['PATCH', (uuid) => `/${uuid}`],
      ['PATCH', (uuid) => `?id=${uuid}`],
      ['DELETE', (uuid) => `/${uuid}`],
      ['DELETE', (uuid) => `?id=${uuid}`],
      ['POST', (uuid) => `/${uuid}/rotate-secret`],
      ['GET', (uuid) => `/${uuid}/deliveries`],
      ['POST', (uuid) => `/${uuid}/test`],
      ['POST', (uuid) => `/${uuid}/deliveries/evt_${'0'.repeat(32)}/replay`],
    ]
    for (const [method, path] of calls) {
      it(`${method} ${path('ID')}: only a key of the workspace with the scope`, async () => {
        const made = id(await create())
        const body = method === 'PATCH' ? { description: 'stolen' } : undefined
        const limited = await createKey(api.db, {
          kind: 'admin',
          prefix: api.config.keyPrefix,
          workspaceId: api.workspaceId,
          name: 'limited',
          scopes: ['contacts:read'],
        })
        assert.strictEqual(limited.kind, 'created')
        const answers = await Promise.all([
          call(method, path(made), body, other.admin),
          call(method, path(newId()), body),
          call(method, path('not-an-id'), body),
          call(method, path(made), body, api.regular),
          call(method, path(made), body, limited.kind === 'created' ? limited.secretKey : ''),
          call(method, path(made), body, 'ms_00.adm_00'),
        ])
        assert.deepEqual(
          answers.map((answer) => [answer.status, answer.body['error']]),
          [
            [404, 'NOT_FOUND'],
            [404, 'NOT_FOUND'],
            [404, 'NOT_FOUND'],
            [403, 'FORBIDDEN'],
            [403, 'INSUFFICIENT_SCOPE'],
            [401, 'UNAUTHORIZED'],
          ],
        )
        await api.db.query(`DELETE FROM api_keys WHERE name = 'limited'`)
        const { rows } = await api.db.query('SELECT description, is_active FROM webhook_endpoints')
        assert.deepEqual(rows, [{ description: null, is_active: true }])
      })
    }

    it('lists contain only endpoints of the workspace', async () => {
      await create()
      const answer = await call('GET', '', undefined, other.admin)
      assert.strictEqual((answer.body['data'] as unknown as Fields)['total'], 0)
      assert.strictEqual((await call('POST', '', { url: URL_A }, api.regular)).status, 403)
    })
  })
})
