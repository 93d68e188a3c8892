/**
 * Verifies a server's certificate: by the trusted authorities (RFC 8461 4.1), or by TLSA records (DANE, RFC 7672 3).
 * Each function returns null or the fault, under the name that TLS reports use (RFC 8460 4.3). Pure, apart from the
 * clock.
 */
import { createHash, type X509Certificate } from 'node:crypto'
import type { TLSSocket } from 'node:tls'
import type { TlsaRecord } from '#src/net/dns-answer.ts'

export interface CertificateFault {
  readonly code: 'certificate-expired' | 'certificate-host-mismatch' | 'certificate-not-trusted' | 'validation-failure'
  readonly text: string
}

/** The parts of a TLS connection that are verified. */
export type TlsPeer = Pick<TLSSocket, 'authorized' | 'authorizationError' | 'getPeerX509Certificate'>

/** Longer chains are cut off. */
const MAX_CHAIN = 12
const DANE_TA = 2
const DANE_EE = 3
const DIGESTS: Readonly<Record<number, { readonly name: string; readonly bytes: number } | null>> = {
  0: null,
  1: { name: 'sha256', bytes: 32 },
  2: { name: 'sha512', bytes: 64 },
}

const FAULTS: Readonly<Record<string, CertificateFault['code']>> = {
  CERT_HAS_EXPIRED: 'certificate-expired',
  CERT_NOT_YET_VALID: 'certificate-expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'certificate-host-mismatch',
}

/**
 * By the authorities of this machine. The host must be among the subject alternative names; the common name is ignored.
 */
export function verifyByAuthorities(peer: TlsPeer, host: string): CertificateFault | null {
  if (!peer.authorized) {
    const error = peer.authorizationError as Error | string | null
    const reason = (error instanceof Error ? error.message : String(error)).slice(0, 200)
    return {
      code: FAULTS[reason] ?? 'certificate-not-trusted',
      text: `the certificate of ${host} is not valid: ${reason}`,
    }
  }
  const isNamed = peer.getPeerX509Certificate()?.subjectAltName !== undefined
  return isNamed
    ? null
    : { code: 'certificate-host-mismatch', text: `the certificate of ${host} has no subject alternative names` }
}

/** RFC 7672 3.1: usages 0 and 1 do not apply to mail; malformed records are ignored. */
export function isUsable({ usage, selector, matchingType, certificate }: TlsaRecord): boolean {
  const digest = DIGESTS[matchingType]
  const isLong = digest === null ? certificate.length > 0 : certificate.length === digest?.bytes
  return (usage === DANE_TA || usage === DANE_EE) && selector <= 1 && isLong
}

/**
 * Digest agility (RFC 7671 9): of the usable records with the same usage and selector, those with the strongest digest
 * and those with the full data (matching type 0). Several of the same strength belong to a key rollover: all of them
 * count.
 */
export function strongestOf(usable: readonly TlsaRecord[]): TlsaRecord[] {
  const strongest = new Map<string, number>()
  const kindOf = ({ usage, selector }: TlsaRecord): string => `${usage} ${selector}`
  for (const record of usable)
    strongest.set(kindOf(record), Math.max(strongest.get(kindOf(record)) ?? 0, record.matchingType))
  return usable.filter((record) => record.matchingType === 0 || record.matchingType === strongest.get(kindOf(record)))
}

/**
 * By TLSA records; one match suffices. `names`: the names that a certificate under a trust anchor may have. With usage
 * 3 neither name nor date count, because the record itself is the binding (RFC 7672 3.1.1).
 */
export function verifyByTlsa(
  peer: TlsPeer,
  records: readonly TlsaRecord[],
  names: readonly string[],
  nowMs: number,
): CertificateFault | null {
  const chain = chainOf(peer.getPeerX509Certificate())
  const [leaf] = chain
  if (leaf === undefined) return { code: 'validation-failure', text: 'the server showed no certificate' }
  if (records.some((record) => record.usage === DANE_EE && isMatch(record, leaf))) return null
  const anchors = records.filter(({ usage }) => usage === DANE_TA)
  const isAnchor = (certificate: X509Certificate): boolean => anchors.some((record) => isMatch(record, certificate))
  const at = chain.findIndex((certificate, i) => (i > 0 || isSelfSigned(certificate)) && isAnchor(certificate))
  if (at < 0) return { code: 'validation-failure', text: 'no TLSA record matches the certificate' }
  return verifyChain(chain.slice(0, at + 1), names, nowMs)
}

/** Each certificate is signed by the next, all are valid now, and the first matches a name (RFC 7671 5.2). */
function verifyChain(
  chain: readonly X509Certificate[],
  names: readonly string[],
  nowMs: number,
): CertificateFault | null {
  const [leaf] = chain
  const isBroken = chain.some((certificate, i) => {
    const issuer = chain[i + 1]
    return (
      issuer !== undefined && !(issuer.ca && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey))
    )
  })
  if (isBroken)
    return {
      code: 'certificate-not-trusted',
      text: 'the certificate chain does not lead to the trust anchor of the TLSA record',
    }
  const isTimelyAll = chain.every((certificate) => isTimely(certificate, nowMs))
  if (!isTimelyAll) return { code: 'certificate-expired', text: 'the certificate is not valid at this time' }
  if (names.some((name) => leaf?.checkHost(name, { subject: 'never' }) !== undefined)) return null
  return { code: 'certificate-host-mismatch', text: `the certificate is not for ${names.join(' or ')}` }
}

function chainOf(leaf: X509Certificate | undefined): X509Certificate[] {
  const chain: X509Certificate[] = []
  for (let at = leaf; at !== undefined && chain.length < MAX_CHAIN; at = at.issuerCertificate)
    if (chain.some(({ fingerprint256 }) => fingerprint256 === at?.fingerprint256)) break
    else chain.push(at)
  return chain
}

function isMatch({ selector, matchingType, certificate }: TlsaRecord, shown: X509Certificate): boolean {
  const digest = DIGESTS[matchingType]
  const bytes = selector === 0 ? shown.raw : shown.publicKey.export({ type: 'spki', format: 'der' })
  return (digest === null || digest === undefined ? bytes : createHash(digest.name).update(bytes).digest()).equals(
    certificate,
  )
}

function isSelfSigned(certificate: X509Certificate): boolean {
  return certificate.checkIssued(certificate) && certificate.verify(certificate.publicKey)
}

function isTimely({ validFromDate, validToDate }: X509Certificate, nowMs: number): boolean {
  return validFromDate.getTime() <= nowMs && nowMs <= validToDate.getTime()
}
