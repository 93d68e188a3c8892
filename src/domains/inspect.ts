/**
 * Looks up each record of a domain and says whether it is there, and if not, what to mend: for whoever reads the answer at two in the
 * morning. Each record is judged by one inspector of the table; what is missing is then looked for where people put it by mistake.
 * Asks DNS and changes nothing. Whoever writes the zone writes into our sentences: they are tamed before they leave.
 */
import { getDomain } from 'tldts'
import { findProblem } from './dkim-record.ts'
import { judgeDmarc } from './dmarc-record.ts'
import type { DomainDns } from './dns.ts'
import { type Finding, type FindingStatus, missing, ok, tame, unknown, wrong } from './record-finding.ts'
import type { DkimKeyRow } from './key-state.ts'
import { type DnsRecord, domainRecords, type Place, type Purpose } from './records.ts'
import { inspectSpf } from './spf-walk.ts'

export interface RecordCheck {
  readonly purpose: Purpose
  readonly type: DnsRecord['type']
  readonly name: string
  readonly isRequired: boolean
  readonly status: FindingStatus
  /** A sentence that begins with the name. */
  readonly message: string
}

/** The record, the name to look at, and our side of it. */
interface Wanted {
  readonly record: DnsRecord
  readonly name: string
  readonly place: Place
}

type Inspector = (dns: DomainDns, wanted: Wanted) => Promise<Finding>

/** By what the record is for and its type. */
const INSPECTORS: Readonly<Record<string, Inspector>> = {
  'dkim TXT': inspectDkim,
  'spf TXT': (dns, { name, place }) => inspectSpf(dns, name, targetOf(place)),
  'dmarc TXT': inspectDmarc,
  'mail_from MX': inspectMx,
  'mail_from TXT': (dns, { name, place }) => inspectSpf(dns, name, targetOf(place)),
  'tracking CNAME': inspectCname,
}

/** One check for each record of the domain, in the same order. */
export function inspectDomain(
  dns: DomainDns,
  domain: { readonly domain: string; readonly keys: readonly DkimKeyRow[] },
  place: Place,
): Promise<RecordCheck[]> {
  return Promise.all(
    domainRecords(domain, place).map(async (record): Promise<RecordCheck> => {
      const { purpose, type, name, isRequired } = record
      const { status, message } = await inspectRecord(dns, record, domain.domain, place)
      return { purpose, type, name, isRequired, status, message: tame(`${name}: ${message}`) }
    }),
  )
}

async function inspectRecord(dns: DomainDns, record: DnsRecord, domain: string, place: Place): Promise<Finding> {
  const inspect = INSPECTORS[`${record.purpose} ${record.type}`]
  if (inspect === undefined) throw new Error(`no inspector for ${record.purpose} ${record.type}`)
  const { name } = record
  const finding = await inspect(dns, { record, name, place })
  if (finding.status === 'ok' || finding.status === 'unknown') return finding
  const twice = `${name}.${domain}`
  if (finding.status === 'missing' && (await inspect(dns, { record, name: twice, place })).status === 'ok')
    return missing(
      `the record is at ${twice}: enter its name as ${shortOf(name, domain)}, the domain is appended by itself`,
    )
  const alias = record.type === 'CNAME' ? null : await dns.cname(name)
  const [target] = alias?.kind === 'answered' ? alias.records : []
  if (target === undefined) return finding
  return wrong(`a CNAME to ${target} is in the way: where a CNAME is, no other record counts; remove it`)
}

/** The name as it is entered where the domain is appended. */
function shortOf(name: string, domain: string): string {
  return name === domain ? '@' : name.slice(0, -domain.length - 1)
}

function targetOf({ bounceDomain, serverName }: Place): { include: string; server: string } {
  return { include: bounceDomain, server: serverName }
}

async function inspectDkim(dns: DomainDns, { record, name }: Wanted): Promise<Finding> {
  const answer = await dns.txt(name)
  if (answer.kind === 'failed') return unknown(answer.reason)
  const problem = findProblem(answer.records, record.value)
  if (problem === null) return ok('the key is there')
  return answer.records.length > 0 ? wrong(problem) : missing(problem)
}

async function inspectDmarc(dns: DomainDns, { name }: Wanted): Promise<Finding> {
  const answer = await dns.txt(name)
  if (answer.kind === 'failed') return unknown(answer.reason)
  const finding = judgeDmarc(answer.records)
  const parent = getDomain(name.slice('_dmarc.'.length))
  if (finding.status !== 'missing' || parent === null || name === `_dmarc.${parent}`) return finding
  // RFC 7489 6.6.3: without a record of its own, a subdomain has the policy of the organisation
  const above = await dns.txt(`_dmarc.${parent}`)
  return above.kind === 'answered' && judgeDmarc(above.records).status === 'ok'
    ? ok(`the DMARC policy of ${parent} counts for it`)
    : finding
}

async function inspectMx(dns: DomainDns, { record, name }: Wanted): Promise<Finding> {
  const answer = await dns.mx(name)
  if (answer.kind === 'failed') return unknown(answer.reason)
  if (answer.records.length === 0) return missing('there is no MX record')
  const others = answer.records.map(({ exchange }) => exchange).filter((exchange) => exchange !== record.value)
  if (others.length === 0) return ok('the MX record is there')
  return wrong(
    `the MX is ${others.join(', ').slice(0, 200)}: it must be ${record.value} and no other, or bounces go astray`,
  )
}

async function inspectCname(dns: DomainDns, { record, name }: Wanted): Promise<Finding> {
  const answer = await dns.cname(name)
  if (answer.kind === 'failed') return unknown(answer.reason)
  const [target] = answer.records
  if (target === record.value) return ok('the CNAME record is there')
  if (target !== undefined) return wrong(`the CNAME leads to ${target}: it must lead to ${record.value}`)
  const addresses = await dns.addresses(name)
  const isHost = addresses.kind === 'answered' && addresses.records.length > 0
  if (!isHost) return missing('there is no CNAME record')
  return wrong(`there is an address and no CNAME: it must be a CNAME to ${record.value}, not proxied`)
}
