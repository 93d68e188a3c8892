/**
 * DNS records of the return-path: bounces come back only if its domain has an MX that leads here, and receivers check
 * its SPF record. Queried at DNS_SERVERS, as others see them. A failed query is no evidence.
 */
import { getDomain } from 'tldts'
import type { Config } from '#config/load.ts'
import { checkDmarcRecord } from '#src/domains/dmarc-record.ts'
import type { DomainDns } from '#src/domains/domain-dns.ts'
import { findReportAuthorization, reportAuthorizationName } from '#src/domains/dmarc-report-address.ts'
import { inspectSpf } from '#src/domains/spf-evaluation.ts'
import { failed, type LiveFinding, ok, unknown, warning } from './finding.ts'

type BounceSettings = Pick<Config, 'bounceDomain' | 'serverName'>

export async function checkBounceMx(
  { bounceDomain, serverName }: BounceSettings,
  dns: DomainDns,
): Promise<LiveFinding> {
  const todo = `publish ${bounceDomain} MX 10 ${serverName}`
  const mx = await dns.mx(bounceDomain)
  if (mx.kind === 'failed') return unknown(`${bounceDomain}: ${mx.reason}`)
  if (mx.records.length === 0) return failed(`${bounceDomain} has no MX record: bounces do not come back`, todo)
  const hosts = mx.records.map(({ exchange }) => exchange)
  const ours = await dns.addresses(serverName)
  if (ours.kind === 'failed') return unknown(`${serverName}: ${ours.reason}`)
  if (ours.records.length === 0)
    return failed(`${serverName} has no address record`, `add an A or AAAA record for ${serverName}`)
  if (hosts.includes(serverName)) return ok(`${bounceDomain} has the MX ${serverName}`)
  const answers = await Promise.all(hosts.map((host) => dns.addresses(host)))
  const leadsHere = answers.some(
    (answer) => answer.kind === 'answered' && answer.records.some((one) => ours.records.includes(one)),
  )
  if (leadsHere) return ok(`${bounceDomain} has the MX ${hosts.join(', ')}, which leads here`)
  return warning(`the MX of ${bounceDomain} is ${hosts.join(', ')}, not ${serverName}`, `${todo}, or forward its mail`)
}

/** As receivers evaluate it, with everything that it includes. */
export async function checkBounceSpf(
  { bounceDomain, serverName }: BounceSettings,
  dns: DomainDns,
): Promise<LiveFinding> {
  const { status, message } = await inspectSpf(dns, bounceDomain, { include: bounceDomain, server: serverName })
  if (status === 'unknown') return unknown(`${bounceDomain}: ${message}`)
  if (status === 'ok') return ok(`${bounceDomain}, the return-path: ${message}`)
  return warning(
    `${bounceDomain}, the return-path: ${message}`,
    `publish ${bounceDomain} TXT "v=spf1 a:${serverName} -all"`,
  )
}

/** RFC 7489 6.6.3: the record of the name itself, else of its registered domain. */
export async function checkDmarc({ bounceDomain }: BounceSettings, dns: DomainDns): Promise<LiveFinding> {
  const registered = getDomain(bounceDomain) ?? bounceDomain
  for (const name of new Set([`_dmarc.${bounceDomain}`, `_dmarc.${registered}`])) {
    const found = await dns.txt(name)
    if (found.kind === 'failed') return unknown(`${name}: ${found.reason}`)
    const { status, message } = checkDmarcRecord(found.records)
    if (status === 'ok') return ok(`${name}: ${message}`)
    if (status === 'wrong') return warning(`${name}: ${message}`, `correct the TXT record of ${name}`)
  }
  return warning(
    `${registered} has no DMARC record: others can send as its names, and large receivers expect one`,
    `publish _dmarc.${registered} TXT "v=DMARC1; p=none", and a stricter policy later`,
  )
}

/** RFC 7489 7.1: receivers report about a customer's domain to this one only if it agrees, for all or for each. */
export async function checkReportAuthorization({ bounceDomain }: BounceSettings, dns: DomainDns): Promise<LiveFinding> {
  const all = reportAuthorizationName('*', bounceDomain)
  const found = await findReportAuthorization(dns, ANY_DOMAIN, bounceDomain)
  if (found === 'unknown') return unknown(`${all}: DNS did not answer`)
  if (found !== 'missing') return ok(`${all}: receivers may send DMARC reports about the domains of customers`)
  return warning(
    `${all} has no DMARC record: receivers send no reports about the domains of customers to ${bounceDomain}`,
    `publish ${all} TXT "v=DMARC1"`,
  )
}

/** A name that only a wildcard covers. */
const ANY_DOMAIN = 'report-check.example'
