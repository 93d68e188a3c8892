/** Mail with DMARC aggregate reports as receivers send it (RFC 7489 7.2.1.1), for tests. */
import { gzipSync } from 'node:zlib'
import { zipSync } from 'fflate'

export type Packing = 'zip' | 'gzip' | 'plain'

export interface DmarcMail {
  readonly xml: string | Buffer
  readonly from: string
  readonly packing?: Packing
  readonly type?: string
  readonly filename?: string
}

const PACK: Readonly<Record<Packing, (xml: Buffer, filename: string) => Uint8Array>> = {
  plain: (xml) => xml,
  gzip: (xml) => gzipSync(xml),
  zip: (xml, filename) => zipSync({ [filename.replace(/\.zip$/, '.xml')]: xml }),
}

export function dmarcMessageOf({
  xml,
  from,
  packing = 'gzip',
  type = 'application/gzip',
  filename = 'r.example!shop.example!1!2.xml.gz',
}: DmarcMail): Buffer {
  return dmarcMessageWith({ content: PACK[packing](Buffer.from(xml), filename), from, type, filename })
}

interface PackedMail {
  readonly content: Uint8Array
  readonly from: string
  readonly type?: string
  readonly filename?: string
}

/** With a part that is packed already. */
export function dmarcMessageWith({ content, from, type = 'application/zip', filename = 'r.zip' }: PackedMail): Buffer {
  const lines =
    Buffer.from(content)
      .toString('base64')
      .match(/.{1,76}/g) ?? []
  return Buffer.from(
    [
      `From: <${from}>`,
      'To: <dmarc-reports@bounces.mta.sender.example>',
      'Subject: Report Domain: shop.example Submitter: r.example Report-ID: <1>',
      'Message-ID: <1@r.example>',
      'Date: Thu, 26 Nov 2026 00:00:00 +0000',
      'MIME-Version: 1.0',
      'Content-Type: multipart/mixed; boundary="d"',
      '',
      '--d',
      'Content-Type: text/plain',
      '',
      'This is an aggregate report.',
      '--d',
      `Content-Type: ${type}; name="${filename}"`,
      `Content-Disposition: attachment; filename="${filename}"`,
      'Content-Transfer-Encoding: base64',
      '',
      ...lines,
      '--d--',
      '',
    ].join('\r\n'),
  )
}

export interface XmlRow {
  readonly address: string
  readonly messages: number
  readonly dkim?: boolean
  readonly spf?: boolean
  readonly from?: string
  readonly override?: string
  readonly dkimDomain?: string
  readonly spfDomain?: string
}

export interface XmlReport {
  readonly id: string
  readonly domain: string
  readonly rows: readonly XmlRow[]
  readonly organization?: string
  readonly email?: string
  readonly policy?: string
  /** Epoch ms; of the last whole day by default. */
  readonly beginMs?: number
}

const DAY_MS = 86_400_000

export function dmarcXmlOf({
  id,
  domain,
  rows,
  organization = 'Receiver',
  email = 'dmarc@receiver.example',
  policy = 'none',
  beginMs = Math.floor(Date.now() / DAY_MS - 1) * DAY_MS,
}: XmlReport): string {
  const begin = beginMs / 1000
  return `<?xml version="1.0"?><feedback><report_metadata><org_name>${organization}</org_name><email>${email}</email>
    <report_id>${id}</report_id><date_range><begin>${begin}</begin><end>${begin + 86_399}</end></date_range>
    </report_metadata><policy_published><domain>${domain}</domain><p>${policy}</p><pct>100</pct></policy_published>
    ${rows.map((row) => recordXml(domain, row)).join('')}</feedback>`
}

function recordXml(domain: string, row: XmlRow): string {
  const { address, messages, dkim = false, spf = false, from = domain, override, dkimDomain, spfDomain } = row
  const word = (isPass: boolean): string => (isPass ? 'pass' : 'fail')
  const passing = (method: string, name: string | undefined): string =>
    name === undefined ? '' : `<${method}><domain>${name}</domain><result>pass</result></${method}>`
  const reason = override === undefined ? '' : `<reason><type>${override}</type></reason>`
  return `<record><row><source_ip>${address}</source_ip><count>${messages}</count><policy_evaluated><disposition>none
    </disposition><dkim>${word(dkim)}</dkim><spf>${word(spf)}</spf>${reason}</policy_evaluated></row><identifiers>
    <header_from>${from}</header_from></identifiers><auth_results>${passing('dkim', dkimDomain)}
    ${passing('spf', spfDomain)}</auth_results></record>`
}
