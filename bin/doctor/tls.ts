/** Checks transport security: the TLSRPT record of this server's domain, and whether the resolver validates DNSSEC. */
import { Resolver } from 'node:dns/promises'
import type { Config } from '#config/load.ts'
import { parseServer } from '#mta/route/dns-exchange.ts'
import { openDnsServers } from '#mta/route/dns-servers.ts'
import { openSecureDns } from '#mta/route/secure-dns.ts'
import { createDomainDns } from '#src/domains/domain-dns.ts'
import { isLoopback } from '#src/net/address-policy.ts'
import { TLS_REPORT_LOCAL } from '#src/tls-reports/received-queue.ts'
import { parseDestinations } from '#src/tls-reports/destinations.ts'
import { type DoctorCheck, failed, type DoctorFinding, ok, skipped, warning } from '#src/doctor/check.ts'

export const TLS_REPORTS: DoctorCheck = {
  name: 'TLS reports',
  run: async ({ config }) => {
    if (config.isSandbox) return skipped('a sandbox receives no mail from the internet')
    const name = `_smtp._tls.${config.bounceDomain}`
    const address = `${TLS_REPORT_LOCAL}@${config.bounceDomain}`
    const record = await createDomainDns(config).txt(name)
    if (record.kind === 'failed') return skipped(`DNS does not answer for ${name}`)
    const url = `${config.publicUrl}/api/v1/tls-reports`
    const ours = parseDestinations(record.records).filter((to) =>
      to.kind === 'mail' ? to.address === address : to.url === url,
    )
    if (ours.length > 0) return ok(`${name} requests TLS reports`)
    return warning(
      `no TLSRPT record for ${config.bounceDomain}: other servers cannot report TLS failures`,
      `publish ${name} TXT "v=TLSRPTv1; rua=mailto:${address}"`,
    )
  },
}

/** A domain that has been signed for years, and one with a bogus signature on purpose. */
const SIGNED_DOMAIN = 'ietf.org'
const BOGUS_DOMAIN = 'dnssec-failed.org'
const REMEDY = 'use a validating resolver, preferably on this machine, or set DNSSEC_RESOLVER=no'

export const DNSSEC: DoctorCheck = {
  name: 'DNSSEC',
  withinMs: 20_000,
  run: async ({ config }) => {
    if (config.isSandbox || config.dnssecResolver === 'no') return skipped('DNSSEC_RESOLVER is no: DANE is off')
    const servers = serversOf(config)
    const findings = await Promise.all(servers.map(checkResolver))
    return (
      findings.find(({ status }) => status === 'failed') ??
      findings.find(({ status }) => status === 'warning') ??
      ok(`${servers.join(', ')}: validates signatures and rejects bogus ones`)
    )
  },
}

function serversOf({ dnsServers }: Config): readonly string[] {
  return dnsServers ?? new Resolver().getServers()
}

async function checkResolver(server: string): Promise<DoctorFinding> {
  const dns = openSecureDns(openDnsServers([server]))
  const [signed, broken] = await Promise.all([dns.owner(SIGNED_DOMAIN), dns.owner(BOGUS_DOMAIN)])
  if (signed.kind === 'failed') {
    return warning(
      `${server} does not answer for ${SIGNED_DOMAIN} (${signed.text})`,
      'until it answers, mail to domains with DANE waits',
    )
  }
  if (signed.isSecure !== true)
    return failed(`${server} does not validate ${SIGNED_DOMAIN}, which is signed: DANE finds no records`, REMEDY)
  if (broken.kind !== 'failed')
    return failed(`${server} does not validate: it answers for ${BOGUS_DOMAIN}, whose signature is bogus`, REMEDY)
  if (isLoopback(parseServer(server).host)) return ok(server)
  return warning(
    `${server} validates, but is not on this machine: its answers can be forged on the network`,
    'run a validating resolver on this machine',
  )
}
