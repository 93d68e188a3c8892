/**
 * The format of an API key: `<prefix>_<workspace>.live_<secret>` for sending, `.adm_` for administration; workspace
 * part and secret are lower-case hex. Only the SHA-256 of the whole key is stored: 256 random bits need no slow hash.
 */
import { hash, randomBytes } from 'node:crypto'

export type KeyKind = 'regular' | 'admin'

const SECRET_BYTES = 32
const KIND_MARKERS: Readonly<Record<KeyKind, string>> = { regular: 'live', admin: 'adm' }
/** Any prefix is accepted, because the setting may change while keys stay valid; the hash covers the prefix. */
const KEY_FORMAT = /^[a-z]{1,32}_[a-f0-9]{8,64}\.(?:live|adm)_[a-f0-9]{64}$/

/** Generates a key. `keyPart` is the part of the workspace. */
export function generateKey(prefix: string, keyPart: string, kind: KeyKind): string {
  const key = `${prefix}_${keyPart}.${KIND_MARKERS[kind]}_${randomBytes(SECRET_BYTES).toString('hex')}`
  if (KEY_FORMAT.test(key)) return key
  throw new Error(`KEY_PREFIX ${JSON.stringify(prefix)} is invalid: it must be 1 to 32 lower-case letters`)
}

/** False for text that cannot be a key of this server; such text is neither hashed nor cached. */
export function hasKeyFormat(text: string): boolean {
  return text.length <= 256 && KEY_FORMAT.test(text)
}

/** The 32 bytes that are stored and compared. */
export function hashKey(key: string): Buffer {
  return hash('sha256', key, 'buffer')
}
