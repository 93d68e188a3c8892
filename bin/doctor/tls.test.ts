import { assert } from 'chai'
import { loadConfig } from '#config/load.ts'
import { startDns, type TestDns, type Zone } from '#test/support/dns.ts'
import type { DoctorCheck, DoctorFinding } from '#src/doctor/check.ts'
import { DNSSEC, TLS_REPORTS } from './tls.ts'

const NAME = '_smtp._tls.bounces.mta.sender.example'

describe('doctor: transport security', () => {
  async function runCheck(check: DoctorCheck, zone: Zone, env: Record<string, string> = {}): Promise<DoctorFinding> {
    const dns: TestDns = await startDns(zone)
    try {
      const ours = {
        MAILSTEAD_HOSTNAME: 'mta.sender.example',
        PUBLIC_URL: 'https://api.sender.example',
        DNS_SERVERS: dns.server,
      }
      const config = loadConfig({ ...ours, ...env })
      return await check.run({ config, db: null, databaseError: '', redisUrl: null })
    } finally {
      await dns.stop()
    }
  }

  const RECORDS: readonly (readonly [what: string, zone: Zone, status: DoctorFinding['status'], says: RegExp])[] = [
    [
      'requested by mail',
      { [NAME]: { TXT: ['v=TLSRPTv1; rua=mailto:tls-reports@bounces.mta.sender.example'] } },
      'ok',
      /requests TLS reports/,
    ],
    [
      'requested by HTTPS',
      { [NAME]: { TXT: ['v=TLSRPTv1; rua=https://api.sender.example/api/v1/tls-reports'] } },
      'ok',
      /requests TLS reports/,
    ],
    [
      'sent elsewhere',
      { [NAME]: { TXT: ['v=TLSRPTv1; rua=mailto:x@other.example'] } },
      'warning',
      /publish _smtp\._tls\.bounces\.mta\.sender\.example TXT "v=TLSRPTv1; rua=mailto:tls-reports@bounces/,
    ],
    ['not requested', {}, 'warning', /no TLSRPT record/],
    ['DNS fails', { [NAME]: { fault: 'servfail' } }, 'skipped', /does not answer for/],
  ]
  for (const [what, zone, status, says] of RECORDS) {
    it(`TLS reports: ${what}`, async () => {
      const finding = await runCheck(TLS_REPORTS, zone)
      assert.strictEqual(finding.status, status)
      assert.match(`${finding.detail} ${finding.todo}`, says)
    })
  }

  const SIGNED = { A: ['192.0.2.1'], isSecure: true }
  const RESOLVERS: readonly (readonly [what: string, zone: Zone, status: DoctorFinding['status'], says: RegExp])[] = [
    ['validates', { 'ietf.org': SIGNED, 'dnssec-failed.org': { fault: 'servfail' } }, 'ok', /validates signatures/],
    [
      'does not validate',
      { 'ietf.org': { A: ['192.0.2.1'] }, 'dnssec-failed.org': { A: ['192.0.2.1'] } },
      'failed',
      /DANE finds no records.*DNSSEC_RESOLVER=no/,
    ],
    ['vouches for all', { 'ietf.org': SIGNED, 'dnssec-failed.org': SIGNED }, 'failed', /whose signature is bogus/],
    ['fails', { '*': { fault: 'servfail' } }, 'warning', /SERVFAIL.*waits/],
  ]
  for (const [what, zone, status, says] of RESOLVERS) {
    it(`the resolver ${what}`, async () => {
      const finding = await runCheck(DNSSEC, zone, { DNSSEC_RESOLVER: 'yes' })
      assert.strictEqual(finding.status, status)
      assert.match(`${finding.detail} ${finding.todo}`, says)
    })
  }
  it('the resolver is not trusted: the check is skipped', async () => {
    assert.strictEqual((await runCheck(DNSSEC, {})).status, 'skipped')
  })
})
