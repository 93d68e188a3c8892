/**
 * DNS records of the return-path: bounces come back only if its domain has an MX that leads here, and receivers check
 * its SPF record. Queried at DNS_SERVERS, as others see them. A failed query is no evidence.
 */
import { getDomain } from 'tldts'
import type { Config } from '#config/load.ts'
import { checkDmarcRecord } from '#src/domains/dmarc-record.ts'
import type { DomainDns } from '#src/domains/domain-dns.ts'
import { findReportAuthorization, reportAuthorizationName } from '#src/domains/dmarc-report-address.ts'
import type { RecordFinding } from '#src/domains/record-finding.ts'
import { inspectSpf } from '#src/domains/spf-evaluation.ts'
import { type FindingText, sayAbout } from '#src/platform/finding-text.ts'
import { failed, type LiveFinding, ok, unknown, warning } from './finding.ts'
import { liveCheckText } from './live-check-texts.ts'

type BounceSettings = Pick<Config, 'bounceDomain' | 'serverName'>

export async function checkBounceMx(
  { bounceDomain, serverName }: BounceSettings,
  dns: DomainDns,
): Promise<LiveFinding> {
  const name = bounceDomain
  const todo = liveCheckText('mx_todo', { name, server: serverName })
  const mx = await dns.mx(bounceDomain)
  if (mx.kind === 'failed') return unknown(sayAbout(name, mx.text))
  if (mx.records.length === 0) return failed(liveCheckText('mx_missing', { name }), todo)
  const hosts = mx.records.map(({ exchange }) => exchange)
  const ours = await dns.addresses(serverName)
  if (ours.kind === 'failed') return unknown(sayAbout(serverName, ours.text))
  if (ours.records.length === 0)
    return failed(
      liveCheckText('no_address', { name: serverName }),
      liveCheckText('no_address_todo', { name: serverName }),
    )
  if (hosts.includes(serverName)) return ok(liveCheckText('mx', { name, hosts: serverName }))
  const answers = await Promise.all(hosts.map((host) => dns.addresses(host)))
  const leadsHere = answers.some(
    (answer) => answer.kind === 'answered' && answer.records.some((one) => ours.records.includes(one)),
  )
  const found = { name, hosts: hosts.join(', ') }
  if (leadsHere) return ok(liveCheckText('mx_elsewhere_leads_here', found))
  return warning(
    liveCheckText('mx_elsewhere', { ...found, server: serverName }),
    liveCheckText('mx_elsewhere_todo', { name, server: serverName }),
  )
}

/** As receivers evaluate it, with everything that it includes. */
export async function checkBounceSpf(
  { bounceDomain, serverName }: BounceSettings,
  dns: DomainDns,
): Promise<LiveFinding> {
  const found = await inspectSpf(dns, bounceDomain, { include: bounceDomain, server: serverName })
  if (found.status === 'unknown') return unknown(sayAbout(bounceDomain, messageOf(found)))
  const detail = sayAbout(bounceDomain, messageOf(found), ', the return-path: ')
  if (found.status === 'ok') return ok(detail)
  return warning(detail, liveCheckText('spf_todo', { name: bounceDomain, server: serverName }))
}

/** RFC 7489 6.6.3: the record of the name itself, else of its registered domain. */
export async function checkDmarc({ bounceDomain }: BounceSettings, dns: DomainDns): Promise<LiveFinding> {
  const registered = getDomain(bounceDomain) ?? bounceDomain
  for (const name of new Set([`_dmarc.${bounceDomain}`, `_dmarc.${registered}`])) {
    const found = await dns.txt(name)
    if (found.kind === 'failed') return unknown(sayAbout(name, found.text))
    const record = checkDmarcRecord(found.records)
    const detail = sayAbout(name, messageOf(record))
    if (record.status === 'ok') return ok(detail)
    if (record.status === 'wrong') return warning(detail, liveCheckText('dmarc_wrong_todo', { name }))
  }
  return warning(
    liveCheckText('dmarc_missing', { name: registered }),
    liveCheckText('dmarc_todo', { name: registered }),
  )
}

/** RFC 7489 7.1: receivers report about a customer's domain to this one only if it agrees, for all or for each. */
export async function checkReportAuthorization({ bounceDomain }: BounceSettings, dns: DomainDns): Promise<LiveFinding> {
  const name = reportAuthorizationName('*', bounceDomain)
  const found = await findReportAuthorization(dns, ANY_DOMAIN, bounceDomain)
  if (found === 'unknown') return unknown(liveCheckText('reports_unknown', { name }))
  if (found !== 'missing') return ok(liveCheckText('reports_agreed', { name }))
  return warning(
    liveCheckText('reports_missing', { name, domain: bounceDomain }),
    liveCheckText('reports_todo', { name }),
  )
}

function messageOf({ message, translation }: RecordFinding): FindingText {
  return { text: message, sentences: translation === undefined ? [] : [translation] }
}

/** A name that only a wildcard covers. */
const ANY_DOMAIN = 'report-check.example'
