/**
 * What an API key looks like: `<prefix>_<workspace>.live_<secret>` for sending, `.adm_` for administration; workspace part and
 * secret are lower-case hex. Only the SHA-256 of the whole key is kept: 256 random bits need no slow hash.
 */
import { hash, randomBytes } from 'node:crypto'

export type KeyKind = 'regular' | 'admin'

const SECRET_BYTES = 32
const KIND_MARKERS: Readonly<Record<KeyKind, string>> = { regular: 'live', admin: 'adm' }
/** The prefix is a setting that may change while keys live on, so any is recognised; the hash covers it. */
const KEY_FORMAT = /^[a-z]{1,32}_[a-f0-9]{8,64}\.(?:live|adm)_[a-f0-9]{64}$/

/** A new key. `keyPart` is the workspace's. */
export function generateKey(prefix: string, keyPart: string, kind: KeyKind): string {
  const key = `${prefix}_${keyPart}.${KIND_MARKERS[kind]}_${randomBytes(SECRET_BYTES).toString('hex')}`
  if (KEY_FORMAT.test(key)) return key
  throw new Error(
    `a key with prefix ${JSON.stringify(prefix)} would not be recognised: KEY_PREFIX must be 1 to 32 lower-case letters`,
  )
}

/** False for everything that cannot be a key of ours; such text is neither hashed nor remembered. */
export function hasKeyFormat(text: string): boolean {
  return text.length <= 256 && KEY_FORMAT.test(text)
}

/** What is stored and compared: 32 bytes. */
export function hashKey(key: string): Buffer {
  return hash('sha256', key, 'buffer')
}
