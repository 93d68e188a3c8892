/**
 * Parses a mail with a DMARC aggregate report (RFC 7489 7.2.1.1): a part in gzip, zip or plain XML, whatever its media
 * type says. Decompression is bounded. A report has a signer if DKIM or SPF proves the domain of its From, and the
 * report names that organisation as its author; otherwise it is unverified. If DNS does not answer, the result is
 * `later`.
 */
import { gunzipSync } from 'node:zlib'
import { unzipSync } from 'fflate'
import { spf } from 'mailauth/lib/spf/index.js'
import { simpleParser, type AddressObject, type Attachment } from 'mailparser'
import { parseAggregateReport, type AggregateReport } from '#src/dmarc/aggregate-report.ts'
import { splitMessage } from '#src/mail/split-message.ts'
import { findSigner, organisationOf, type ResolveDns } from './report-signer.ts'

export type DmarcReportParse =
  | FoundDmarcReport
  | { readonly kind: 'none'; readonly why: string }
  /** DNS did not answer. `fallback` is the result if it never does. */
  | { readonly kind: 'later'; readonly fallback: FoundDmarcReport }

/** `signer`: the domain that DKIM or SPF proves; '' = unverified. */
interface FoundDmarcReport {
  readonly kind: 'report'
  readonly report: AggregateReport
  readonly signer: string
}

/** A mail and its SMTP session, which SPF needs. */
export interface DmarcReportMail {
  readonly raw: Buffer
  /** Empty: the null sender. */
  readonly mailFrom: string
  readonly peer: string
  readonly helo: string
}

export interface DmarcParserDeps {
  readonly serverName: string
  readonly resolve: ResolveDns
}

/** Deflate can expand a thousandfold; the largest real reports have about 10 MB of XML. */
const MAX_XML_OCTETS = 20 * 1024 * 1024
const MAX_QUERIES = 40

export async function parseDmarcReportMail(mail: DmarcReportMail, deps: DmarcParserDeps): Promise<DmarcReportParse> {
  const { attachments, from } = await simpleParser(mail.raw, {
    skipHtmlToText: true,
    skipTextToHtml: true,
    skipTextLinks: true,
    skipImageLinks: true,
  })
  const found = findXml(mail.raw, attachments)
  if (!found.ok) return { kind: 'none', why: found.why }
  const parsed = parseAggregateReport(found.xml)
  if (!parsed.ok) return { kind: 'none', why: parsed.why }
  const { report } = parsed
  const author = authorOf(mail.raw, from)
  const unverified: FoundDmarcReport = { kind: 'report', report, signer: '' }
  if (author === null || !isNamedAuthor(author, report, found.filename)) return unverified
  const resolve = limitQueries(deps.resolve)
  const signer = (await findSigner(mail.raw, resolve)) ?? 'later'
  if (signer !== '' && signer !== 'later') return { ...unverified, signer }
  const sender = await findSender(mail, author, { ...deps, resolve })
  if (sender !== '' && sender !== 'later') return { ...unverified, signer: sender }
  return signer === 'later' || sender === 'later' ? { kind: 'later', fallback: unverified } : unverified
}

type FoundXml =
  | { readonly ok: true; readonly xml: string; readonly filename: string }
  | { readonly ok: false; readonly why: string }

/** The first part that looks like a report. A mail without parts may be the report itself. */
function findXml(raw: Buffer, attachments: readonly Attachment[]): FoundXml {
  const parts = attachments.map(({ content, filename }) => ({ content, filename: filename ?? '' }))
  const body = { content: splitMessage(raw).body, filename: '' }
  for (const { content, filename } of [...parts, body]) {
    const unpack = UNPACKERS.find((one) => one.isFormat(content))
    if (unpack === undefined) continue
    const xml = unpack.unpack(content)
    return xml === null
      ? { ok: false, why: 'decompression failed, or the report is too large' }
      : { ok: true, xml: xml.toString('utf8'), filename }
  }
  return { ok: false, why: 'the mail has no part with a DMARC report' }
}

interface Unpacker {
  readonly isFormat: (octets: Buffer) => boolean
  /** Null: damaged, or too large. */
  readonly unpack: (octets: Buffer) => Buffer | null
}

/** By the first octets: media types and names of files are often wrong. */
const UNPACKERS: readonly Unpacker[] = [
  { isFormat: (octets) => octets[0] === 0x1f && octets[1] === 0x8b, unpack: gunzip },
  { isFormat: (octets) => octets.subarray(0, 4).equals(Buffer.from('PK\u0003\u0004')), unpack: unzip },
  {
    isFormat: (octets) => /^(?:\u00ef\u00bb\u00bf)?\s*<(?:\?xml|feedback)\b/.test(octets.toString('latin1', 0, 200)),
    unpack: (octets) => (octets.length > MAX_XML_OCTETS ? null : octets),
  },
]

function gunzip(octets: Buffer): Buffer | null {
  try {
    return gunzipSync(octets, { maxOutputLength: MAX_XML_OCTETS })
  } catch {
    return null
  }
}

/** The only XML file of the archive, or the first. fflate writes no more than the size that the archive declares. */
function unzip(octets: Buffer): Buffer | null {
  let isFound = false
  try {
    const files = unzipSync(octets, {
      filter: ({ name, originalSize, size }) => {
        if (isFound || !/\.xml$/i.test(name)) return false
        isFound = true
        if (originalSize > MAX_XML_OCTETS || size > octets.length) throw new Error('too large')
        return true
      },
    })
    const [content] = Object.values(files)
    return content === undefined ? null : Buffer.from(content)
  } catch {
    return null
  }
}

/** The domain of the only From address; null if there is none, or several. */
function authorOf(raw: Buffer, from: AddressObject | undefined): string | null {
  const fields = splitMessage(raw).fields.filter(({ name }) => name === 'from')
  const [address, ...others] = (from?.value ?? []).map((one) => one.address ?? '')
  if (fields.length !== 1 || address === undefined || others.length > 0) return null
  const domain = address.slice(address.lastIndexOf('@') + 1).toLowerCase()
  return domain.includes('.') ? domain : null
}

/**
 * Whether the report names the organisation of the sender: by its email or org_name, or by the receiver in the name of
 * the file (RFC 7489 7.2.1.1). A report that only claims to be of another organisation proves nothing.
 */
function isNamedAuthor(author: string, { email, organization }: AggregateReport, filename: string): boolean {
  const [receiver = ''] = filename.split('!')
  return [email.slice(email.lastIndexOf('@') + 1), organization, receiver]
    .map((name) => name.trim().replace(/>$/, ''))
    .some((name) => name.includes('.') && organisationOf(name) === organisationOf(author))
}

/** The envelope domain, if SPF passes and it belongs to the organisation of the author; '' if not. */
async function findSender(mail: DmarcReportMail, author: string, deps: DmarcParserDeps): Promise<string> {
  const domain = mail.mailFrom.slice(mail.mailFrom.lastIndexOf('@') + 1).toLowerCase()
  if (domain === '' || organisationOf(domain) !== organisationOf(author)) return ''
  const { status } = await spf({
    sender: mail.mailFrom,
    ip: mail.peer,
    helo: mail.helo,
    mta: deps.serverName,
    resolver: deps.resolve as never,
    strict: true,
  })
  if (status.result === 'pass') return domain
  return status.result === 'temperror' ? 'later' : ''
}

function limitQueries(resolve: ResolveDns): ResolveDns {
  let queries = 0
  return (name, type) =>
    ++queries > MAX_QUERIES
      ? Promise.reject(Object.assign(new Error('too many queries'), { code: 'ENOTFOUND' }))
      : resolve(name, type)
}
