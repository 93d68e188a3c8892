/** The BIMI record of a domain over HTTP, with a real DNS server. */
import { assert } from 'chai'
import { listOf, startApi, textOf, type Json, type TestApi } from '#test/support/api.ts'
import { startDns, type TestDns } from '#test/support/dns.ts'
import { HOST, SERVICE_ZONE, domainCalls, refused } from './domains.test-data.ts'

const LOGO = 'https://nowhere.example/logo.svg'

describe('set-bimi', () => {
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
  const { call, add, publish, verify } = domainCalls(() => ({ api, dns }))
  const set = (domain: Json, body: object): ReturnType<typeof call> =>
    call('POST', `/set-bimi/${textOf(domain['id'])}`, body)
  const bimiOf = (domain: Json | undefined): Json => domain?.['bimi'] as unknown as Json

  it('adds the record, which is checked with the others, and removes it again', async () => {
    const domain = await add()
    assert.deepEqual(bimiOf(domain), {
      logo_url: null,
      certificate_url: null,
      status: 'pending',
      findings: [],
    } as never)
    const { status, body } = await set(domain, { logo_url: LOGO, certificate_url: 'https://nowhere.example/a;b.pem' })
    assert.strictEqual(status, 200, JSON.stringify(body))
    const changed = body['data'] ?? {}
    const record = listOf(changed['dns_records']).find(({ purpose }) => (purpose as unknown) === 'bimi')
    assert.strictEqual(record?.['name'] as unknown, `default._bimi.${textOf(domain['domain'])}`)
    const value = `v=BIMI1; l=${LOGO}; a=https://nowhere.example/a%3Bb.pem;`
    assert.strictEqual(record?.['value'] as unknown, value)
    publish(changed)
    const verified = await verify(domain)
    assert.strictEqual(verified.body['data']?.['status'], 'verified', 'BIMI is no condition')
    const shown = (await call('GET', `/domain-status/${textOf(domain['id'])}`)).body['data']
    const findings = listOf(bimiOf(shown)['findings'])
    assert.deepEqual(
      findings.map((one) => [one['subject'], one['status']] as unknown),
      [
        ['record', 'ok'],
        ['dmarc', 'wrong'],
        ['logo', 'wrong'],
        ['certificate', 'wrong'],
      ],
    )
    assert.match(textOf(findings[2]?.['message']), /host was not found, or is not allowed/)
    const removed = await set(domain, {})
    assert.notInclude(JSON.stringify(removed.body['data']?.['dns_records']), 'BIMI1')
  })

  it('is in the audit log', async () => {
    const domain = await add()
    await set(domain, { logo_url: LOGO })
    const { rows } = await api.db.query<{ after: Json }>(
      `SELECT after FROM audit_log WHERE kind = 'domain' AND object = $1 AND action = 'set-bimi'`,
      [domain['id']],
    )
    assert.deepEqual(
      rows.map(({ after }) => after),
      [{ bimi_logo_url: LOGO } as never],
    )
  })

  const WRONG: readonly (readonly [body: object, path: string, message: RegExp])[] = [
    [{ logo_url: 'http://a.example/logo.svg' }, 'logo_url', /https/],
    [{ logo_url: 'https://a:b@a.example/logo.svg' }, 'logo_url', /user name/],
    [{ logo_url: 'https://localhost/logo.svg' }, 'logo_url', /full name/],
    [{ logo_url: LOGO, certificate_url: 'x' }, 'certificate_url', /https/],
    [{ certificate_url: LOGO }, 'logo_url', /is required/],
    [{ logo_url: 5 }, 'logo_url', /string/],
    [{ logo_url: `${LOGO}${'x'.repeat(2000)}` }, 'logo_url', /too long/],
  ]
  for (const [body, path, message] of WRONG)
    it(`refuses ${JSON.stringify(body).slice(0, 60)}`, async () => {
      const answer = await set(await add(), body)
      assert.deepEqual(refused(answer), [400, false, 'VALIDATION_ERROR'])
      const [detail] = listOf(answer.body['details'])
      assert.strictEqual(detail?.['path'], path)
      assert.match(textOf(detail['message']), message)
    })
})
