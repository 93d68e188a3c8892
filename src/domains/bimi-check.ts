/**
 * Checks whether receivers may show the logo of a domain (BIMI): its record, its DMARC policy, the logo, and the mark
 * certificate. Each has a finding, with what to do next. Changes nothing. Files are fetched from URLs of the owner with
 * the guarded client; texts from them and from the zone are sanitized. What does not answer is reported, never thrown.
 */
import { getDomain } from 'tldts'
import type { X509Certificate } from 'node:crypto'
import { fetchBrandFile, type FetchedFile } from '#src/bimi/brand-file.ts'
import { checkRevocation, type Revocation } from '#src/bimi/certificate-revocation.ts'
import { MAX_CERTIFICATE_BYTES, validateMarkCertificate } from '#src/bimi/mark-certificate.ts'
import { findSvgProblem, MAX_LOGO_BYTES } from '#src/bimi/svg-tiny-ps.ts'
import type { HttpClient } from '#src/net/http-client.ts'
import { BIMI_SELECTOR, bimiName, bimiRecordValue, readBimiRecord, type BimiFiles } from './bimi-record.ts'
import { readDmarcRecord } from './dmarc-record.ts'
import type { DomainDns } from './domain-dns.ts'
import { type RecordFinding, type RecordFindingStatus, sanitizeText } from './record-finding.ts'

export const BIMI_SUBJECTS = ['record', 'dmarc', 'logo', 'certificate'] as const

export interface BimiFinding {
  readonly subject: (typeof BIMI_SUBJECTS)[number]
  /** `unknown`: it could not be checked. */
  readonly status: RecordFindingStatus
  readonly message: string
  /** What to do; null: nothing. */
  readonly next: string | null
}

export interface BimiCheckDeps {
  readonly dns: DomainDns
  readonly http: HttpClient
  readonly nowMs: number
  /** For mark certificates; by default those that the BIMI group lists. */
  readonly authorities?: readonly X509Certificate[]
}

/** `wanted`: the files that the owner set; null: none. */
export async function checkBimi(
  deps: BimiCheckDeps,
  domain: string,
  wanted: BimiFiles | null,
): Promise<readonly BimiFinding[]> {
  const name = bimiName(domain)
  const [answer, dmarc] = await Promise.all([deps.dns.txt(name), checkDmarc(deps.dns, domain)])
  const published = answer.kind === 'failed' ? null : readBimiRecord(answer.records)
  const record =
    answer.kind === 'failed'
      ? finding('record', 'unknown', answer.reason, null)
      : describeRecord(name, readBimiRecord(answer.records), wanted)
  const files = published?.kind === 'record' ? published.files : wanted
  if (files === null) return [record, dmarc]
  const { logo, bytes } = await checkLogo(deps.http, files.logoUrl)
  return [record, dmarc, logo, await checkCertificate(deps, { domain, files, logo: bytes })]
}

/** The finding of the record as a whole: the first that is not right, or that the logo can be shown. */
export function summarizeBimi(findings: readonly BimiFinding[]): RecordFinding {
  const [record, ...others] = findings
  const failing =
    record === undefined || record.status !== 'ok'
      ? record
      : (others.find(({ status }) => status === 'wrong') ??
        others.find(({ status, subject }) => status !== 'ok' && subject !== 'certificate'))
  if (failing === undefined) return { status: 'ok', message: 'receivers that support BIMI may show the logo' }
  const { status, message, next } = failing
  return { status: status === 'missing' && failing !== record ? 'wrong' : status, message: sentence(message, next) }
}

function sentence(message: string, next: string | null): string {
  return next === null ? message : `${message}: ${next}`
}

function finding(
  subject: BimiFinding['subject'],
  status: RecordFindingStatus,
  message: string,
  next: string | null,
): BimiFinding {
  return { subject, status, message: sanitizeText(message), next: next === null ? null : sanitizeText(next) }
}

type Published = ReturnType<typeof readBimiRecord>

function describeRecord(name: string, published: Published, wanted: BimiFiles | null): BimiFinding {
  const proposed = wanted === null ? null : bimiRecordValue(wanted)
  if (published.kind === 'none')
    return finding(
      'record',
      'missing',
      'there is no BIMI record',
      proposed === null ? 'set the URL of your logo, then publish the record' : `publish ${name} TXT "${proposed}"`,
    )
  if (published.kind === 'invalid')
    return finding('record', 'wrong', published.problem, proposed === null ? null : `publish "${proposed}"`)
  if (published.kind === 'declined')
    return proposed === null
      ? finding('record', 'ok', 'the BIMI record says that the domain has no logo', null)
      : finding('record', 'wrong', 'the BIMI record says that the domain has no logo', `publish "${proposed}"`)
  const { logoUrl, certificateUrl } = published.files
  if (wanted === null || (logoUrl === wanted.logoUrl && certificateUrl === wanted.certificateUrl))
    return finding('record', 'ok', 'the BIMI record is published', null)
  return finding('record', 'wrong', 'the BIMI record names other files than you set here', `publish "${proposed}"`)
}

const ENFORCING = new Set(['quarantine', 'reject'])

