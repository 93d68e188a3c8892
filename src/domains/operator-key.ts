/**
 * The operator's DKIM key (OPERATOR_DKIM_*): a further signature on the mail of sending domains, for feedback loops
 * that are registered for a DKIM domain, and the ARC seal of forwarded mail. The key comes from the settings, so it is
 * read, and refused, when the process starts.
 */
import { createHash, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { type Config, ConfigError } from '#config/load.ts'
import type { DomainSigningKey } from './signing-keys.ts'

export type OperatorKeySettings = Pick<Config, 'operatorDkimDomain' | 'operatorDkimSelector' | 'operatorDkimKey'>

export interface OperatorKey extends DomainSigningKey {
  /** The value of the TXT record that publishes the key. */
  readonly dnsValue: string
}

/** RFC 8301 3.2 */
const LEAST_BITS = 1024

/** Null if there is none. @throws ConfigError */
export function readOperatorKey(config: OperatorKeySettings): OperatorKey | null {
  const { operatorDkimDomain: domain, operatorDkimSelector: selector, operatorDkimKey: privateKey } = config
  if (domain === null || privateKey === null) return null
  const key = readKey(privateKey)
  const publicKey = createPublicKey(key).export({ type: 'spki', format: 'der' })
  return {
    keyId: `operator ${selector} ${domain} ${createHash('sha256').update(publicKey).digest('hex')}`,
    domain,
    selector,
    algorithm: 'rsa-sha256',
    privateKey: () => key.export({ type: 'pkcs8', format: 'der' }),
    dnsValue: `v=DKIM1; k=rsa; p=${publicKey.toString('base64')}`,
  }
}

function readKey(pem: string): KeyObject {
  try {
    const key = createPrivateKey(pem)
    const bits = key.asymmetricKeyDetails?.modulusLength ?? 0
    if (key.asymmetricKeyType === 'rsa' && bits >= LEAST_BITS) return key
  } catch {
    // the message below says what is expected; that of OpenSSL might quote the key
  }
  throw new ConfigError(`OPERATOR_DKIM_KEY must be a private RSA key of at least ${LEAST_BITS} bits in PEM`)
}

/** The keys of a sending domain and the operator's; a domain of the operator does not need a second signature. */
export function withOperatorKey(
  keys: readonly DomainSigningKey[],
  operator: DomainSigningKey | null,
): readonly DomainSigningKey[] {
  const isSigned = operator === null || keys.some(({ domain }) => domain === operator.domain)
  return isSigned ? keys : [...keys, operator]
}
