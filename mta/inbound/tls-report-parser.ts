/**
 * Parses a TLS report (RFC 8460 3) from a mail that has it as a part, or from the body of an HTTP POST, with or without
 * gzip. Decompression is bounded. A report has a signer if a DKIM signature covers the whole mail and belongs to the
 * organisation of its From (RFC 8460 3, RFC 6376 6); otherwise it is unverified. If DNS does not answer, the result is
 * `later`.
 */
import { gunzipSync } from 'node:zlib'
import { parseTlsReport, type TlsReport } from '#src/tls-reports/schema.ts'
import { type MimePart, parseMail, fieldValue, walkParts } from '#mta/classify/mime.ts'
import { findSigner, type ResolveDns } from './report-signer.ts'

export type TlsReportParse =
  | FoundTlsReport
  | { readonly kind: 'none'; readonly why: string }
  /** DNS did not answer. `fallback` is the result if it never does. */
  | { readonly kind: 'later'; readonly fallback: FoundTlsReport }

/** `signer`: the domain whose signature is verified; '' = unverified. */
interface FoundTlsReport {
  readonly kind: 'report'
  readonly report: TlsReport
  readonly signer: string
}

/** gzip can expand a thousandfold; the largest real reports are about 100 KB. */
const MAX_UNPACKED_OCTETS = 4 * 1024 * 1024
const REPORT_TYPE = /^application\/(?:tlsrpt\+(?:gzip|json)|gzip|x-gzip|json)$/

/** A posted report starts with a gzip header or a brace, as no mail does. */
export async function parseTlsReportMail(raw: Buffer, resolve: ResolveDns): Promise<TlsReportParse> {
  if (isGzip(raw) || raw[0] === OPENING_BRACE) return parseDocument(raw)
  const mail = parseMail(raw)
  const document = findDocument(mail)
  if (document === null) return { kind: 'none', why: 'the mail has no TLS report part' }
  const parsed = parseDocument(document)
  if (parsed.kind !== 'report') return parsed
  const signer = await findSigner(raw, acceptTlsReportKeys(resolve))
  return signer === null ? { kind: 'later', fallback: parsed } : { ...parsed, signer }
}

const OPENING_BRACE = 0x7b

function isGzip(octets: Buffer): boolean {
  return octets[0] === 0x1f && octets[1] === 0x8b
}

function parseDocument(octets: Buffer): Exclude<TlsReportParse, { kind: 'later' }> {
  const text = unpack(octets)
  if (text === null) return { kind: 'none', why: 'decompression failed, or the report is too large' }
  const parsed = parseTlsReport(text)
  return parsed.ok ? { kind: 'report', report: parsed.report, signer: '' } : { kind: 'none', why: parsed.why }
}

function unpack(octets: Buffer): string | null {
  try {
    return (isGzip(octets) ? gunzipSync(octets, { maxOutputLength: MAX_UNPACKED_OCTETS }) : octets).toString('utf8')
  } catch {
    return null
  }
}

function findDocument(mail: MimePart): Buffer | null {
  const part = [...walkParts(mail)].find(({ type, children }) => children.length === 0 && REPORT_TYPE.test(type))
  if (part === undefined) return null
  const isBase64 = /base64/i.test(fieldValue(part.fields, 'content-transfer-encoding') ?? '')
  return Buffer.from(part.body, isBase64 ? 'base64' : 'latin1')
}

/** A key may be valid for TLS reports only (RFC 8460 3: s=tlsrpt). mailauth rejects such a key, so it is widened. */
function acceptTlsReportKeys(resolve: ResolveDns): ResolveDns {
  return async (name, type) => {
    const records = await resolve(name, type)
    return type === 'TXT' && Array.isArray(records)
      ? records.map((parts: readonly string[]) => [widenServiceType(parts.join(''))])
      : records
  }
}

function widenServiceType(key: string): string {
  return key.replace(/(^|;)\s*s\s*=([^;]*)/, (tag: string, lead: string, services: string) =>
    services.split(':').some((service) => service.trim() === 'tlsrpt') ? `${lead} s=*` : tag,
  )
}
