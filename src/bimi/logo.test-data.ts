/** Logos, and mark certificates of an authority of the test. */
import { createHash, randomBytes, webcrypto, X509Certificate } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import * as x509 from '@peculiar/x509'

export function svgOf(content = '<path d="M0 0h64v64z"/>'): string {
  const root = 'xmlns="http://www.w3.org/2000/svg" version="1.2" baseProfile="tiny-ps" viewBox="0 0 64 64"'
  return `<svg ${root}><title>Shop</title>${content}</svg>`
}

interface Issued {
  readonly certificate: x509.X509Certificate
  readonly keys: webcrypto.CryptoKeyPair
}

export interface MarkFields {
  readonly names?: readonly string[]
  /** The logo in it; null: no logo. */
  readonly svg?: string | null
  /** Of which the hash is. */
  readonly hashed?: string
  readonly mediaType?: string
  readonly usage?: string
  readonly from?: number
  readonly until?: number
  readonly markType?: string
  /** In hexadecimal. */
  readonly serial?: string
  /** Where its revocation list is. */
  readonly listUrls?: readonly string[]
}

export interface RevocationList {
  readonly by?: 'root' | 'intermediate'
  /** Serial numbers. */
  readonly revoked?: readonly string[]
  readonly revokedAt?: number
  readonly from?: number
  readonly until?: number
  readonly extensions?: readonly x509.Extension[]
}

export interface MarkAuthority {
  readonly root: X509Certificate
  readonly intermediate: X509Certificate
  /** A chain in PEM: the certificate of the mark, and the intermediate one. */
  issue(fields?: MarkFields): Promise<string>
  /** A signed revocation list in DER. */
  list(fields?: RevocationList): Promise<Buffer>
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const DAY = 86_400_000
const BIMI_USAGE = '1.3.6.1.5.5.7.3.31'
const LOGOTYPE = '1.3.6.1.5.5.7.1.12'

/** An authority for mark certificates, with an intermediate one. `listUrl`: of the revocation list of the root. */
export async function createMarkAuthority(
  nowMs: number,
  name = 'Mark Root',
  listUrl: string | null = null,
): Promise<MarkAuthority> {
  const validity = { notBefore: new Date(nowMs - 100 * DAY), notAfter: new Date(nowMs + 3000 * DAY) }
  const isAuthority = new x509.BasicConstraintsExtension(true)
  const root = await issue({ subject: `CN=${name}`, ...validity }, null, [isAuthority])
  const named = listUrl === null ? [] : [new x509.CRLDistributionPointsExtension([listUrl])]
  const middle = await issue({ subject: `CN=${name} 2`, ...validity }, root, [isAuthority, ...named])
  return {
    root: new X509Certificate(root.certificate.toString('pem')),
    intermediate: new X509Certificate(middle.certificate.toString('pem')),
    issue: async (fields = {}) => {
      const { from = nowMs - DAY, until = nowMs + 365 * DAY, markType } = fields
      const type = markType === undefined ? '' : `, 1.3.6.1.4.1.53087.1.13=${markType}`
      const subject = { subject: `CN=Shop${type}`, notBefore: new Date(from), notAfter: new Date(until) }
      const leaf = await issue({ ...subject, serial: fields.serial }, middle, markExtensions(fields))
      return [leaf, middle].map(({ certificate }) => `${certificate.toString('pem')}\n`).join('')
    },
    list: async ({ by = 'intermediate', revoked = [], extensions = [], ...times } = {}) => {
      const issuer = by === 'root' ? root : middle
      const { from = nowMs - DAY, until = nowMs + DAY, revokedAt = nowMs - 2 * DAY } = times
      const list = await x509.X509CrlGenerator.create({
        issuer: issuer.certificate.subject,
        thisUpdate: new Date(from),
        nextUpdate: new Date(until),
        entries: revoked.map((serial) => ({ serialNumber: integer(serial), revocationDate: new Date(revokedAt) })),
        extensions: [...extensions],
        signingAlgorithm: ALGORITHM,
        signingKey: issuer.keys.privateKey,
      })
      return Buffer.from(list.rawData)
    },
  }
}

/** The package writes serial numbers of revocation lists as they are: a first bit that is set would be a minus sign. */
function integer(serial: string): string {
  return Number.parseInt(serial.slice(0, 2), 16) > 127 ? `00${serial}` : serial
}

interface Subject {
  readonly subject: string
  readonly notBefore: Date
  readonly notAfter: Date
  readonly serial?: string | undefined
}

async function issue(
  { serial, ...subject }: Subject,
  issuer: Issued | null,
  extensions: x509.Extension[],
): Promise<Issued> {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const certificate = await x509.X509CertificateGenerator.create({
    ...subject,
    serialNumber: serial ?? randomBytes(8).toString('hex'),
    issuer: issuer?.certificate.subject ?? subject.subject,
    signingAlgorithm: ALGORITHM,
    publicKey: keys.publicKey,
    signingKey: issuer?.keys.privateKey ?? keys.privateKey,
    extensions,
  })
  return { certificate, keys }
}

function markExtensions(fields: MarkFields): x509.Extension[] {
  const { names = ['shop.example'], usage = BIMI_USAGE, svg = svgOf(), listUrls = [] } = fields
  return [
    new x509.BasicConstraintsExtension(false),
    new x509.ExtendedKeyUsageExtension([usage]),
    new x509.SubjectAlternativeNameExtension(names.map((value) => ({ type: 'dns', value }))),
    ...(listUrls.length === 0 ? [] : [new x509.CRLDistributionPointsExtension([...listUrls])]),
    ...(svg === null ? [] : [new x509.Extension(LOGOTYPE, false, logotype(svg, fields))]),
  ]
}

/** RFC 3709: the subject's logo, with its hash and a data URL. */
function logotype(svg: string, { hashed = svg, mediaType = 'image/svg+xml' }: MarkFields): Buffer {
  const url = `data:image/svg+xml;base64,${gzipSync(svg).toString('base64')}`
  const hash = der(0x30, der(0x30, Buffer.from('0609608648016503040201', 'hex')), der(0x04, sha256(hashed)))
  const ia5 = (text: string): Buffer => der(0x16, Buffer.from(text, 'latin1'))
  const details = der(0x30, ia5(mediaType), der(0x30, hash), der(0x30, ia5(url)))
  return der(0x30, der(0xa2, der(0xa0, der(0x30, der(0x30, details)))))
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const size = content.length
  const length =
    size < 128
      ? [size]
      : size < 65_536
        ? [0x82, size >> 8, size & 255]
        : [0x83, size >> 16, (size >> 8) & 255, size & 255]
  return Buffer.concat([Buffer.from([tag, ...length]), content])
}
