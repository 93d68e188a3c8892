/**
 * /public/domains over HTTP with a real DNS server: adding, listing and deleting, limits, and the isolation of
 * workspaces.
 */
import { assert } from 'chai'
import { sql } from '#src/stores/sql.ts'
import { listOf, startApi, textOf, type Tenant, type TestApi } from '#test/support/api.ts'
import { startDns, type TestDns } from '#test/support/dns.ts'
import { until } from '#test/support/until.ts'
import { BOUNCES, HOST, SERVICE_ZONE, domainCalls, refused } from './domains.test-data.ts'

describe('/public/domains', () => {
  let api: TestApi
  let other: Tenant
  let dns: TestDns
  before(async () => {
    dns = await startDns(structuredClone(SERVICE_ZONE))
    api = await startApi({ DNS_SERVERS: dns.server, MAILSTEAD_HOSTNAME: HOST, PUBLIC_URL: `https://${HOST}` })
    other = await api.addTenant()
  })
  after(async () => {
    await api.stop()
    await dns.stop()
  })

  const { call, add, publish, verify, createKey, send } = domainCalls(() => ({ api, dns }))

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
