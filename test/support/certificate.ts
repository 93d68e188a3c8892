/**
 * Certificates for test servers: self-signed ones, cached per set of names and process, and ones of the test's own
 * authority. They are valid from one day ago to one day ahead, unless a test issues them otherwise. Self-signed ones
 * share one key: generating an RSA key takes 0.1 s of CPU.
 */
import { generateKeyPairSync } from 'node:crypto'
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
let keyPair: KeyPair | null = null

/** PEM. */
interface KeyPair {
  readonly publicKey: string
  readonly privateKey: string
}

/** A certificate for these host names and IP addresses. */
export function certificateFor(names: readonly string[]): Promise<Certificate> {
  const id = names.join(' ')
  const certificate = made.get(id) ?? make(names, { keyPair: (keyPair ??= generateKeyPair()) })
  made.set(id, certificate)
  return certificate
}

export interface Authority {
  /** PEM; for EXTRA_CA_FILE. */
  readonly cert: string
  /** Its certificate stands behind the one that is made, as servers show it. */
  issue(
    names: readonly string[],
    options?: { readonly isExpired?: boolean; readonly days?: number },
  ): Promise<Certificate>
}

export async function createAuthority(): Promise<Authority> {
  const own = await make(['Test Authority'])
  return {
    cert: own.cert,
    issue: async (names, { isExpired = false, days = 1 } = {}) => {
      const { key, cert } = await make(names, { ca: own, isExpired, days })
      return { key, cert: `${cert}\n${own.cert}` }
    },
  }
}

function generateKeyPair(): KeyPair {
  return generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
}

interface CertificateOptions {
  readonly ca?: Certificate
  readonly isExpired?: boolean
  /** How long it is valid; one day by default. */
  readonly days?: number
  /** Absent: the certificate gets a key of its own. */
  readonly keyPair?: KeyPair
}

async function make(
  names: readonly string[],
  { ca, isExpired = false, days = 1, keyPair: existing }: CertificateOptions = {},
): Promise<Certificate> {
  const now = Date.now() - (isExpired ? 3 * DAY_MS : 0)
  const { private: key, cert } = await generate([{ name: 'commonName', value: names[0] ?? 'localhost' }], {
    keyType: 'rsa',
    algorithm: 'sha256',
    notBeforeDate: new Date(now - DAY_MS),
    notAfterDate: new Date(now + days * DAY_MS),
    ...(ca !== undefined && { ca }),
    ...(existing !== undefined && { keyPair: existing }),
    extensions: [
      { name: 'basicConstraints', cA: ca === undefined },
      {
        name: 'subjectAltName',
        altNames: names.map((name) => (isIP(name) ? { type: 7, ip: name } : { type: 2, value: name })),
      },
    ],
  })
  return { key, cert }
}
