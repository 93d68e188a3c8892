/**
 * Encrypts secrets at rest with AES-256-GCM. Each purpose has its own key, derived from MASTER_KEY, so a value that was
 * encrypted for one purpose cannot be decrypted for another. Without MASTER_KEY, a master key is generated once and
 * stored in DATA_DIR.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  randomBytes,
  type KeyObject,
} from 'node:crypto'
import { join } from 'node:path'
import { ConfigError } from '#config/load.ts'
import { loadOrGenerateSecret } from './generated-secret.ts'

const VERSION = 1
const IV_BYTES = 12
const TAG_BYTES = 16
const KEY_FILE = 'master.key'

export interface Encryption {
  /** version (1) · iv (12) · tag (16) · ciphertext */
  encrypt(purpose: string, plain: Buffer | string): Buffer
  /** @throws when the value was changed, or was encrypted for another purpose or with another master key. */
  decrypt(purpose: string, sealed: Buffer): Buffer
  /** A keyed digest for tokens that the server issues and verifies later (return-paths, links). */
  mac(purpose: string, data: Buffer | string): Buffer
}

function deriveKey(master: Buffer, purpose: string): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', master, Buffer.alloc(0), `mailstead:${purpose}`, 32)))
}

function encrypt(key: KeyObject, purpose: string, plain: Buffer | string): Buffer {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(purpose))
  const body = Buffer.concat([cipher.update(plain), cipher.final()])
  return Buffer.concat([Buffer.of(VERSION), iv, cipher.getAuthTag(), body])
}

function decrypt(key: KeyObject, purpose: string, encrypted: Buffer): Buffer {
  if (encrypted[0] !== VERSION || encrypted.length < 1 + IV_BYTES + TAG_BYTES)
    throw new Error(`an encrypted ${purpose} has an unknown format`)
  const decipher = createDecipheriv('aes-256-gcm', key, encrypted.subarray(1, 1 + IV_BYTES), {
    authTagLength: TAG_BYTES,
  })
  decipher.setAAD(Buffer.from(purpose)).setAuthTag(encrypted.subarray(1 + IV_BYTES, 1 + IV_BYTES + TAG_BYTES))
  try {
    return Buffer.concat([decipher.update(encrypted.subarray(1 + IV_BYTES + TAG_BYTES)), decipher.final()])
  } catch {
    throw new Error(`an encrypted ${purpose} cannot be decrypted: MASTER_KEY is not the key it was encrypted with`)
  }
}

export function createEncryption(master: Buffer): Encryption {
  const keys = new Map<string, KeyObject>()
  const keyOf = (purpose: string): KeyObject => {
    const known = keys.get(purpose) ?? deriveKey(master, purpose)
    keys.set(purpose, known)
    return known
  }
  return {
    encrypt: (purpose, plain) => encrypt(keyOf(purpose), purpose, plain),
    decrypt: (purpose, sealed) => decrypt(keyOf(purpose), purpose, sealed),
    mac: (purpose, data) => createHmac('sha256', keyOf(purpose)).update(data).digest(),
  }
}

/** Reads MASTER_KEY, or DATA_DIR/master.key, which is generated when it does not exist. */
export function loadMasterKey(config: { readonly masterKey: string | null; readonly dataDir: string }): Buffer {
  const { masterKey, dataDir } = config
  return masterKey === null
    ? decodeKey(loadOrGenerateSecret(dataDir, KEY_FILE), join(dataDir, KEY_FILE))
    : decodeKey(masterKey, 'MASTER_KEY')
}

/** `source` names the setting or file in the error. */
function decodeKey(text: string, source: string): Buffer {
  const key = Buffer.from(text, /^[0-9a-f]{64}$/i.test(text) ? 'hex' : 'base64')
  if (key.length !== 32)
    throw new ConfigError(`${source} must be 32 bytes, written as 64 hex digits or in base64 (openssl rand -hex 32)`)
  return key
}
