/**
 * /public/domains over HTTP with a real DNS server: the flow of the specification, refusals, limits, and the
 * isolation of workspaces.
 */
import { assert } from 'chai'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { listOf, startApi, textOf, type Json, type Tenant, type TestResponse, type TestApi } from '#test/support/api.ts'
import { startDns, type TestDns } from '#test/support/dns.ts'
import { until } from '#test/support/until.ts'

const BASE = '/public/domains'
const HOST = 'mail.operator.example'
const BOUNCES = `bounces.${HOST}`

describe('/public/domains', () => {
  let api: TestApi
  let other: Tenant
  let dns: TestDns
  let names = 0
  before(async function () {
    this.timeout(120_000)
    dns = await startDns({
      [HOST]: { A: ['192.0.2.1'] },
      [BOUNCES]: { MX: [[10, HOST]], TXT: [`v=spf1 a:${HOST} -all`] },
    })
    api = await startApi({ DNS_SERVERS: dns.server, HOSTNAME: HOST, PUBLIC_URL: `https://${HOST}` })
    other = await api.addTenant()
  })
  after(async () => {
    await api.stop()
    await dns.stop()
  })

  const call = (method: string, path: string, body?: unknown, key = api.admin): Promise<TestResponse> =>
    api.call(method, `${BASE}${path}`, { key, ...(body === undefined ? {} : { body }) })
  const add = async (body: object = { domain: `d${names++}.example` }, key = api.admin): Promise<Json> => {
    const answer = await call('POST', '/add-domain', body, key)
    assert.strictEqual(answer.status, 201, JSON.stringify(answer.body))
    return answer.body['data'] as Json
  }
  const publish = (domain: Json): void => {
    for (const record of listOf(domain['dns_records'])) {
      const [name, value] = [textOf(record['name']), textOf(record['value'])]
      const type = textOf(record['type'])
      dns.zone[name] = {
        ...dns.zone[name],
        ...(type === 'TXT' ? { TXT: [value] } : type === 'MX' ? { MX: [[10, value] as const] } : { CNAME: value }),
      }
    }
  }
  const verify = (domain: Json, key = api.admin): Promise<TestResponse> =>
    call('POST', `/verify-domain/${textOf(domain['id'])}`, undefined, key)
  const status = async (domain: Json): Promise<Json> =>
    (await call('GET', `/domain-status/${textOf(domain['id'])}`)).body['data'] as Json
  const createKey = (body: object, key = api.admin): Promise<TestResponse> =>
    call('POST', '/api-keys/create', body, key)
  const send = (key: string, from: string): Promise<TestResponse> =>
    api.call('POST', '/send-email/instant', {
      key,
      body: { from, to: ['ann@receiver.example'], subject: 'Hello', body: 'Hello' },
    })
  /** Lets the next request check DNS: for a few seconds the endpoint returns the last result. */
  const forgetLook = (domain: Json): Promise<unknown> =>
    api.db.query('UPDATE domains SET check_begun_at = NULL WHERE id = $1', [domain['id']])
  const refused = ({ status: code, body }: TestResponse): unknown[] => [code, body['success'], body['error']]

  it('go from add-domain to a sending key', async () => {
    const domain = await add({ domain: 'Shop.Example.', region: 'af-south-1' })
    assert.deepEqual(
      [
        'domain',
        'verification_status',
        'status',
        'mail_from_status',
        'tracking_status',
        'tracking_host',
        'region',
        'registrar',
        'registrar_name',
        'registrar_iana_id',
        'registrar_last_checked_at',
        'dns_provider',
        'verified_at',
      ].map((field) => domain[field]),
      [
        'shop.example',
        'pending',
        'pending',
        'pending',
        'pending',
        'track.shop.example',
        'af-south-1',
        null,
        null,
        null,
        null,
        null,
        null,
      ],
    )
    const records = listOf(domain['dns_records'])
    assert.deepEqual(
      records.map((record) => [
        record['purpose'],
        record['type'],
        record['priority'],
        record['required'],
        record['status'],
      ]),
      [
        ['dkim', 'TXT', null, true, 'pending'],
        ['dkim', 'TXT', null, false, 'pending'],
        ['spf', 'TXT', null, false, 'pending'],
        ['dmarc', 'TXT', null, false, 'pending'],
        ['mail_from', 'MX', 10, false, 'pending'],
        ['mail_from', 'TXT', null, false, 'pending'],
        ['tracking', 'CNAME', null, false, 'pending'],
      ],
    )
    for (const record of records) assert.match(textOf(record['description']), /^[A-Z].+\.$/)

    const early = await verify(domain)
    assert.deepEqual(
      [early.status, early.body['data']?.['status'], early.body['data']?.['checks']?.['dkim']?.['status']],
      [200, 'pending', 'missing'],
    )
    assert.match(
      textOf(early.body['data']?.['message']),
      /^shop\.example is not verified\. ms-.+: there is no TXT record$/,
    )
    assert.deepEqual(refused(await createKey({ name: 'k', custom_domain_id: domain['id'] })), [
      400,
      false,
      'VALIDATION_ERROR',
    ])

    publish(domain)
    await forgetLook(domain)
    const done = await verify(domain)
    assert.strictEqual(done.status, 200)
    const { id, checks, verified_at: verifiedAt, ...rest } = done.body['data'] as Json
    assert.strictEqual(id, domain['id'])
    assert.ok(!Number.isNaN(Date.parse(textOf(verifiedAt))))
    assert.deepEqual(rest, {
      domain: 'shop.example',
      status: 'verified',
      verification_status: 'verified',
      mail_from_status: 'verified',
      message: 'shop.example is verified.',
    })
    assert.deepEqual(
      Object.entries(checks ?? {}).map(([purpose, check]) => [purpose, check['status']]),
      ['dkim', 'spf', 'dmarc', 'mail_from', 'tracking'].map((purpose) => [purpose, 'ok']),
    )
    const now = await status(domain)
    assert.deepEqual(
      [now['verification_status'], now['verified_at'], now['tracking_status']],
      ['verified', verifiedAt, 'verified'],
    )
    assert.ok(listOf(now['dns_records']).every((record) => (record['status'] as unknown) === 'ok'))

    const expires = new Date(Date.now() + 86_400_000).toISOString()
    const made = await createKey({ name: 'Shop', custom_domain_id: domain['id'], expires_at: expires })
    assert.strictEqual(made.status, 201)
    const data = made.body['data'] as Json
    assert.deepEqual(Object.keys(data), ['api_key', 'secret_key'])
    const { id: keyId, key_id: shortId, created_at: createdAt, ...key } = data['api_key'] as Json
    assert.deepEqual(key, { name: 'Shop', is_active: true, expires_at: expires })
    assert.match(`${textOf(keyId)} ${textOf(shortId)}`, /^[0-9a-f-]{36} key_[0-9a-f]{32}$/)
    assert.ok(Math.abs(Date.parse(textOf(createdAt)) - Date.now()) < 60_000)
    const secret = textOf(data['secret_key'])
    assert.match(secret, /^[a-z]+_[a-f0-9]+\.live_[a-f0-9]+$/)
    assert.strictEqual((await send(secret, 'me@shop.example')).status, 200)
    assert.deepEqual(refused(await send(secret, 'me@other.example')), [403, false, 'FORBIDDEN'])
  })

  it('verification sends domain.verified to webhooks', async () => {
    const domain = await add()
    publish(domain)
    await verify(domain)
    const { rows } = await api.db.query<{ data: object }>(
      `SELECT data FROM events WHERE type = 'domain.verified' AND data->>'domain_id' = $1`,
      [domain['id']],
    )
    assert.deepEqual(
      rows.map(({ data }) => data),
      [{ domain: domain['domain'], domain_id: domain['id'], verification_status: 'verified' }],
    )
  })

  it('polling returns the last result; concurrent requests share one check', async () => {
    const domain = await add()
    const name = textOf(listOf(domain['dns_records'])[0]?.['name'])
    const answers = await Promise.all(Array.from({ length: 30 }, () => verify(domain)))
    assert.ok(answers.every((answer) => answer.status === 200 && textOf(answer.body['data']?.['status']) === 'pending'))
    // one check, and another for every two seconds that this may take
    const lookups = dns.queries.filter((query) => query.name === name && query.type === 'TXT').length
    assert.ok(lookups >= 1 && lookups <= 5, `${lookups} lookups`)
  })

  describe('add-domain', () => {
    const spellings: readonly [given: string, name: string][] = [
      ['MÜNCHEN.example', 'xn--mnchen-3ya.example'],
      ['  news.deep.example  ', 'news.deep.example'],
      ['dot.example.', 'dot.example'],
      ['UPPER.EXAMPLE', 'upper.example'],
    ]
    for (const [given, name] of spellings)
      it(`normalises ${given}`, async () => assert.strictEqual((await add({ domain: given }))['domain'], name))

    const wrong: readonly [body: unknown, path: string, message: RegExp][] = [
      [{}, 'domain', /is required/],
      [{ domain: 5 }, 'domain', /string/],
      [{ domain: '' }, 'domain', /empty/],
      [{ domain: 'nodot' }, 'domain', /no dot/],
      [{ domain: 'https://a.example/' }, 'domain', /not a URL/],
      [{ domain: 'me@a.example' }, 'domain', /give only the domain/],
      [{ domain: 'co.uk' }, 'domain', /public suffix/],
      [{ domain: `x.${BOUNCES}` }, 'domain', /belongs to this service/],
      [{ domain: 'a.example', region: 'mars-1' }, 'region', /us-east-1/],
      [{ domain: 'x'.repeat(5000) }, 'domain', /too long/],
      [{ domain: '127.0.0.1' }, 'domain', /./],
      [{ domain: 'a_b.example' }, 'domain', /./],
    ]
    for (const [body, path, message] of wrong) {
      it(`refuses ${JSON.stringify(body).slice(0, 60)}`, async () => {
        const answer = await call('POST', '/add-domain', body)
        assert.deepEqual(refused(answer), [400, false, 'VALIDATION_ERROR'])
        const [detail] = listOf(answer.body['details'])
        assert.strictEqual(detail?.['path'], path)
        assert.match(textOf(detail?.['message']), message)
      })
    }

    it('returns 409 for an existing domain, in any spelling', async () => {
      await add({ domain: 'twice.example' })
      assert.deepEqual(refused(await call('POST', '/add-domain', { domain: 'Twice.Example.' })), [
        409,
        false,
        'CONFLICT',
      ])
    })

    it('returns PLAN_REQUIRED exactly at the limit of the plan, also with concurrent requests', async () => {
      const tenant = await api.addTenant({ plan: 'free' })
      await api.db.query(
        sql`
          INSERT INTO domains (id, workspace_id, domain, check_due_at)
          SELECT gen_random_uuid(), $1, 'x' || i || '.example', NULL
          FROM generate_series(1, 96) i
        `,
        [tenant.workspaceId],
      )
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, i) => call('POST', '/add-domain', { domain: `p${i}.example` }, tenant.admin)),
      )
      assert.strictEqual(answers.filter((answer) => answer.status === 201).length, 3)
      assert.ok(
        answers.every(
          (answer) =>
            answer.status === 201 || (answer.status === 403 && textOf(answer.body['error']) === 'PLAN_REQUIRED'),
        ),
      )
    })
  })

  it('lists the domains as an array, in pages if requested', async () => {
    const tenant = await api.addTenant()
    const added = [await add({ domain: 'l1.example' }, tenant.admin), await add({ domain: 'l2.example' }, tenant.admin)]
    const all = await call('GET', '/get-domains', undefined, tenant.admin)
    assert.deepEqual(
      [all.status, listOf(all.body['data']).map((one) => one['domain'])],
      [200, [tenant.domain, 'l1.example', 'l2.example']],
    )
    assert.deepEqual(listOf(all.body['data'])[1], added[0])
    const second = await call('GET', '/get-domains?page=3&limit=1', undefined, tenant.admin)
    assert.deepEqual(
      [listOf(second.body['data']).map((one) => one['domain']), second.body['total']],
      [['l2.example'], 3],
    )
    assert.deepEqual(refused(await call('GET', '/get-domains?limit=1001', undefined, tenant.admin)), [
      400,
      false,
      'VALIDATION_ERROR',
    ])
  })

  it('two workspaces can add a domain, but only one can verify it', async () => {
    const [mine, theirs] = [
      await add({ domain: 'contested.example' }),
      await add({ domain: 'contested.example' }, other.admin),
    ]
    publish(mine)
    publish(theirs)
    assert.strictEqual((await verify(mine)).body['data']?.['status'], 'verified')
    const answer = await verify(theirs, other.admin)
    assert.deepEqual(refused(answer), [409, false, 'CONFLICT'])
    assert.match(textOf(answer.body['message']), /another workspace has verified this domain/)
  })

  describe('delete-domain', () => {
    it('disables its keys immediately and fails its mail', async () => {
      const domain = await add()
      publish(domain)
      await verify(domain)
      const secret = textOf((await createKey({ name: 'k', domain_id: domain['id'] })).body['data']?.['secret_key'])
      assert.strictEqual((await send(secret, `me@${textOf(domain['domain'])}`)).status, 200)
      const gone = await call('DELETE', `/delete-domain/${textOf(domain['id'])}`)
      assert.deepEqual([gone.status, Object.keys(gone.body)], [200, ['success', 'message']])
      await until(
        async () => (await send(secret, `me@${textOf(domain['domain'])}`)).status === 401,
        () => 'the key still works',
        2000,
      )
      for (const answer of [await call('DELETE', `/delete-domain/${textOf(domain['id'])}`), await verify(domain)])
        assert.deepEqual(refused(answer), [404, false, 'NOT_FOUND'])
      const { rows } = await api.db.query('SELECT 1 FROM domain_removals WHERE domain_id = $1', [domain['id']])
      assert.strictEqual(rows.length, 1)
    })
  })

  describe('rotate-dkim', () => {
    it('shows the next records next to the present ones, once', async () => {
      const domain = await add()
      assert.deepEqual(refused(await call('POST', `/rotate-dkim/${textOf(domain['id'])}`)), [409, false, 'CONFLICT'])
      publish(domain)
      await verify(domain)
      const { status: code, body } = await call('POST', `/rotate-dkim/${textOf(domain['id'])}`)
      const dkim = listOf(body['data']?.['dns_records']).filter((record) => (record['purpose'] as unknown) === 'dkim')
      assert.deepEqual(
        [code, dkim.length, dkim.filter((record) => (record['required'] as unknown) === true).length],
        [200, 4, 1],
      )
      assert.strictEqual(new Set(dkim.map((record) => record['name'])).size, 4)
      assert.deepEqual(refused(await call('POST', `/rotate-dkim/${textOf(domain['id'])}`)), [409, false, 'CONFLICT'])
    })
  })

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

  it('a domain of another workspace is 404 and does not change', async () => {
    const stranger = await api.addTenant()
    const domain = await add()
    publish(domain)
    const id = textOf(domain['id'])
    const read = async (): Promise<unknown> => (await api.db.query('SELECT * FROM domains WHERE id = $1', [id])).rows
    const before = await read()
    for (const [method, path, body] of [
      ['GET', `/domain-status/${id}`],
      ['POST', `/verify-domain/${id}`],
      ['DELETE', `/delete-domain/${id}`],
      ['POST', `/rotate-dkim/${id}`],
      ['POST', '/api-keys/create', { name: 'k', custom_domain_id: id }],
      ['GET', '/domain-status/x'],
      ['DELETE', '/delete-domain/x'],
    ] as const)
      assert.deepEqual(refused(await call(method, path, body, stranger.admin)), [404, false, 'NOT_FOUND'], path)
    assert.deepEqual(await read(), before)
  })

  for (const state of ['pending', 'failed', 'degraded'] as const) {
    it(`a ${state} domain ${state === 'degraded' ? 'can still send' : 'cannot send: 403'}`, async () => {
      const tenant = await api.addTenant({ status: state })
      const answer = await send(tenant.regular, `me@${tenant.domain}`)
      if (state === 'degraded') assert.strictEqual(answer.status, 200)
      else assert.deepEqual(refused(answer), [403, false, 'FORBIDDEN'])
    })
  }
})
