/**
 * A self-signed certificate. Made once and kept in a file (0600), since making one, and loading what makes it, takes longer than
 * all else of a start. One that cannot be read, has another form or is near its end is made anew; one that cannot be kept is made at each start.
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

/** `name` is whose it is. */
export async function loadCertificate(file: string, name: string, nowMs: number): Promise<Certificate> {
  const kept = readKept(file, nowMs)
  if (kept !== null) return kept
  const made = await makeCertificate(name, nowMs)
  try {
    writeFileSync(file, JSON.stringify(made), { mode: 0o600 })
  } catch {
    // a read-only folder costs the next start a moment
  }
  return made
}

function readKept(file: string, nowMs: number): Certificate | null {
  try {
    const { key, cert } = JSON.parse(readFileSync(file, 'utf8')) as Certificate
    const known = new X509Certificate(cert)
    return Date.parse(known.validTo) > nowMs + DAY_MS && known.checkPrivateKey(createPrivateKey(key))
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
    keyType: 'rsa',
    algorithm: 'sha256',
    notBeforeDate: new Date(nowMs - HOUR_MS),
    notAfterDate,
  })
  return { key, cert }
}
