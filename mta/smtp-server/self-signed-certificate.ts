/**
 * A self-signed certificate, created once and stored in a file (mode 0600): creating one, and loading the library for
 * it, takes longer than the rest of a start. A stored one that is unreadable, invalid or about to expire is replaced;
 * if the file cannot be written, each start creates a new one.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'

export interface Certificate {
  readonly key: string
  readonly cert: string
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const YEARS = 10
/** GeneralName of RFC 5280 4.2.1.6. */
const DNS_NAME = 2

/** `name` becomes the common name. */
export async function loadSelfSignedCertificate(file: string, name: string, nowMs: number): Promise<Certificate> {
  const stored = readStored(file, nowMs)
  if (stored !== null) return stored
  const created = await makeCertificate(name, nowMs)
  try {
    writeFileSync(file, JSON.stringify(created), { mode: 0o600 })
  } catch {
    // a read-only folder: the next start creates a certificate again
  }
  return created
}

function readStored(file: string, nowMs: number): Certificate | null {
  try {
    const { key, cert } = JSON.parse(readFileSync(file, 'utf8')) as Certificate
    const certificate = new X509Certificate(cert)
    return Date.parse(certificate.validTo) > nowMs + DAY_MS && certificate.checkPrivateKey(createPrivateKey(key))
      ? { key, cert }
      : null
  } catch {
    return null
  }
}

async function makeCertificate(name: string, nowMs: number): Promise<Certificate> {
  const { generate } = await import('selfsigned')
  const notAfterDate = new Date(nowMs)
  notAfterDate.setUTCFullYear(notAfterDate.getUTCFullYear() + YEARS)
  const { private: key, cert } = await generate([{ name: 'commonName', value: name }], {
    // as for the certificates of an authority; it signs a handshake in a tenth of the time of RSA-2048
    keyType: 'ec',
    curve: 'P-256',
    algorithm: 'sha256',
    notBeforeDate: new Date(nowMs - HOUR_MS),
    notAfterDate,
    // without keyEncipherment, which the library sets by default and such a key must not have (RFC 8813 3)
    extensions: [
      { name: 'basicConstraints', cA: false, critical: true },
      { name: 'keyUsage', digitalSignature: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      { name: 'subjectAltName', altNames: [{ type: DNS_NAME, value: name }] },
    ],
  })
  return { key, cert }
}
