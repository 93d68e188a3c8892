/** /public/domains over HTTP with a real DNS server: from adding a domain to a sending key. */
import { assert } from 'chai'
import { listOf, startApi, textOf, type Json, type TestApi } from '#test/support/api.ts'
import { startDns, type TestDns } from '#test/support/dns.ts'
import { HOST, SERVICE_ZONE, domainCalls, refused } from './domains.test-data.ts'

describe('/public/domains', () => {
  let api: TestApi
  let dns: TestDns
  before(async () => {
    dns = await startDns(structuredClone(SERVICE_ZONE))
    api = await startApi({ DNS_SERVERS: dns.server, MAILSTEAD_HOSTNAME: HOST, PUBLIC_URL: `https://${HOST}` })
  })
  after(async () => {
    await api.stop()
    await dns.stop()
  })

  const { call, add, publish, verify, createKey, send } = domainCalls(() => ({ api, dns }))
  const status = async (domain: Json): Promise<Json> =>
    (await call('GET', `/domain-status/${textOf(domain['id'])}`)).body['data'] as Json
  /** Lets the next request check DNS: for a few seconds the endpoint returns the last result. */
  const forgetLook = (domain: Json): Promise<unknown> =>
    api.db.query('UPDATE domains SET check_begun_at = NULL WHERE id = $1', [domain['id']])

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
    const {
      id,
      checks,
      verified_at: verifiedAt,
      message_translations: translations,
      ...rest
    } = done.body['data'] as Json
    assert.strictEqual(id, domain['id'])
    assert.ok(!Number.isNaN(Date.parse(textOf(verifiedAt))))
    assert.deepEqual(rest, {
      domain: 'shop.example',
      status: 'verified',
      verification_status: 'verified',
      mail_from_status: 'verified',
      message: 'shop.example is verified.',
    })
    const said = { code: 'domain_status.verified', params: { domain: 'shop.example' } }
    assert.deepEqual(translations as unknown, [said])
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
})
