/**
 * TLS reports from other organizations about our mail domains: by mail at the inbound port and by POST at the api,
 * into one store.
 */
import { gzipSync } from 'node:zlib'
import { assert } from 'chai'
import { run } from '#bin/commands/tls-reports.ts'
import { type Inbound, startInbound } from '#mta/inbound/inbound.ts'
import { createRegistry, type MetricRegistry } from '#src/metrics/registry.ts'
import { sql } from '#src/stores/sql.ts'
import { createHousekeepingRound } from '#worker/housekeeping.ts'
import { listOf, OPERATOR_TOKEN, startApi, textOf, type Json, type TestApi } from '#test/support/api.ts'
import { runCommand } from '#test/support/command.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { startDns, type TestDns } from '#test/support/dns.ts'
import { submitMessage } from '#test/support/smtp-connection.ts'
import {
  gzipJson,
  SIGNER_DKIM_RECORD,
  signMessage,
  tlsReportMessageOf,
  tlsReportOf,
  type ReportedDay,
} from '#test/support/tls-report-mail.ts'
import { until } from '#test/support/until.ts'

const OURS = 'bounces.mta.sender.example'
const SHOWN = ['report_id', 'via', 'signer', 'failures'] as const

describe('reports on TLS that come', () => {
  let dns: TestDns
  let ctx: TestContext
  let api: TestApi
  let inbound: Inbound
  let registry: MetricRegistry
  before(async () => {
    dns = await startDns({
      's1._domainkey.receiver.example': { TXT: [SIGNER_DKIM_RECORD] },
      's1._domainkey.evil.example': { TXT: [SIGNER_DKIM_RECORD] },
    })
    ctx = await createContext({ MAILSTEAD_HOSTNAME: 'mta.sender.example', INBOUND_PORT: '0', DNS_SERVERS: dns.server })
    registry = createRegistry()
    inbound = await startInbound(ctx, registry)
    api = await startApi(
      { MODE: 'live', MAILSTEAD_HOSTNAME: 'mta.sender.example', TRUST_PROXY: 'true' },
      ctx.databaseUrl,
    )
  })
  after(async () => {
    await inbound.stop()
    await api.stop()
    await Promise.all([ctx.close(), dns.stop()])
  })

  const mail = async (raw: Buffer, to = `tls-reports@${OURS}`): Promise<string> =>
    (await submitMessage(inbound.port, { from: 'x@receiver.example', to, content: raw })).at(-1) ?? ''
  const mailReport = async (about: ReportedDay, signer?: string): Promise<string> => {
    const letter = tlsReportMessageOf({
      content: gzipJson(tlsReportOf(about)),
      ...(signer !== undefined && { from: `x@${signer}` }),
    })
    return mail(signer === undefined ? letter : await signMessage(letter, signer))
  }
  async function post(body: Buffer | string, type = 'application/tlsrpt+gzip', from = '192.0.2.1'): Promise<number> {
    const headers = { 'content-type': type, 'x-forwarded-for': from }
    return (
      await fetch(`${api.url}/api/v1/tls-reports`, { method: 'POST', body: new Uint8Array(Buffer.from(body)), headers })
    ).status
  }
  /** Once all that came is read, at the pace of the process that looks for what others took. */
  async function reports(): Promise<Json[]> {
    await until(
      async () => (await ctx.db.query('SELECT FROM tls_report_arrivals')).rows.length === 0,
      () => 'they are not read',
    )
    const { body } = await api.call('GET', '/admin/tls-reports', { key: OPERATOR_TOKEN })
    return listOf((body['data'] as Json)['reports'])
  }
  const readReports = async (): Promise<string[]> =>
    (await reports()).map((one) =>
      SHOWN.map((name) => JSON.stringify(one[name]))
        .join(' ')
        .replaceAll('"', ''),
    )
  afterEach(() => ctx.db.query('DELETE FROM received_tls_reports'))

  it('signed by mail, and by post: kept once, with what they say', async () => {
    assert.match(await mailReport({ id: 'a', domain: OURS }, 'receiver.example'), /^250 /)
    assert.deepEqual(await readReports(), ['a mail receiver.example 3'])
    await Promise.all([1, 2].map(() => mailReport({ id: 'a', domain: OURS }, 'receiver.example')))
    assert.strictEqual(await post(gzipJson(tlsReportOf({ id: 'b', domain: OURS, failures: 0 }))), 200)
    assert.strictEqual(
      await post(JSON.stringify(tlsReportOf({ id: 'c', domain: OURS.toUpperCase() })), 'application/tlsrpt+json'),
      200,
    )
    assert.deepEqual((await readReports()).toSorted(), [
      'a mail receiver.example 3',
      'b https null 0',
      'c https null 3',
    ])
    const [one] = (await reports()).filter((report) => textOf(report['report_id']) === 'a')
    assert.containsSubset(one, {
      organization: 'Receiver Inc.',
      begins_at: '2026-04-01T00:00:00.000Z',
      successes: 5326,
      policies: [
        {
          domain: OURS,
          type: 'sts',
          details: [
            { result: 'certificate-expired', count: 3, sending_ip: '2001:db8::1', mx_host: 'mx1.sender.example' },
          ],
        },
      ],
    })
    const figures = JSON.stringify(registry.snapshot())
    assert.match(figures, /\["mail","kept"\],"value":1/)
    assert.match(figures, /\["mail","repeated"\],"value":2/)
    assert.match(figures, /\["failure","signed"\],"value":3/)
  })

  it("what nobody signed gives way to the same with a signature, and replaces nobody's", async () => {
    await mailReport({ id: 'a', domain: OURS, failures: 9 })
    assert.deepEqual(await readReports(), ['a mail null 9'])
    await mailReport({ id: 'a', domain: OURS }, 'receiver.example')
    assert.deepEqual(await readReports(), ['a mail receiver.example 3'])
    await mailReport({ id: 'a', domain: OURS, failures: 9 })
    assert.strictEqual(await post(gzipJson(tlsReportOf({ id: 'a', domain: OURS, failures: 9 }))), 200)
    assert.deepEqual(await readReports(), ['a mail receiver.example 3'])
    await mailReport({ id: 'a', domain: OURS, failures: 9 }, 'evil.example')
    assert.deepEqual((await readReports()).toSorted(), ['a mail evil.example 9', 'a mail receiver.example 3'])
  })

  it("of domains that are not ours, or of none, are dropped; of a customer's bounce subdomain kept", async () => {
    await mailReport({ id: 'foreign', domain: 'other.example' }, 'receiver.example')
    await mail(Buffer.from('From: a@b.example\r\n\r\nHello\r\n'))
    await mail(tlsReportMessageOf({ content: gzipSync(Buffer.alloc(32 * 1024 * 1024)) }))
    await mailReport({ id: 'customer', domain: `bounce.${api.domain}` }, 'receiver.example')
    assert.deepEqual(await readReports(), ['customer mail receiver.example 3'])
    const figures = JSON.stringify(registry.snapshot())
    assert.match(figures, /\["mail","foreign"\],"value":1/)
    assert.match(figures, /\["mail","unreadable"\],"value":2/)
  })

  it('are taken at that address only, and only small ones', async () => {
    assert.match(await mail(Buffer.from('x'), 'tls-reports@other.example'), /^550 5\.7\.1 /)
    assert.match(await mail(tlsReportMessageOf({ content: Buffer.alloc(150_000) })), /^552 5\.3\.4 /)
    const POSTS: readonly (readonly [body: Buffer | string, type: string, status: number])[] = [
      [Buffer.alloc(70_000, '{'), 'application/tlsrpt+json', 413],
      ['nothing', 'application/tlsrpt+json', 400],
      ['', 'application/tlsrpt+gzip', 400],
      ['{}', 'application/json', 415],
      ['{}', 'text/plain', 415],
    ]
    for (const [body, type, status] of POSTS)
      assert.strictEqual(await post(body, type), status, `${type} ${body.length}`)
    assert.deepEqual(await readReports(), [])
  })

  it('of one network may be so many an hour, and so many may wait', async () => {
    const small = gzipJson({})
    const statuses = await Promise.all(
      Array.from({ length: 70 }, () => post(small, 'application/tlsrpt+gzip', '198.51.100.7')),
    )
    assert.strictEqual(statuses.filter((status) => status === 429).length, 10)
    assert.strictEqual(await post(small, 'application/tlsrpt+gzip', '203.0.113.1'), 200)
    await ctx.db.query(sql`
      INSERT INTO tls_report_arrivals (id, via, peer, raw, due_at)
      SELECT gen_random_uuid(), 'https', '', '', now() + interval '1 day'
      FROM generate_series(1, 1000)
    `)
    assert.strictEqual(await post(small, 'application/tlsrpt+gzip', '203.0.113.1'), 503)
    assert.match(await mailReport({ domain: OURS }), /^452 4\.3\.1 /)
    await ctx.db.query('DELETE FROM tls_report_arrivals')
  })

  it("whose key DNS does not tell are read again, and are nobody's in the end", async () => {
    dns.zone['s1._domainkey.slow.example'] = { fault: 'servfail' }
    await mailReport({ id: 'slow', domain: OURS }, 'slow.example')
    const again = async (tries: number): Promise<void> => {
      const isTried = async (): Promise<boolean> =>
        (await ctx.db.query('SELECT FROM tls_report_arrivals WHERE tries = $1', [tries])).rows.length === 1
      await until(isTried)
      await ctx.db.query('UPDATE tls_report_arrivals SET due_at = now(), tries = 4 WHERE due_at > now()')
    }
    await again(1)
    assert.deepEqual(await readReports(), ['slow mail null 3'])
  })

  it('are shown by the command line, and forgotten after a while', async () => {
    await mailReport({ id: 'a', domain: OURS }, 'receiver.example')
    await mailReport({ id: 'b', domain: OURS, failures: 0 })
    await reports()
    const show = async (...args: string[]): Promise<string> => {
      const { code, out } = await runCommand(run, args, { DATABASE_URL: ctx.databaseUrl })
      assert.strictEqual(code, 0)
      return out
    }
    assert.match(
      await show(),
      /Receiver Inc\. +receiver\.example +bounces\.mta\.sender\.example +sts +5326 +3 +3 certificate-expired at mx1\./,
    )
    assert.match(await show(), /Receiver Inc\. +nobody /)
    assert.strictEqual((JSON.parse(await show('--failing', '--json')) as Json[]).length, 1)
    await ctx.db.query(
      `UPDATE received_tls_reports SET id = '01890000-0000-7000-8000-000000000001' WHERE report_id = 'a'`,
    )
    await createHousekeepingRound(ctx)()
    assert.deepEqual(await readReports(), ['b mail null 0'])
  })
})
