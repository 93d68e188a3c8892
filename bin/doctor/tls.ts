/** Checks of transport security: whether others know where to report on TLS with us, and whether DANE can believe its resolver. */
import { Resolver } from 'node:dns/promises'
import type { Config } from '#config/load.ts'
import { parseServer } from '#mta/route/dns-exchange.ts'
import { openSecureDns } from '#mta/route/secure-dns.ts'
import { createDomainDns } from '#src/domains/domain-dns.ts'
import { isLoopback } from '#src/net/address-policy.ts'
import { TLS_REPORT_LOCAL } from '#src/tls-reports/received-queue.ts'
import { parseDestinations } from '#src/tls-reports/destinations.ts'
import { type Check, failed, type Finding, ok, skipped, warning } from './check.ts'

export const TLS_REPORTS: Check = {
  name: 'TLS reports',
  look: async ({ config }) => {
    if (config.isSandbox) return skipped('nobody sends mail to a sandbox')
    const name = `_smtp._tls.${config.bounceDomain}`
    const address = `${TLS_REPORT_LOCAL}@${config.bounceDomain}`
    const record = await createDomainDns(config).txt(name)
    if (record.kind === 'failed') return skipped(`DNS does not tell ${name}`)
    const url = `${config.publicUrl}/api/v1/tls-reports`
    const ours = parseDestinations(record.records).filter((to) =>
      to.kind === 'mail' ? to.address === address : to.url === url,
    )
    if (ours.length > 0) return ok(`others are asked for them at ${name}`)
    return warning(
      `nobody is told where to report on TLS with ${config.bounceDomain}`,
      `publish ${name} TXT "v=TLSRPTv1; rua=mailto:${address}" (docs/guides/transport-security.md)`,
    )
  },
}

/** Signed for many years, and wrongly signed on purpose for as many. */
const SIGNED = 'ietf.org'
const BROKEN = 'dnssec-failed.org'
const TODO = 'use a resolver that validates, best one on this machine, or set DNSSEC_RESOLVER=no'

export const DNSSEC: Check = {
  name: 'DNSSEC',
  withinMs: 20_000,
  look: async ({ config }) => {
    if (config.isSandbox || config.dnssecResolver === 'no') return skipped('DNSSEC_RESOLVER is no: DANE is not done')
    const servers = serversOf(config)
    const findings = await Promise.all(servers.map(examine))
    return (
      findings.find(({ status }) => status === 'failed') ??
      findings.find(({ status }) => status === 'warning') ??
      ok(`${servers.join(', ')}: what is signed is vouched for, and what is wrongly signed refused`)
    )
  },
}

function serversOf({ dnsServers }: Config): readonly string[] {
  return dnsServers ?? new Resolver().getServers()
}

async function examine(server: string): Promise<Finding> {
  const dns = openSecureDns({ servers: [server] })
  const [signed, broken] = await Promise.all([dns.owner(SIGNED), dns.owner(BROKEN)])
  if (signed.kind === 'failed') {
    return warning(
      `${server} does not tell ${SIGNED} (${signed.text})`,
      'while it is so, mail to domains with DANE waits',
    )
  }
  if (signed.isSecure !== true)
    return failed(`${server} does not vouch for ${SIGNED}, which is signed: DANE finds nothing`, TODO)
  if (broken.kind !== 'failed')
    return failed(`${server} vouches without looking: it answers for ${BROKEN}, which is wrongly signed`, TODO)
  if (isLoopback(parseServer(server).host)) return ok(server)
  return warning(
    `${server} validates, but is not on this machine: who is on the way to it can forge its word`,
    'run a validating resolver on this machine',
  )
}
