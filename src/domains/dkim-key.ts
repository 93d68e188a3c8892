/**
 * Generates DKIM keys for a domain: RSA-2048 (RFC 8301: every verifier accepts it) and Ed25519 (RFC 8463: short and
 * fast, supported by some), with the TXT record that publishes each. Only generates; the caller encrypts and stores
 * them.
 */
import { generateKeyPair } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { promisify } from 'node:util'

export type DkimAlgorithm = 'rsa-sha256' | 'ed25519-sha256'

export interface DkimKey {
  readonly algorithm: DkimAlgorithm
  /** PKCS#8 DER, not encrypted. */
  readonly privateKey: Buffer
  /** The value of `<selector>._domainkey.<domain>` TXT, in one piece; see `txtStrings`. */
  readonly dnsValue: string
}

const RSA_BITS = 2048
/** RFC 1035 3.3: a TXT record is a list of strings of at most 255 octets; RFC 6376 3.6.2.2: they are read as one. */
const MAX_STRING = 255
const generate = promisify(generateKeyPair)

/** One key of each algorithm, RSA first: it is listed first and signs first. Takes about 0.1 s, off the main thread. */
export async function generateDkimKeys(): Promise<readonly [rsa: DkimKey, ed25519: DkimKey]> {
  const [rsa, ed25519] = await Promise.all([generate('rsa', { modulusLength: RSA_BITS }), generate('ed25519', {})])
  return [
    { algorithm: 'rsa-sha256', privateKey: derOf(rsa.privateKey), dnsValue: dnsValueOf(rsa.publicKey) },
    { algorithm: 'ed25519-sha256', privateKey: derOf(ed25519.privateKey), dnsValue: dnsValueOf(ed25519.publicKey) },
  ]
}

/**
 * The strings of at most 255 octets that a TXT record holds the value in, for DNS interfaces that want them separate.
 */
export function txtStrings(value: string): string[] {
  return value.match(new RegExp(`.{1,${MAX_STRING}}`, 'gs')) ?? []
}

function derOf(key: KeyObject): Buffer {
  return key.export({ type: 'pkcs8', format: 'der' })
}

/** RFC 6376 §3.6.1 for RSA (SubjectPublicKeyInfo), RFC 8463 §4.2 for Ed25519 (the bare 32 octets). */
function dnsValueOf(key: KeyObject): string {
  if (key.asymmetricKeyType === 'rsa')
    return `v=DKIM1; k=rsa; p=${key.export({ type: 'spki', format: 'der' }).toString('base64')}`
  const point = Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url')
  return `v=DKIM1; k=ed25519; p=${point.toString('base64')}`
}
