/**
 * Parses a DMARC aggregate report (RFC 7489 7.2 and appendix C, RFC 9990): who reports, the period, the published
 * policy, and the records. Reporters deviate from the schema, so unknown elements, case, order and missing optional
 * fields are accepted; a record without a valid address, count or domain is skipped and counted. Equal records are
 * added up. Everything is limited in number and length. Pure.
 */
import { isIP } from 'node:net'
import { childOf, readXml, textOf, type XmlElement, XmlProblem } from './report-xml.ts'

export interface AggregateReport {
  readonly organization: string
  /** The address of the reporter; empty if the report has none. */
  readonly email: string
  readonly reportId: string
  readonly beginsAt: Date
  readonly endsAt: Date
  readonly policy: PublishedPolicy
  readonly records: readonly ReportRecord[]
  /** Records that are not valid. */
  readonly skipped: number
}

export interface PublishedPolicy {
  /** Lower case. */
  readonly domain: string
  readonly p: DmarcPolicy
  readonly sp: DmarcPolicy | null
  readonly pct: number
}

export const DMARC_POLICIES = ['none', 'quarantine', 'reject'] as const
export type DmarcPolicy = (typeof DMARC_POLICIES)[number]

/** Messages from one source that got the same result. */
export interface ReportRecord {
  readonly address: string
  /** Lower case. */
  readonly headerFrom: string
  readonly messages: number
  readonly disposition: DmarcPolicy
  /** DKIM, or SPF, passes for a domain that is aligned with that of From. */
  readonly isDkimAligned: boolean
  readonly isSpfAligned: boolean
  /** Why the receiver did not apply the policy, such as `forwarded`; null: no reason. */
  readonly override: string | null
  /** A domain whose DKIM signature, or SPF, passes, aligned or not; null: none. */
  readonly dkimDomain: string | null
  readonly spfDomain: string | null
}

export type ParsedAggregateReport =
  | { readonly ok: true; readonly report: AggregateReport }
  | { readonly ok: false; readonly why: string }

const MAX_RECORDS = 30_000
/** Of different sources and results. */
const MAX_ROWS = 10_000
const MAX_NAME = 255
const MAX_COUNT = 1_000_000_000_000
const MAX_DAYS = 32

/** `xml` as it came. */
export function parseAggregateReport(xml: string): ParsedAggregateReport {
  const parts = new Map<string, XmlElement>()
  const rows = new Map<string, ReportRecord>()
  let [records, skipped] = [0, 0]
  try {
    readXml(xml, 'feedback', (child) => {
      if (child.name !== 'record') {
        if (!parts.has(child.name)) parts.set(child.name, child)
        return
      }
      if (++records > MAX_RECORDS) throw new XmlProblem(`it has more than ${MAX_RECORDS} records`)
      const record = readRecord(child)
      if (record === null) skipped++
      else addRecord(rows, record)
    })
    if (records > 0 && skipped === records) throw new XmlProblem('none of its records is valid')
    const report = { ...readMetadata(parts), policy: readPolicy(parts.get('policy_published')), skipped }
    return { ok: true, report: { ...report, records: [...rows.values()] } }
  } catch (error) {
    if (error instanceof XmlProblem) return { ok: false, why: error.message }
    throw error
  }
}

type Metadata = Pick<AggregateReport, 'organization' | 'email' | 'reportId' | 'beginsAt' | 'endsAt'>

function readMetadata(parts: ReadonlyMap<string, XmlElement>): Metadata {
  const metadata = parts.get('report_metadata')
  const organization = textOf(metadata, 'org_name').slice(0, MAX_NAME)
  const reportId = textOf(metadata, 'report_id').slice(0, MAX_NAME)
  if (organization === '' || reportId === '') throw new XmlProblem('it has no org_name or no report_id')
  const range = childOf(metadata, 'date_range')
  const [begin, end] = [secondsOf(textOf(range, 'begin')), secondsOf(textOf(range, 'end'))]
  if (begin === null || end === null || end < begin || end - begin > MAX_DAYS * 86_400)
    throw new XmlProblem('its date_range is not valid')
  return {
    organization,
    reportId,
    email: textOf(metadata, 'email').slice(0, MAX_NAME),
    beginsAt: new Date(begin * 1000),
    endsAt: new Date(end * 1000),
  }
}

