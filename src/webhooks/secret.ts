/**
 * The secret of an endpoint: `whsec_` and 32 random bytes in base64, as Standard Webhooks say. Shown once, kept sealed.
 * After a rotation the previous one signs too, for 24 hours.
 */
import { createSecretKey, randomBytes, type KeyObject } from 'node:crypto'
import type { Vault } from '#src/crypto/encryption.ts'

const PREFIX = 'whsec_'
const PURPOSE = 'webhook'
const SECRET_BYTES = 32
const MAX_REMEMBERED = 1000

export const ROTATION_HOURS = 24

/** One secret, ready to sign with. */
export interface SigningKey {
  /** The bytes behind `whsec_`: for `webhook-signature`. */
  readonly standard: KeyObject
  /** The secret as it was shown, `whsec_` included: for `X-Webhook-Signature`, so that a simple receiver need not decode anything. */
  readonly simple: KeyObject
}

export function newSecret(): string {
  return PREFIX + randomBytes(SECRET_BYTES).toString('base64')
}

export function sealSecret(vault: Vault, secret: string): Buffer {
  return vault.seal(PURPOSE, secret)
}

export function keyOf(secret: string): SigningKey {
  return {
    standard: createSecretKey(Buffer.from(secret.slice(PREFIX.length), 'base64')),
    simple: createSecretKey(Buffer.from(secret)),
  }
}

/** @throws when the secret cannot be opened: MASTER_KEY is another one. */
export type Opener = (sealed: Buffer) => SigningKey

/** Opens sealed secrets and remembers them. */
export function createOpener(vault: Vault): Opener {
  const known = new Map<string, SigningKey>()
  return (sealed) => {
    const name = sealed.toString('latin1')
    const key = known.get(name) ?? keyOf(vault.open(PURPOSE, sealed).toString())
    if (known.size >= MAX_REMEMBERED) known.clear()
    known.set(name, key)
    return key
  }
}
