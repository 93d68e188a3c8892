/**
 * TLS reports from the counted sessions to the delivered report, on real stores, with a real DNS server and a real
 * HTTPS host.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { assert } from 'chai'
import { simpleParser } from 'mailparser'
import { createResolver } from '#mta/route/resolve.ts'
import {
  createTlsResults,
  failureFactsOf,
  resultOfFailure,
  resultOfSession,
  type TlsResults,
} from '#mta/security/tls-results.ts'
import { createDomainDns } from '#src/domains/domain-dns.ts'
import { createAcceptor } from '#src/messages/accept.ts'
import { createHttpClient } from '#src/net/http-client.ts'
import { createAuthority } from '#test/support/certificate.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { startDns, type TestDns } from '#test/support/dns.ts'
import { createSender } from '#test/support/sender.ts'
import { sendTlsReports, type TlsReporting } from '#src/tls-reports/send.ts'
import { FACTS, POLICY, policyOf, SESSIONS } from './tls-reports.test-data.ts'

const DAY_MS = 86_400_000
const FROM = 'tls@sender.example'
const ADDRESS = '192.0.2.1'

describe('TLS reports', () => {
  let ctx: TestContext
  let dns: TestDns
  let results: TlsResults
  let reporting: TlsReporting
  const posts: { type: string | undefined; body: Buffer }[] = []
  let status = 200
  const undo: (() => unknown)[] = []

  before(async () => {
    const folder = mkdtempSync('/tmp/mailstead-test-tls-reports-')
    const authority = await createAuthority()
    writeFileSync(join(folder, 'ca.pem'), authority.cert)
    dns = await startDns({ 'reports.example': { A: ['127.0.0.1'] } })
    ctx = await createContext({
      DNS_SERVERS: dns.server,
      EXTRA_CA_FILE: join(folder, 'ca.pem'),
      ALLOW_PRIVATE_TARGETS: '127.0.0.0/8',
      MAILSTEAD_HOSTNAME: 'mta.sender.example',
      RETRY_SCALE: '0.000001',
    })
    await createSender({ db: ctx.db, encryption: ctx.encryption, keyPrefix: 'ms' }, { domain: 'sender.example' })
    const resolver = createResolver({ config: ctx.config, clock: ctx.clock })
    results = createTlsResults(ctx, (name) => resolver.txt(name))
    const server = createServer(await authority.issue(['reports.example']), (request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        posts.push({ type: request.headers['content-type'], body: Buffer.concat(chunks) })
        response.writeHead(status).end()
      })
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const outgoing = createHttpClient(ctx.config)
    reporting = { ctx, acceptor: createAcceptor(ctx), http: outgoing, dns: createDomainDns(ctx.config) }
    const url = `https://reports.example:${(server.address() as AddressInfo).port}/tls`
    dns.zone['_smtp._tls.mail.example'] = { TXT: ['v=TLSRPTv1; rua=mailto:reports@elsewhere.example'] }
    dns.zone['_smtp._tls.post.example'] = { TXT: [`v=TLSRPTv1; rua=${url}`] }
    undo.push(
      () => results.stop(),
      () => outgoing.close(),
      () => server.close(),
      () => resolver.stop(),
      () => ctx.close(),
      () => dns.stop(),
      () => rmSync(folder, { recursive: true }),
    )
  })
  after(async () => {
    for (const step of undo) await step()
  })

  const send = (): Promise<boolean> => sendTlsReports(reporting, FROM)
  const mails = async (): Promise<Buffer[]> =>
    (await ctx.db.query<{ raw: Buffer }>('SELECT raw FROM message_bodies')).rows.map(({ raw }) => raw)

  it('are counted for domains that ask for them only, also by two processes', async () => {
    const other = createTlsResults(ctx, () =>
      Promise.resolve({ kind: 'found', records: ['v=TLSRPTv1; rua=mailto:a@b.example'] }),
    )
    const sts = policyOf('mail.example', POLICY)
    for (let i = 0; i < 3; i++)
      results.record({ policy: sts, host: 'mx.in.example', address: ADDRESS, result: 'success' })
    results.record({
      policy: sts,
      host: 'mx.in.example',
      address: ADDRESS,
      result: 'certificate-expired',
      about: { sendingIp: '192.0.2.9', helo: 'mx.in.example', reason: 'CERT_HAS_EXPIRED' },
    })
    results.record({
      policy: policyOf('silent.example'),
      host: 'mx.silent.example',
      address: ADDRESS,
      result: 'success',
    })
    results.record({ policy: policyOf(''), host: 'mx.in.example', address: ADDRESS, result: 'success' })
    results.record({
      policy: policyOf('post.example'),
      host: 'mx.post.example',
      address: ADDRESS,
      result: 'starttls-not-supported',
    })
    other.record({ policy: sts, host: 'mx.in.example', address: ADDRESS, result: 'success' })
    await Promise.all([results.flush(), other.stop()])
    const { rows } = await ctx.db.query('SELECT domain, result, count::int FROM tls_results ORDER BY domain, result')
    assert.deepEqual(rows, [
      { domain: 'mail.example', result: 'certificate-expired', count: 1 },
      { domain: 'mail.example', result: 'success', count: 4 },
      { domain: 'post.example', result: 'starttls-not-supported', count: 1 },
    ])
  })

  it('wait for the end of the day', async () => {
    await send()
    assert.deepEqual([posts.length, (await mails()).length], [0, 0])
  })

  it('go out once, by mail and by HTTPS, however many workers there are', async () => {
    ctx.advance(DAY_MS)
    status = 503
    await send()
    assert.strictEqual(posts.length, 0, 'each has a time of its own')
    ctx.advance(60_000)
    await send()
    assert.strictEqual(posts.length, 1)
    status = 200
    ctx.advance(60_000)
    await Promise.all([send(), send()])
    ctx.advance(60_000)
    await send()
    assert.strictEqual(posts.length, 2)
    const [raw, second] = await mails()
    assert.strictEqual(second, undefined)
    const mail = await simpleParser(raw ?? assert.fail('no mail'))
    assert.match(
      mail.headerLines.find(({ key }) => key === 'content-type')?.line ?? '',
      /multipart\/report; report-type="tlsrpt"/,
    )
    assert.strictEqual(mail.headers.get('tls-report-domain'), 'mail.example')
    assert.strictEqual(mail.attachments[0]?.contentType, 'application/tlsrpt+gzip')
    const report = JSON.parse(gunzipSync(mail.attachments[0]?.content ?? Buffer.alloc(0)).toString()) as Record<
      string,
      unknown
    >
    assert.containsSubset(report, {
      'organization-name': 'mta.sender.example',
      'contact-info': FROM,
      policies: [
        {
          policy: {
            'policy-type': 'sts',
            'policy-domain': 'mail.example',
            'mx-host': ['*.in.example'],
            'policy-string': ['version: STSv1', 'mode: enforce', 'mx: *.in.example', 'max_age: 86400'],
          },
          summary: { 'total-successful-session-count': 4, 'total-failure-session-count': 1 },
          'failure-details': [
            {
              'result-type': 'certificate-expired',
              'failed-session-count': 1,
              'sending-mta-ip': '192.0.2.9',
              'receiving-mx-hostname': 'mx.in.example',
              'receiving-mx-helo': 'mx.in.example',
              'receiving-ip': ADDRESS,
              'failure-reason-code': 'CERT_HAS_EXPIRED',
            },
          ],
        },
      ],
    })
    assert.deepNestedInclude(report, {
      'policies[0].policy.policy-string': ['version: STSv1', 'mode: enforce', 'mx: *.in.example', 'max_age: 86400'],
    })
    const {
      rows: [stored],
    } = await ctx.db.query<{ submitted: object }>('SELECT submitted FROM messages')
    assert.deepEqual(stored?.submitted, { from: '', isReport: true, ignoresTls: true })
    const posted = JSON.parse(gunzipSync(posts[1]?.body ?? Buffer.alloc(0)).toString()) as Record<string, unknown>
    assert.strictEqual(posts[1]?.type, 'application/tlsrpt+gzip')
    assert.containsSubset(posted, {
      policies: [{ policy: { 'policy-type': 'no-policy-found' }, summary: { 'total-failure-session-count': 1 } }],
    })
  })

  it('that nobody takes are given up, and old counts are forgotten', async () => {
    results.record({ policy: policyOf('post.example'), host: 'mx.post.example', address: ADDRESS, result: 'success' })
    await results.flush()
    status = 500
    for (let i = 0; i < 9; i++) {
      ctx.advance(i === 0 ? DAY_MS : 600_000)
      await send()
    }
    const { rows } = await ctx.db.query('SELECT domain, state FROM tls_reports ORDER BY day, domain')
    assert.deepEqual(rows, [
      { domain: 'mail.example', state: 'sent' },
      { domain: 'post.example', state: 'sent' },
      { domain: 'post.example', state: 'given_up' },
    ])
    ctx.advance(5 * DAY_MS)
    await send()
    assert.deepEqual((await ctx.db.query('SELECT FROM tls_results')).rows.length, 0)
  })

  it('wait while nobody may send them', async () => {
    assert.strictEqual(await sendTlsReports(reporting, 'tls@foreign.example'), false)
  })

  for (const [title, policy, of, isOffered, result] of SESSIONS)
    it(`count a session: ${title}`, () => assert.strictEqual(resultOfSession(policy, of, isOffered), result))
  it('count failures by the names of the standard', () => {
    const names = [
      'starttls-not-supported',
      'certificate-host-mismatch',
      'certificate-expired',
      'certificate-not-trusted',
      'tlsa-invalid',
      'dnssec-invalid',
    ]
    assert.deepEqual(names.map(resultOfFailure), names)
    assert.deepEqual(['ECONNRESET', null].map(resultOfFailure), ['validation-failure', 'validation-failure'])
  })

  for (const [lines, failure, [helo, reason]] of FACTS)
    it(`tell of a failure: ${helo} ${reason.slice(0, 40)}`, () =>
      assert.deepEqual(failureFactsOf(lines, '192.0.2.9', failure), { sendingIp: '192.0.2.9', helo, reason }))
})
