/**
 * Checks each DNS record of a domain and describes what is missing or wrong, and how to fix it. Each kind of record has
 * one inspector in the table. A missing record is then searched where people often put it by mistake. Only queries DNS;
 * changes nothing. The messages contain text from the zone, so they are sanitized before they are returned.
 */
import { getDomain } from 'tldts'
import type { CodedText, Translation } from '#src/platform/coded-text.ts'
import { findDkimProblem } from './dkim-record.ts'
import { bimiName } from './bimi-record.ts'
import { checkBimi, summarizeBimi, type BimiCheckDeps, type BimiFinding } from './bimi-check.ts'
import { checkDmarcRecord, readDmarcRecord } from './dmarc-record.ts'
import { adviseReports } from './dmarc-report-address.ts'
import type { DomainDns } from './domain-dns.ts'
import {
  type RecordFinding,
  type RecordFindingStatus,
  missing,
  ok,
  sanitizeText,
  sanitizeTranslation,
  unknown,
  wrong,
} from './record-finding.ts'
import { recordText } from './record-texts.ts'
import {
  dkimName,
  type DnsRecord,
  domainRecords,
  type DomainWithKeys,
  type ServiceHosts,
  type RecordPurpose,
} from './records.ts'
import { inspectSpf } from './spf-evaluation.ts'

export interface RecordCheck {
  readonly purpose: RecordPurpose
  readonly type: DnsRecord['type']
  readonly name: string
  readonly isRequired: boolean
  readonly status: RecordFindingStatus
  /** A sentence that starts with the name. */
  readonly message: string
  /** Of the message without the name; absent: it has no code, or an earlier version stored it. */
  readonly translation?: Translation
  /** Of a record that is right: what would make it better. An earlier version stored the sentence only. */
  readonly advice?: CodedText | string
  /** Of BIMI: what was checked. */
  readonly findings?: readonly BimiFinding[]
}

/** The expected record, the name to query, and what the records of the domain refer to. */
interface ExpectedRecord extends InspectedDomain {
  readonly record: DnsRecord
  readonly name: string
}

interface InspectedDomain {
  readonly owner: DomainWithKeys
  /** Our host names. */
  readonly service: ServiceHosts
}

type Inspector = (dns: DomainDns, expected: ExpectedRecord) => Promise<RecordFinding>

/** Inspectors by purpose and type. */
const INSPECTORS: Readonly<Record<string, Inspector>> = {
  'dkim TXT': (dns, { record, name }) => inspectDkim(dns, name, record.value),
  'dkim CNAME': inspectDkimAlias,
  'spf TXT': (dns, { name, service }) => inspectSpf(dns, name, spfTargetOf(service)),
  'dmarc TXT': inspectDmarc,
  'mail_from MX': inspectMx,
  'mail_from TXT': (dns, { name, service }) => inspectSpf(dns, name, spfTargetOf(service)),
  'tracking CNAME': inspectCname,
}

/** Checks every record of the domain; returns the results in the same order, and BIMI, which may have no record. */
export function inspectDomain(
  deps: BimiCheckDeps,
  owner: DomainWithKeys,
  service: ServiceHosts,
): Promise<RecordCheck[]> {
  const records = domainRecords(owner, service).filter(({ purpose }) => purpose !== 'bimi')
  return Promise.all([
    ...records.map(async (record): Promise<RecordCheck> => {
      const { purpose, type, name, isRequired } = record
      const finding = await inspectRecord(deps.dns, record, { owner, service })
      return { purpose, type, name, isRequired, ...sanitizeFinding(name, finding) }
    }),
    inspectBimi(deps, owner),
  ])
}

function sanitizeFinding(name: string, { message, translation, advice, status }: RecordFinding): RecordFinding {
  return {
    status,
    message: sanitizeText(`${name}: ${message}`),
    ...(translation === undefined ? {} : { translation: sanitizeTranslation(translation) }),
    ...(advice === undefined ? {} : { advice: { ...sanitizeTranslation(advice), text: sanitizeText(advice.text) } }),
  }
}

/** False: the domain does not use BIMI, which is no fault. */
export function isUsed({ purpose, status, findings = [] }: RecordCheck): boolean {
  return purpose !== 'bimi' || findings.length > 2 || status === 'ok' || status === 'wrong'
}

async function inspectBimi(deps: BimiCheckDeps, { domain, bimi }: DomainWithKeys): Promise<RecordCheck> {
  const findings = await checkBimi(deps, domain, bimi)
  const { status, message } = summarizeBimi(findings)
  const name = bimiName(domain)
  const text = sanitizeText(`${name}: ${message}`)
  return { purpose: 'bimi', type: 'TXT', name, isRequired: false, status, message: text, findings }
}