function secondsOf(text: string): number | null {
  return /^\d{9,10}$/.test(text) ? Number(text) : null
}

function readPolicy(published: XmlElement | undefined): PublishedPolicy {
  const domain = readDomain(textOf(published, 'domain'))
  if (domain === null) throw new XmlProblem('its policy_published has no domain')
  const pct = textOf(published, 'pct')
  const sp = textOf(published, 'sp')
  return {
    domain,
    p: policyOf(textOf(published, 'p')),
    sp: sp === '' ? null : policyOf(sp),
    pct: /^\d{1,3}$/.test(pct) ? Math.min(100, Number(pct)) : 100,
  }
}

function readRecord(record: XmlElement): ReportRecord | null {
  const row = childOf(record, 'row')
  const evaluated = childOf(row, 'policy_evaluated')
  const results = childOf(record, 'auth_results')
  const address = textOf(row, 'source_ip').toLowerCase()
  const messages = countOf(textOf(row, 'count'))
  const headerFrom = readDomain(textOf(childOf(record, 'identifiers'), 'header_from'))
  if (isIP(address) === 0 || address.includes('%') || messages === null || headerFrom === null) return null
  return {
    address,
    headerFrom,
    messages,
    disposition: policyOf(textOf(evaluated, 'disposition')),
    isDkimAligned: isPass(textOf(evaluated, 'dkim')),
    isSpfAligned: isPass(textOf(evaluated, 'spf')),
    override: readOverride(evaluated),
    dkimDomain: passingDomain(results, 'dkim'),
    spfDomain: passingDomain(results, 'spf'),
  }
}

/** Microsoft writes the name of a policy with a capital; RFC 9990 adds `pass`. Anything unknown did nothing. */
function policyOf(text: string): DmarcPolicy {
  const name = text.toLowerCase()
  return DMARC_POLICIES.find((policy) => policy === name) ?? 'none'
}

function isPass(text: string): boolean {
  return text.toLowerCase() === 'pass'
}

function countOf(text: string): number | null {
  const count = /^\d{1,13}$/.test(text) ? Number(text) : 0
  return count === 0 ? null : Math.min(MAX_COUNT, count)
}

/** RFC 7489 has the element `reason`; RFC 9990 keeps it. */
function readOverride(evaluated: XmlElement | undefined): string | null {
  const types = (evaluated?.children ?? [])
    .filter(({ name }) => name === 'reason')
    .map((reason) => textOf(reason, 'type').toLowerCase().replaceAll('-', '_'))
  return types.find((type) => OVERRIDES.has(type)) ?? (types.length > 0 ? 'other' : null)
}

/** RFC 7489 appendix C, and `policy_test_mode` of RFC 9990. */
const OVERRIDES: ReadonlySet<string> = new Set([
  'forwarded',
  'mailing_list',
  'trusted_forwarder',
  'local_policy',
  'sampled_out',
  'policy_test_mode',
])

function passingDomain(results: XmlElement | undefined, method: 'dkim' | 'spf'): string | null {
  const passing = results?.children.find((one) => one.name === method && isPass(textOf(one, 'result')))
  return passing === undefined ? null : readDomain(textOf(passing, 'domain'))
}

/** A domain in lower case, without the final dot; null if the text is none. Some reporters write an address. */
function readDomain(text: string): string | null {
  const name = text
    .slice(text.lastIndexOf('@') + 1)
    .toLowerCase()
    .replace(/^<|>$|\.$/g, '')
  return name.length <= MAX_NAME && /^[^\s.<>"'/\\]+(?:\.[^\s.<>"'/\\]+)+$/.test(name) ? name : null
}

function addRecord(rows: Map<string, ReportRecord>, record: ReportRecord): void {
  const { messages, ...what } = record
  const key = JSON.stringify(what)
  const before = rows.get(key)?.messages ?? 0
  if (before === 0 && rows.size === MAX_ROWS) throw new XmlProblem(`it has more than ${MAX_ROWS} different records`)
  rows.set(key, { ...record, messages: Math.min(MAX_COUNT, before + messages) })
}
