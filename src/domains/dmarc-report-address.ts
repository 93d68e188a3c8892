/**
 * Where receivers send the DMARC reports of a domain, `rua` (RFC 7489 6.2), and whether they may: the domain of the
 * address must agree to reports about another organisation (7.1). Only queries DNS.
 */
import { getDomain } from 'tldts'
import type { CodedText } from '#src/platform/coded-text.ts'
import type { DomainDns } from './domain-dns.ts'
import { recommendationText } from './record-texts.ts'
import type { ServiceHosts } from './records.ts'

const MAX_ADDRESSES = 10

/** The addresses of `rua`, in lower case, without the size limits. */
function reportAddresses(tags: ReadonlyMap<string, string>): string[] {
  return (tags.get('rua') ?? '')
    .split(',')
    .slice(0, MAX_ADDRESSES)
    .map((uri) => /^\s*mailto:([^!?]+)/i.exec(uri)?.[1]?.trim().toLowerCase() ?? '')
    .filter((address) => address !== '')
}

/** The name at which the domain of the report address agrees to reports about `domain`. */
export function reportAuthorizationName(domain: string, reportDomain: string): string {
  return `${domain}._report._dmarc.${reportDomain}`
}

/** `organization`: no record is needed, since both names belong to one organisation. */
export type ReportAuthorization = 'organization' | 'published' | 'missing' | 'unknown'

export async function findReportAuthorization(
  dns: DomainDns,
  domain: string,
  reportDomain: string,
): Promise<ReportAuthorization> {
  if ((getDomain(domain) ?? domain) === (getDomain(reportDomain) ?? reportDomain)) return 'organization'
  const answer = await dns.txt(reportAuthorizationName(domain, reportDomain))
  if (answer.kind === 'failed') return 'unknown'
  return answer.records.some((text) => /^v\s*=\s*DMARC1\s*(?:;|$)/.test(text)) ? 'published' : 'missing'
}

interface ReportedDomain {
  /** Of its DMARC record. */
  readonly tags: ReadonlyMap<string, string>
  /** The domain that has the record. */
  readonly domain: string
  readonly service: ServiceHosts
}

/** What the owner of the record should change so that its reports arrive here; undefined: nothing. */
export async function adviseReports(dns: DomainDns, reported: ReportedDomain): Promise<CodedText | undefined> {
  const { tags, domain, service } = reported
  const { dmarcReports, bounceDomain } = service
  const addresses = reportAddresses(tags)
  const address = dmarcReports
  if (addresses.length === 0) return recommendationText('dmarc_reports_nowhere', { address, domain })
  if (!addresses.includes(address)) {
    const found = addresses.join(', ').slice(0, 150)
    return recommendationText('dmarc_reports_elsewhere', { address, domain, found })
  }
  const authorization = await findReportAuthorization(dns, domain, bounceDomain)
  if (authorization !== 'missing') return undefined
  return recommendationText('dmarc_reports_not_agreed', { record: reportAuthorizationName(domain, bounceDomain) })
}