async function inspectRecord(dns: DomainDns, record: DnsRecord, inspected: InspectedDomain): Promise<RecordFinding> {
  const { domain } = inspected.owner
  const inspect = INSPECTORS[`${record.purpose} ${record.type}`]
  if (inspect === undefined) throw new Error(`no inspector for ${record.purpose} ${record.type}`)
  const { name } = record
  const finding = await inspect(dns, { record, name, ...inspected })
  if (finding.status === 'ok' || finding.status === 'unknown') return finding
  const doubledName = `${name}.${domain}`
  if (finding.status === 'missing' && (await inspect(dns, { record, name: doubledName, ...inspected })).status === 'ok')
    return missing(recordText('record_elsewhere', { found: doubledName, short: shortOf(name, domain) }))
  const alias = record.type === 'CNAME' ? null : await dns.cname(name)
  const [target] = alias?.kind === 'answered' ? alias.records : []
  if (target === undefined) return finding
  return wrong(recordText('hidden_by_cname', { target }))
}

/** The name as entered at a provider that appends the domain. */
function shortOf(name: string, domain: string): string {
  return name === domain ? '@' : name.slice(0, -domain.length - 1)
}

function spfTargetOf({ bounceDomain, serverName }: ServiceHosts): { include: string; server: string } {
  return { include: bounceDomain, server: serverName }
}

async function inspectDkim(dns: DomainDns, name: string, value: string): Promise<RecordFinding> {
  const answer = await dns.txt(name)
  if (answer.kind === 'failed') return unknown(answer.text)
  const problem = findDkimProblem(answer.records, value)
  if (problem === null) return ok(recordText('dkim_published'))
  return answer.records.length > 0 ? wrong(problem) : missing(problem)
}

/**
 * A CNAME into the operator's zone. What is missing in that zone never counts against the owner of the domain, who has
 * done his part: the finding is then `unknown`.
 */
async function inspectDkimAlias(dns: DomainDns, { record, name, owner }: ExpectedRecord): Promise<RecordFinding> {
  const key = owner.keys.find(
    ({ selector, state }) => state !== 'revoked' && dkimName(selector, owner.domain) === record.name,
  )
  const [alias, published] = await Promise.all([
    inspectAlias(dns, record, name),
    key === undefined ? null : inspectDkim(dns, name, key.dnsValue),
  ])
  if (published === null || published.status === 'ok' || alias.status !== 'ok') {
    return published?.status === 'ok' ? published : alias
  }
  const problem = published.status === 'unknown' ? published.message : `${record.value}: ${published.message}`
  return unknown(recordText('dkim_not_published_by_operator', { problem }))
}

async function inspectAlias(dns: DomainDns, record: DnsRecord, name: string): Promise<RecordFinding> {
  const answer = await dns.cname(name)
  if (answer.kind === 'failed') return unknown(answer.text)
  const [target] = answer.records
  if (target === record.value) return ok(recordText('cname_published'))
  return target === undefined
    ? missing(recordText('cname_missing'))
    : wrong(recordText('cname_elsewhere', { found: target, expected: record.value }))
}

async function inspectDmarc(dns: DomainDns, expected: ExpectedRecord): Promise<RecordFinding> {
  const { name, owner, service } = expected
  const answer = await dns.txt(name)
  if (answer.kind === 'failed') return unknown(answer.text)
  const finding = checkDmarcRecord(answer.records)
  const tags = readDmarcRecord(answer.records)
  if (tags !== null) {
    const advice = await adviseReports(dns, { tags, domain: owner.domain, service })
    return advice === undefined ? finding : { ...finding, advice }
  }
  const parent = getDomain(name.slice('_dmarc.'.length))
  if (finding.status !== 'missing' || parent === null || name === `_dmarc.${parent}`) return finding
  // RFC 7489 6.6.3: without a record of its own, a subdomain has the policy of the organisation
  const above = await dns.txt(`_dmarc.${parent}`)
  const inherited = above.kind === 'answered' ? readDmarcRecord(above.records) : null
  if (inherited === null) return finding
  const advice = await adviseReports(dns, { tags: inherited, domain: parent, service })
  return ok(recordText('dmarc_inherited', { domain: parent }), advice)
}

async function inspectMx(dns: DomainDns, { record, name }: ExpectedRecord): Promise<RecordFinding> {
  const answer = await dns.mx(name)
  if (answer.kind === 'failed') return unknown(answer.text)
  if (answer.records.length === 0) return missing(recordText('mx_missing'))
  const others = answer.records.map(({ exchange }) => exchange).filter((exchange) => exchange !== record.value)
  if (others.length === 0) return ok(recordText('mx_published'))
  return wrong(recordText('mx_elsewhere', { found: others.join(', ').slice(0, 200), expected: record.value }))
}

async function inspectCname(dns: DomainDns, { record, name }: ExpectedRecord): Promise<RecordFinding> {
  const alias = await inspectAlias(dns, record, name)
  if (alias.status !== 'missing') return alias
  const addresses = await dns.addresses(name)
  const isHost = addresses.kind === 'answered' && addresses.records.length > 0
  if (!isHost) return alias
  return wrong(recordText('cname_is_address', { expected: record.value }))
}
