/**
 * TLS of outgoing mail, seen from outside: receivers with certificates of a trusted authority, an MTA-STS policy host,
 * and a validating resolver.
 */
import { assert } from 'chai'
import { brokenTlsKey } from '#src/queue/keys.ts'
import { sql } from '#src/stores/sql.ts'
import { listOf, OPERATOR_TOKEN, textOf } from '#test/support/api.ts'
import { ENFORCE } from '#test/support/policy-host.ts'
import { BAD_CERTIFICATES, ofKey, REFUSED, setUpTls, tlsOf } from './transport-security.test-data.ts'

const TESTING = (mx: string): string => ENFORCE(mx).replace('enforce', 'testing')

describe('transport security', () => {
  const scene = setUpTls()
  const { valid, letter, deliver, waits, sign } = scene

  it('a dry run waits for a policy that is being fetched, and says how long it took', async () => {
    await scene.testbed.addReceiver('slowpolicy.example', { certificate: await valid('slowpolicy.example') })
    scene.policies.publish(scene.testbed.dns.zone, 'slowpolicy.example', (_request, response) => {
      setTimeout(
        () => response.writeHead(200, { 'content-type': 'text/plain' }).end(ENFORCE('mx1.slowpolicy.example')),
        2500,
      )
    })
    const { body } = await scene.testbed.system.call('POST', '/admin/dry-run', {
      key: OPERATOR_TOKEN,
      body: { from: `shop@${scene.testbed.system.domain}`, to: 'ann@slowpolicy.example' },
    })
    const step = listOf(body['data']?.['steps']).find((one) => (one['step'] as unknown) === 'TLS policy')
    assert.match(textOf(step?.['says']), /MTA-STS enforce, known after \d+ ms/, JSON.stringify(body))
    assert.strictEqual(step?.['status'], 'ok')
  })

  describe('opportunistic', () => {
    it('any certificate will do, and the record says which it was', async () => {
      await scene.testbed.addReceiver('any.example')
      const details = await deliver('any.example')
      assert.strictEqual(tlsOf(details), 'TLSv1.3 TLS_AES_256_GCM_SHA384, opportunistic, certificate not verified')
      assert.strictEqual(details.events.at(-1)?.data?.['tls'], tlsOf(details))
      await scene.testbed.addReceiver('good.example', { certificate: await valid('good.example') })
      assert.match(tlsOf(await deliver('good.example')) ?? '', /, opportunistic, certificate verified$/)
    })

    it('a server that knows only old TLS gets old TLS, and the next mail begins with it', async () => {
      const mx = await scene.testbed.addReceiver('old.example', { maxTls: 'TLSv1.1', messagesPerConnection: 1 })
      assert.match(tlsOf(await deliver('old.example')) ?? '', /^TLSv1\.1 /)
      assert.strictEqual(mx.connections, 2)
      assert.strictEqual(await scene.testbed.system.redis.get(brokenTlsKey('mx1.old.example')), 'reduced')
      const next = await deliver('old.example')
      assert.match(tlsOf(next) ?? '', /^TLSv1\.1 /)
      assert.strictEqual(mx.connections, 3)
      assert.match(
        next.recipients[0]?.attempts[0]?.conversation ?? '',
        /TLS of this host failed recently: trying with older TLS/,
      )
    })

    it('broken TLS is remembered: the next mail goes in plain text at once', async () => {
      const mx = await scene.testbed.addReceiver('brokentls.example', {
        handshake: 'rubbish',
        messagesPerConnection: 1,
      })
      await deliver('brokentls.example')
      assert.strictEqual(mx.connections, 3)
      await deliver('brokentls.example')
      assert.deepEqual([mx.connections, mx.messages.length], [4, 2])
    })
  })

  describe('required by the operator', () => {
    it('any certificate will do', async () => {
      await scene.testbed.addReceiver('strict.example')
      assert.match(tlsOf(await deliver('strict.example')) ?? '', /, required, certificate not verified$/)
    })
    for (const [title, domain, script, reason] of REFUSED)
      it(`${title}: it waits`, async () => waits(domain, await scene.testbed.addReceiver(domain, script), reason))
  })

  describe('MTA-STS', () => {
    const publish = (domain: string, policy = ENFORCE(`*.${domain}`)): void =>
      scene.policies.publish(scene.testbed.dns.zone, domain, policy)

    it('enforce, a valid certificate: delivered', async () => {
      await scene.testbed.addReceiver('sts.example', { certificate: await valid('sts.example') })
      publish('sts.example')
      assert.match(tlsOf(await deliver('sts.example')) ?? '', /, sts enforce, certificate verified$/)
    })

    it('enforce, the first MX is not in the policy: the next one gets it', async () => {
      const evil = await scene.testbed.addReceiver('two.example')
      await scene.testbed.addReceiver('two.example', { certificate: await valid('two.example', 2) })
      publish('two.example', ENFORCE('mx2.two.example'))
      const details = await deliver('two.example')
      assert.strictEqual(details.recipients[0]?.attempts[0]?.host, 'mx2.two.example')
      assert.strictEqual(evil.connections, 0)
    })

    it('enforce, no MX is in the policy: it waits, and no other domain of that receiver does', async () => {
      const mx = await scene.testbed.addReceiver(['astray.example', 'neighbour.example'])
      publish('astray.example', ENFORCE('mx.elsewhere.example'))
      await waits('astray.example', mx, /mx1\.astray\.example is not listed in the MTA-STS policy of astray\.example/)
      assert.strictEqual((await deliver('neighbour.example')).status, 'delivered')
    })

    for (const [title, domain, script, reason] of BAD_CERTIFICATES) {
      it(`enforce, the certificate is ${title}: it waits`, async () => {
        const mx = await scene.testbed.addReceiver(domain, await script(scene.authority))
        publish(domain)
        await waits(domain, mx, reason)
      })
    }

    it('testing, a bad certificate: delivered all the same', async () => {
      await scene.testbed.addReceiver('testing.example')
      publish('testing.example', TESTING('mx.elsewhere.example'))
      assert.match(tlsOf(await deliver('testing.example')) ?? '', /, sts testing, certificate not verified$/)
    })

    it('the policy cannot be fetched the first time: delivered as without', async () => {
      await scene.testbed.addReceiver('lost.example')
      publish('lost.example', 'no policy')
      assert.match(tlsOf(await deliver('lost.example')) ?? '', /, opportunistic, /)
    })

    it('40 domains whose policy hosts hang do not delay others, and are delivered when the hosts answer', async () => {
      const slow = Array.from({ length: 40 }, (_, i) => `slow${i}.example`)
      const mx = await scene.testbed.addReceiver(['quick.example', ...slow])
      const waiting: (() => void)[] = []
      const answer = ENFORCE('mx1.quick.example').replace('enforce', 'none')
      for (const domain of slow) {
        scene.policies.publish(scene.testbed.dns.zone, domain, (_, response) => {
          waiting.push(() => void response.writeHead(200, { 'content-type': 'text/plain' }).end(answer))
        })
      }
      const ids = await Promise.all(slow.map(letter))
      assert.strictEqual((await deliver('quick.example')).status, 'delivered')
      assert.strictEqual(mx.messages.length, 1)
      for (const id of ids) {
        for (const respond of waiting.splice(0)) respond()
        assert.strictEqual((await scene.testbed.settle(id)).recipients[0]?.tries, 1)
      }
    })

    it('mail of a domain without a policy does not make the session good for one that has', async () => {
      const mx = await scene.testbed.addReceiver(['free.example', 'bound.example'])
      publish('bound.example', ENFORCE('mx1.free.example'))
      assert.strictEqual((await deliver('free.example')).status, 'delivered')
      const details = await scene.testbed.settle(await letter('bound.example'), 'deferred')
      assert.match(details.recipients[0]?.reason ?? '', /TLS: sts enforce/)
      assert.strictEqual(mx.messages.length, 1)
    })

    it('disabled by the operator: delivered', async () => {
      await scene.testbed.addReceiver('lenient.example', { offers: { starttls: false } })
      publish('lenient.example')
      assert.strictEqual((await deliver('lenient.example')).status, 'delivered')
    })
  })

  describe('DANE', () => {
    it("the server's own key (3 1 1), with any name: delivered", async () => {
      const certificate = await scene.authority.issue(['whatever.test'], { isExpired: true })
      await scene.testbed.addReceiver('dane.example', { certificate })
      sign('dane.example', [ofKey(certificate.cert)])
      assert.match(tlsOf(await deliver('dane.example')) ?? '', /, dane, certificate verified$/)
    })
    it('its authority (2 1 1): delivered', async () => {
      await scene.testbed.addReceiver('daneta.example', { certificate: await valid('daneta.example') })
      sign('daneta.example', [ofKey(scene.authority.cert, 2)])
      assert.match(tlsOf(await deliver('daneta.example')) ?? '', /, dane, certificate verified$/)
    })
    it('another key: it waits, also with a certificate that everybody trusts', async () => {
      const mx = await scene.testbed.addReceiver('danebad.example', { certificate: await valid('danebad.example') })
      sign('danebad.example', [ofKey((await valid('danebad.example')).cert)])
      await waits('danebad.example', mx, /TLS: dane.*no TLSA record matches/)
    })
    it('STARTTLS is not offered: it waits', async () => {
      const mx = await scene.testbed.addReceiver('danestripped.example', { offers: { starttls: false } })
      sign('danestripped.example', [ofKey(scene.authority.cert)])
      await waits('danestripped.example', mx, /TLS: dane.*does not offer it/)
    })
    it('no usable record: TLS with any certificate', async () => {
      await scene.testbed.addReceiver('daneunusable.example')
      sign('daneunusable.example', [{ usage: 1, selector: 0, matchingType: 1, certificate: Buffer.alloc(32) }])
      assert.match(tlsOf(await deliver('daneunusable.example')) ?? '', /, dane, certificate not verified$/)
    })
    it('the lookup fails: it waits, and is delivered when DNS works again', async () => {
      const certificate = await valid('danefail.example')
      const mx = await scene.testbed.addReceiver('danefail.example', { certificate })
      sign('danefail.example', [ofKey(certificate.cert)])
      const at = `_${scene.testbed.system.config.smtpOutPort}._tcp.mx1.danefail.example`
      const healthy = scene.testbed.dns.zone[at] ?? {}
      scene.testbed.dns.zone[at] = { fault: 'servfail' }
      await waits('danefail.example', mx, /DANE lookup for .* failed: SERVFAIL/)
      scene.testbed.dns.zone[at] = healthy
      assert.strictEqual((await deliver('danefail.example')).status, 'delivered')
    })
    it('unsigned TLSA records are ignored', async () => {
      await scene.testbed.addReceiver('daneplain.example')
      sign('daneplain.example', [ofKey(scene.authority.cert)])
      scene.testbed.dns.zone['daneplain.example'] = { ...scene.testbed.dns.zone['daneplain.example'], isSecure: false }
      assert.match(tlsOf(await deliver('daneplain.example')) ?? '', /, opportunistic, /)
    })
  })

  describe('reports', () => {
    it('a report is signed, has no return-path, and goes also where TLS is broken', async () => {
      const { system, dns } = scene.testbed
      const mx = await scene.testbed.addReceiver('rua.example', { offers: { starttls: false } })
      scene.policies.publish(dns.zone, 'rua.example', ENFORCE('mx1.rua.example'))
      dns.zone['_smtp._tls.informed.example'] = { TXT: ['v=TLSRPTv1; rua=mailto:tls@rua.example'] }
      // in one statement: the worker adds the report of a result that has none
      await system.db.query(sql`
        WITH result AS (
          INSERT INTO tls_results (day, domain, policy_hash, policy, result, mx_host, mx_address, count)
          VALUES (
            current_date - 1, 'informed.example', '', '{"type": "no-policy-found", "lines": [], "mx": []}', 'success',
            'mx.informed.example', '192.0.2.1', 7
          )
        )
        INSERT INTO tls_reports (day, domain, due_at)
        VALUES (current_date - 1, 'informed.example', now())
      `)
      const [report] = await mx.until(1)
      assert.deepEqual([report?.from, report?.to], ['', ['tls@rua.example']])
      assert.match(
        report?.bytes.toString('latin1') ?? '',
        /^DKIM-Signature: [^]*d=sender\.example[^]*\r\nTLS-Report-Domain: informed\.example\r\n/m,
      )
    })

    it('what became of TLS is counted for domains that ask for reports', async () => {
      const { system, dns } = scene.testbed
      const mx = await scene.testbed.addReceiver('reported.example', { certificate: await valid('reported.example') })
      scene.policies.publish(dns.zone, 'reported.example', ENFORCE('mx1.reported.example'))
      dns.zone['_smtp._tls.reported.example'] = { TXT: ['v=TLSRPTv1; rua=mailto:tls@reported.example'] }
      assert.strictEqual((await deliver('reported.example')).status, 'delivered')
      const certificate = await scene.authority.issue(['mx1.reportedbad.example'], { isExpired: true })
      const bad = await scene.testbed.addReceiver('reportedbad.example', { certificate })
      scene.policies.publish(dns.zone, 'reportedbad.example', ENFORCE('mx1.reportedbad.example'))
      dns.zone['_smtp._tls.reportedbad.example'] = { TXT: ['v=TLSRPTv1; rua=mailto:tls@reportedbad.example'] }
      await waits('reportedbad.example', bad, /CERT_HAS_EXPIRED/)
      // what is counted is written every half minute, and at the end
      await system.roles.mta.stop()
      const { rows } = await system.db.query(sql`
        SELECT domain, policy ->> 'type' AS type, result, mx_host, mx_address, sending_ip, mx_helo, reason, count::int
        FROM tls_results
        WHERE domain LIKE 'reported%'
        ORDER BY domain
      `)
      const at = { mx_host: 'mx1.reported.example', mx_address: mx.host }
      await system.startMissing()
      const about = { sending_ip: '127.0.0.1', mx_helo: 'mx.test', reason: 'CERT_HAS_EXPIRED' }
      const [good, failed] = rows
      assert.deepEqual(good, {
        domain: 'reported.example',
        type: 'sts',
        result: 'success',
        ...at,
        sending_ip: '',
        mx_helo: '',
        reason: '',
        count: 1,
      })
      assert.deepInclude(failed, {
        domain: 'reportedbad.example',
        type: 'sts',
        result: 'certificate-expired',
        mx_address: bad.host,
        ...about,
      })
    })
  })
})
