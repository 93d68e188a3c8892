/**
 * The secret of an endpoint: `whsec_` and 32 random bytes in base64, as in Standard Webhooks. It is shown once and
 * stored encrypted. After a rotation the previous secret also signs for 24 hours.
 */
import { createSecretKey, randomBytes, type KeyObject } from 'node:crypto'
import type { Encryption } from '#src/crypto/encryption.ts'

const PREFIX = 'whsec_'
const PURPOSE = 'webhook'
const SECRET_BYTES = 32
const MAX_CACHED = 1000

export const ROTATION_HOURS = 24

/** The keys of one secret. */
export interface WebhookSigningKey {
  /** The bytes after `whsec_`: for `webhook-signature`. */
  readonly standard: KeyObject
  /** The whole secret with `whsec_`: for `X-Webhook-Signature`, so that a simple receiver decodes nothing. */
  readonly simple: KeyObject
}

export function newSecret(): string {
  return PREFIX + randomBytes(SECRET_BYTES).toString('base64')
}

export function encryptSecret(encryption: Encryption, secret: string): Buffer {
  return encryption.encrypt(PURPOSE, secret)
}

export function signingKeyOf(secret: string): WebhookSigningKey {
  return {
    standard: createSecretKey(Buffer.from(secret.slice(PREFIX.length), 'base64')),
    simple: createSecretKey(Buffer.from(secret)),
  }
}

/** @throws if the secret cannot be decrypted: MASTER_KEY has changed. */
export type SecretDecryptor = (sealed: Buffer) => WebhookSigningKey

/** Decrypts secrets and caches them. */
export function createSecretDecryptor(encryption: Encryption): SecretDecryptor {
  const cache = new Map<string, WebhookSigningKey>()
  return (encrypted) => {
    const name = encrypted.toString('latin1')
    const key = cache.get(name) ?? signingKeyOf(encryption.decrypt(PURPOSE, encrypted).toString())
    if (cache.size >= MAX_CACHED) cache.clear()
    cache.set(name, key)
    return key
  }
}
