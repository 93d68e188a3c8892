/** The operator's endpoints for workspaces, keys, sources, shaping, reports and TLS rules. */
import { assert } from 'chai'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { listOf, OPERATOR_TOKEN, startApi, textOf, type TestApi, type TestResponse } from '#test/support/api.ts'

describe('the endpoints of the operator', () => {
  let api: TestApi
  before(async () => {
    api = await startApi({ DNS_SERVERS: '127.0.0.1:1', RDAP_URL: 'none' })
  })
  after(() => api.stop())

  const ask = (method: string, path: string, body?: unknown): Promise<TestResponse> =>
    api.call(method, `/admin${path}`, { key: OPERATOR_TOKEN, ...(body === undefined ? {} : { body }) })
  async function codeOf(answer: Promise<TestResponse>): Promise<unknown> {
    const { status, body } = await answer
    return status < 300 ? status : body['error']
  }

  it('create a workspace, change its plan, and give it a key that works from its networks', async () => {
    const made = await ask('POST', '/workspaces', { name: 'Acme', plan: 'free' })
    assert.strictEqual(made.status, 201)
    const id = textOf(made.body['data']?.['id'])
    const changed = await ask('PATCH', `/workspaces/${id}`, { plan: 'launch' })
    assert.deepEqual([changed.body['data']?.['plan'], changed.body['data']?.['name']] as unknown[], ['launch', 'Acme'])
    const key = await ask('POST', `/workspaces/${id}/keys`, { scopes: ['audiences:manage'] })
    const secret = textOf(key.body['data']?.['secret_key'])
    assert.strictEqual((await api.call('GET', '/public/audiences/get-audiences', { key: secret })).status, 200)
    const listed = await ask('GET', `/workspaces/${id}/keys`)
    assert.notInclude(JSON.stringify(listed.body), secret)
    assert.strictEqual(await codeOf(ask('DELETE', `/keys/${textOf(key.body['data']?.['id'])}`)), 200)
    const elsewhere = await ask('POST', `/workspaces/${id}/keys`, { allowed_networks: ['192.0.2.0/24'] })
    const foreign = { key: textOf(elsewhere.body['data']?.['secret_key']) }
    assert.strictEqual((await api.call('GET', '/integrations/verify', foreign)).status, 403)
  })

  const REFUSED: readonly (readonly [method: string, path: string, body: object | undefined, code: string])[] = [
    ['POST', '/workspaces', { name: ' ' }, 'VALIDATION_ERROR'],
    ['POST', '/workspaces', { name: 'a\nb' }, 'VALIDATION_ERROR'],
    ['POST', '/workspaces', { name: 'Acme \u202emocA' }, 'VALIDATION_ERROR'],
    ['POST', '/workspaces', { name: 'A', plan: '__proto__' }, 'VALIDATION_ERROR'],
    ['PATCH', '/workspaces/none', { name: 'A' }, 'NOT_FOUND'],
    ['GET', '/workspaces/none', undefined, 'NOT_FOUND'],
    ['POST', '/workspaces/none/keys', {}, 'NOT_FOUND'],
    ['DELETE', '/keys/none', undefined, 'NOT_FOUND'],
    ['POST', '/sources', { name: '../x', address: '192.0.2.1', ehlo_name: 'a.example' }, 'VALIDATION_ERROR'],
    ['POST', '/sources', { name: 'x', address: 'here', ehlo_name: 'a.example' }, 'VALIDATION_ERROR'],
    ['POST', '/sources', { name: 'x', address: '192.0.2.1', ehlo_name: 'localhost' }, 'VALIDATION_ERROR'],
    ['POST', '/sources/none/pause', undefined, 'NOT_FOUND'],
    ['DELETE', '/sources/none', undefined, 'NOT_FOUND'],
    ['PUT', '/pools/none/sources/none', { weight: 1 }, 'VALIDATION_ERROR'],
    ['PUT', '/pools/none/sources/none', { weight: 0 }, 'VALIDATION_ERROR'],
    ['PUT', '/tls-rules/nodots', { level: 'required' }, 'VALIDATION_ERROR'],
    ['DELETE', '/tls-rules/none.example', undefined, 'NOT_FOUND'],
    ['GET', '/reports/none/raw', undefined, 'NOT_FOUND'],
    ['POST', '/shaping/replay', { file: 'receivers: [' }, 'VALIDATION_ERROR'],
    ['POST', '/shaping/replay', { file: 'receivers: {}', days: 32 }, 'VALIDATION_ERROR'],
  ]
  for (const [method, path, body, code] of REFUSED)
    it(`refuse ${method} ${path} ${JSON.stringify(body) ?? ''}`, async () =>
      assert.strictEqual(await codeOf(ask(method, path, body)), code))

  it('trust a domain of its workspace only, and not one that another has verified', async () => {
    const other = await api.addTenant({ status: 'pending' })
    const trust = (workspace: string, domain: string): Promise<unknown> =>
      codeOf(ask('POST', `/workspaces/${workspace}/domains/${domain}/trust`))
    assert.strictEqual(await trust(api.workspaceId, other.domainId), 'NOT_FOUND')
    assert.strictEqual(await trust(other.workspaceId, other.domain), 200)
    const claim = newId()
    await api.db.query(`INSERT INTO domains (id, workspace_id, domain) VALUES ($1, $2, $3)`, [
      claim,
      api.workspaceId,
      other.domain,
    ])
    assert.strictEqual(await trust(api.workspaceId, claim), 'CONFLICT')
  })

  it('add a source, warm it up, move it between pools, and remove it', async () => {
    const source = { name: 'out1', address: '192.0.2.10', ehlo_name: 'OUT1.example.net', warm_up: true }
    const added = await ask('POST', '/sources', source)
    assert.deepEqual([added.status, added.body['data']?.['ehlo_name']] as unknown[], [201, 'out1.example.net'])
    assert.strictEqual(await codeOf(ask('POST', '/sources', source)), 'VALIDATION_ERROR')
    const ended = await ask('POST', '/sources/out1/end-warm-up')
    assert.isNull(ended.body['data']?.['warming_since'])
    assert.strictEqual((await ask('POST', '/sources/out1/pause')).body['data']?.['state'] as unknown, 'paused')
    await ask('POST', '/pools', { name: 'news' })
    assert.strictEqual(await codeOf(ask('PUT', '/pools/news/sources/out1', { weight: 3 })), 200)
    const [listed] = listOf((await ask('GET', '/sources')).body['data']?.['sources'])
    assert.deepInclude(listOf(listed?.['pools']), { pool: 'news', weight: 3 } as never)
    assert.strictEqual(await codeOf(ask('DELETE', '/pools/news/sources/out1')), 200)
    assert.strictEqual(await codeOf(ask('DELETE', '/pools/news')), 200)
    assert.strictEqual(await codeOf(ask('DELETE', '/sources/out1')), 200)
  })

  it('list suspended and slowed receivers, and examine a shaping file', async () => {
    await api.db.query(
      sql`
        INSERT INTO receiver_suspensions (id, pace, source, workspace_id, rule, reply, until)
        VALUES ($1, 'gmail', '*', NULL, 'too-fast', '421 later', now() + interval '1 hour')
      `,
      [newId()],
    )
    const [receiver] = listOf((await ask('GET', '/shaping')).body['data']?.['receivers'])
    assert.deepEqual([receiver?.['receiver'], receiver?.['state']] as unknown[], ['gmail', 'suspended'])
    const checked = await ask('POST', '/shaping/check', { file: 'receivers:\n  x:\n    connections: 0\n' })
    assert.deepEqual([checked.status, checked.body['data']?.['is_valid']] as unknown[], [200, false])
  })

  it('list received reports, and return them as files', async () => {
    const id = newId()
    await api.db.query(
      sql`
        INSERT INTO inbound_reports (id, received_at, target, mail_from, peer, size, raw)
        VALUES ($1, now(), 'postmaster', 'a@b.example', '192.0.2.1', 8, '<script>')
      `,
      [id],
    )
    const { body } = await ask('GET', '/reports?letters=true')
    assert.deepEqual(
      listOf(body['data']?.['reports']).map((one) => textOf(one['id'])),
      [id],
    )
    const raw = await ask('GET', `/reports/${id}/raw`)
    assert.match(raw.headers.get('content-disposition') ?? '', /^attachment/)
  })
})