/** The policy must be enforced for all mail of the domain and of its organisational domain (BIMI draft, 7.1). */
async function checkDmarc(dns: DomainDns, domain: string): Promise<BimiFinding> {
  const organization = getDomain(domain) ?? domain
  const names = [...new Set([domain, organization])]
  const answers = await Promise.all(names.map((name) => dns.txt(`_dmarc.${name}`)))
  const policies: { readonly name: string; readonly tags: ReadonlyMap<string, string> }[] = []
  for (const [i, answer] of answers.entries()) {
    const name = names[i] ?? domain
    if (answer.kind === 'failed') return finding('dmarc', 'unknown', `_dmarc.${name}: ${answer.reason}`, null)
    const tags = readDmarcRecord(answer.records)
    if (tags !== null) policies.push({ name, tags })
  }
  if (policies.length === 0)
    return finding(
      'dmarc',
      'missing',
      'there is no DMARC record',
      `publish _dmarc.${domain} with p=quarantine or p=reject`,
    )
  for (const { name, tags } of policies) {
    const problem = laxness(tags)
    if (problem === null) continue
    const next = 'correct it once your DMARC reports show that your own mail passes'
    return finding('dmarc', 'wrong', `_dmarc.${name} ${problem}`, next)
  }
  return finding('dmarc', 'ok', 'the DMARC policy is enforced for all mail', null)
}

function laxness(tags: ReadonlyMap<string, string>): string | null {
  const policy = tags.get('p') ?? 'none'
  if (!ENFORCING.has(policy)) return `has p=${policy}, and receivers require p=quarantine or p=reject`
  const subdomains = tags.get('sp')
  if (subdomains !== undefined && !ENFORCING.has(subdomains))
    return `has sp=${subdomains}, and receivers require a policy for subdomains too`
  const percent = tags.get('pct')
  return percent === undefined || percent === '100'
    ? null
    : `has pct=${percent}, and receivers require all mail: remove pct`
}

interface CheckedLogo {
  readonly logo: BimiFinding
  /** Null if it was not fetched. */
  readonly bytes: Buffer | null
}

async function checkLogo(http: HttpClient, url: string): Promise<CheckedLogo> {
  const fetched = await fetchBrandFile(http, { url, accept: 'image/svg+xml', maxBytes: MAX_LOGO_BYTES })
  if (!fetched.ok) return { logo: wrongFile('logo', `the logo ${fetched.problem}`, url), bytes: null }
  const { bytes } = fetched
  const problem = problemOfLogo(fetched)
  if (problem !== null) return { logo: wrongFile('logo', `the logo ${problem}`, url), bytes }
  return { logo: finding('logo', 'ok', 'the logo is valid SVG Tiny PS', null), bytes }
}

function problemOfLogo({ bytes, contentType }: Extract<FetchedFile, { ok: true }>): string | null {
  if (contentType !== 'image/svg+xml') return `has the media type ${contentType || '(none)'}: send image/svg+xml`
  return findSvgProblem(bytes)
}

function wrongFile(subject: 'logo' | 'certificate', problem: string, url: string): BimiFinding {
  return finding(subject, 'wrong', problem, `correct the file at ${url}, then check again`)
}

const EXPIRES_SOON_MS = 30 * 86_400_000
const NO_CERTIFICATE = 'there is no mark certificate'
const WHY_CERTIFICATE = 'get a VMC or CMC if Gmail and Apple Mail should show the logo, and name it in a='

interface CertificateFile {
  readonly domain: string
  readonly files: BimiFiles
  readonly logo: Buffer | null
}

async function checkCertificate(deps: BimiCheckDeps, { domain, files, logo }: CertificateFile): Promise<BimiFinding> {
  const { certificateUrl: url } = files
  if (url === null) return finding('certificate', 'missing', NO_CERTIFICATE, WHY_CERTIFICATE)
  const accept = 'application/pem-certificate-chain, application/x-pem-file, */*;q=0.5'
  const fetched = await fetchBrandFile(deps.http, { url, accept, maxBytes: MAX_CERTIFICATE_BYTES })
  if (!fetched.ok) return wrongFile('certificate', `the mark certificate ${fetched.problem}`, url)
  const { nowMs } = deps
  const check = { pem: fetched.bytes, domain, selector: BIMI_SELECTOR, logo, nowMs }
  const result = await validateMarkCertificate(check, deps.authorities)
  if (!result.ok) return wrongFile('certificate', `the mark certificate ${result.problem}`, url)
  const until = result.validUntil.toISOString().slice(0, 10)
  const isEnding = result.validUntil.getTime() - nowMs < EXPIRES_SOON_MS
  const revocation = await checkRevocation(deps, result.chain)
  if (revocation.state !== 'valid') return describeRevocation(revocation, { kind: result.kind, until })
  return finding('certificate', 'ok', `the ${result.kind} is valid until ${until}`, isEnding ? 'renew it' : null)
}

/** An unknown state is no failure: the list of the authority may be away for a moment. */
function describeRevocation(
  revocation: Exclude<Revocation, { readonly state: 'valid' }>,
  { kind, until }: { readonly kind: string; readonly until: string },
): BimiFinding {
  if (revocation.state === 'revoked') {
    const message = `the ${kind} or one of its issuers was revoked on ${revocation.at.toISOString().slice(0, 10)}`
    return finding('certificate', 'wrong', message, 'ask its authority for a new certificate, and name that in a=')
  }
  const { problem } = revocation
  const message = `the ${kind} is valid until ${until}, unless it was revoked: its revocation list ${problem}`
  return finding('certificate', 'unknown', message, 'check again later; if that does not help, ask its authority')
}
