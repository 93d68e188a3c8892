/**
 * The key that the reference servers sign with, and the check that a server
 * really signed: mailauth verifies the latest message at the sink with the
 * published key. A comparison with a server that does not sign is worthless,
 * so a missing or bad signature fails the run.
 */
import { generateKeyPairSync } from 'node:crypto'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'

export const SENDER_DOMAIN = 'bench.example'
export const SENDER = `sender@${SENDER_DOMAIN}`
export const SELECTOR = 'bench'

export interface DkimKey {
  /** PKCS#8 PEM, RSA-2048. */
  readonly privatePem: string
  /** The TXT record of `SELECTOR._domainkey.SENDER_DOMAIN`. */
  readonly record: string
}

export function generateDkimKey(): DkimKey {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'der' },
  })
  return { privatePem: privateKey, record: `v=DKIM1; k=rsa; p=${publicKey.toString('base64')}` }
}

/**
 * Returns what is wrong with the signatures of a message; null when all are valid and one is RSA with 2048 bits.
 * `records` are TXT records by name.
 */
export async function verifySignature(
  message: Uint8Array,
  records: Readonly<Record<string, string>>,
): Promise<string | null> {
  const { results } = await dkimVerify(Buffer.from(message), {
    minBitLength: 2048,
    resolver: async (name: string) => {
      const record = records[name.toLowerCase()]
      if (record === undefined) throw Object.assign(new Error(`no record ${name}`), { code: 'ENOTFOUND' })
      return [[record]]
    },
  })
  if (results.length === 0) return 'the message has no DKIM signature'
  const bad = results.find(({ status }) => status.result !== 'pass')
  if (bad) {
    const { signingDomain, algo, status } = bad
    const reason = status.comment ?? 'no reason given'
    return `the DKIM signature of ${signingDomain} (${algo}) has the result ${status.result}: ${reason}`
  }
  const rsa = results.find(({ algo }) => algo === 'rsa-sha256')
  return rsa === undefined ? 'the message has no RSA signature' : null
}
