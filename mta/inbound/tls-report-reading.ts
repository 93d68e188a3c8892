/**
 * From the bytes of an arrival to the report in them (RFC 8460 3): a mail with the report as a part, or the report itself as it is posted,
 * gzip or not. Unpacking is bounded. A mail is worth something where a signature covers all of it and is of the From's own organisation
 * (RFC 8460 3, RFC 6376 6): then the report has a signer, else it may be anybody's. What DNS does not answer is asked again later.
 */
import { gunzipSync } from 'node:zlib'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { getDomain } from 'tldts'
import { readTlsReport, type TlsReport } from '#src/tls-reports/schema.ts'
import { type Part, readMail, valueOf, walk } from '#mta/classify/mime.ts'

export type TlsReading =
  | Found
  | { readonly kind: 'none'; readonly why: string }
  /** `fallback`: what it is if that stays so. */
  | { readonly kind: 'later'; readonly fallback: Found }

/** `signer`: the domain that proves it; '' = nobody's. */
interface Found {
  readonly kind: 'report'
  readonly report: TlsReport
  readonly signer: string
}

export type ResolveDns = (name: string, type: string) => Promise<unknown>

/** A thousandfold is what gzip can do; reports of the largest senders are some 100 KB. */
const MAX_UNPACKED_OCTETS = 4 * 1024 * 1024
/** Each is a question to somebody's DNS. */
const MOST_SIGNATURES = 5
const REPORT_TYPE = /^application\/(?:tlsrpt\+(?:gzip|json)|gzip|x-gzip|json)$/

/** `raw` begins as no mail does where it is the report itself. */
export async function readTlsArrival(raw: Buffer, resolve: ResolveDns): Promise<TlsReading> {
  if (isPacked(raw) || raw[0] === OPENING_BRACE) return readDocument(raw)
  const mail = readMail(raw)
  const document = documentIn(mail)
  if (document === null) return { kind: 'none', why: 'it has no part with a report' }
  const read = readDocument(document)
  if (read.kind !== 'report') return read
  const signer = await findSigner(raw, mail, resolve)
  return signer === null ? { kind: 'later', fallback: read } : { ...read, signer }
}

const OPENING_BRACE = 0x7b

function isPacked(octets: Buffer): boolean {
  return octets[0] === 0x1f && octets[1] === 0x8b
}

function readDocument(octets: Buffer): Exclude<TlsReading, { kind: 'later' }> {
  const text = unpack(octets)
  if (text === null) return { kind: 'none', why: 'it cannot be unpacked, or is too large unpacked' }
  const read = readTlsReport(text)
  return read.ok ? { kind: 'report', report: read.report, signer: '' } : { kind: 'none', why: read.why }
}

function unpack(octets: Buffer): string | null {
  try {
    return (isPacked(octets) ? gunzipSync(octets, { maxOutputLength: MAX_UNPACKED_OCTETS }) : octets).toString('utf8')
  } catch {
    return null
  }
}

function documentIn(mail: Part): Buffer | null {
  const part = [...walk(mail)].find(({ type, children }) => children.length === 0 && REPORT_TYPE.test(type))
  if (part === undefined) return null
  const isBase64 = /base64/i.test(valueOf(part.fields, 'content-transfer-encoding') ?? '')
  return Buffer.from(part.body, isBase64 ? 'base64' : 'latin1')
}

/** '' where nobody's signature proves it; null while DNS does not say. */
async function findSigner(raw: Buffer, mail: Part, resolve: ResolveDns): Promise<string | null> {
  const signatures = mail.fields.filter(({ name }) => name === 'dkim-signature').length
  if (signatures === 0 || signatures > MOST_SIGNATURES) return ''
  const { results, headerFrom } = await dkimVerify(raw, { strict: true, resolver: keysForReports(resolve) as never })
  const [from, second] = headerFrom.map((address) => organisationOf(address.slice(address.lastIndexOf('@') + 1)))
  if (from === undefined || second !== undefined) return ''
  const aligned = results.filter(
    ({ signingDomain }) => signingDomain !== undefined && organisationOf(signingDomain) === from,
  )
  // RFC 8460 3: a signature over the beginning only (l=) does not count
  const proof = aligned.find(
    ({ status, canonBodyLengthLimited }) => status.result === 'pass' && canonBodyLengthLimited !== true,
  )
  if (proof !== undefined) return proof.signingDomain?.toLowerCase() ?? ''
  return aligned.some(({ status }) => status.result === 'temperror') ? null : ''
}

/** A key may be for reports on TLS only (RFC 8460 3: s=tlsrpt); mailauth takes those for mail alone. */
function keysForReports(resolve: ResolveDns): ResolveDns {
  return async (name, type) => {
    const records = await resolve(name, type)
    return type === 'TXT' && Array.isArray(records)
      ? records.map((parts: readonly string[]) => [widen(parts.join(''))])
      : records
  }
}

function widen(key: string): string {
  return key.replace(/(^|;)\s*s\s*=([^;]*)/, (tag: string, lead: string, services: string) =>
    services.split(':').some((service) => service.trim() === 'tlsrpt') ? `${lead} s=*` : tag,
  )
}

function organisationOf(domain: string): string {
  return getDomain(domain.toLowerCase()) ?? domain.toLowerCase()
}
