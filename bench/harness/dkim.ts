/**
 * The key that the reference servers sign with, and the proof that a server
 * really signed: the latest message at the sink is checked with mailauth
 * against the published key. A benchmark of signing servers in which one does
 * not sign would be worth nothing, so a bad signature fails the run.
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

export function makeDkimKey(): DkimKey {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'der' },
  })
  return { privatePem: privateKey, record: `v=DKIM1; k=rsa; p=${publicKey.toString('base64')}` }
}

/**
 * What is wrong with the signatures of a message; null when it has an RSA one of 2048 bits and all are good.
 * `records` are TXT records by name.
 */
export async function judgeSignature(
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
  if (results.length === 0) return 'it has no DKIM signature'
  const bad = results.find(({ status }) => status.result !== 'pass')
  if (bad) {
    const { signingDomain, algo, status } = bad
    return `the DKIM signature of ${signingDomain} (${algo}) is judged ${status.result}: ${status.comment ?? 'no reason given'}`
  }
  const rsa = results.find(({ algo }) => algo === 'rsa-sha256')
  return rsa === undefined ? 'it has no RSA signature' : null
}
