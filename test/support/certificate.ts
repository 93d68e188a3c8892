/**
 * Self-signed certificates for test servers, made once per set of names and
 * process. They are valid for a day around now, so no test outlives one.
 */
import { isIP } from 'node:net'
import { generate } from 'selfsigned'

export interface Certificate {
  /** PEM. */
  readonly key: string
  /** PEM; it is its own authority. */
  readonly cert: string
}

const DAY_MS = 86_400_000
const made = new Map<string, Promise<Certificate>>()

/** A certificate for these host names and IP addresses. */
export function certificateFor(names: readonly string[]): Promise<Certificate> {
  const id = names.join(' ')
  const certificate = made.get(id) ?? make(names)
  made.set(id, certificate)
  return certificate
}

async function make(names: readonly string[]): Promise<Certificate> {
  const now = Date.now()
  const { private: key, cert } = await generate([{ name: 'commonName', value: names[0] ?? 'localhost' }], {
    keyType: 'rsa', algorithm: 'sha256', notBeforeDate: new Date(now - DAY_MS), notAfterDate: new Date(now + DAY_MS),
    extensions: [
      { name: 'basicConstraints', cA: true },
      { name: 'subjectAltName', altNames: names.map((name) => (isIP(name) ? { type: 7, ip: name } : { type: 2, value: name })) },
    ],
  })
  return { key, cert }
}
