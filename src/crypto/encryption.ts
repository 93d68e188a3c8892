/**
 * Secrets at rest and hashes of keys. Everything sealed is AES-256-GCM under a key derived from MASTER_KEY, bound to a purpose:
 * a value sealed for one purpose cannot be opened for another. The master key is generated once into DATA_DIR when it is not given.
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
import { keptSecret } from './generated-secret.ts'

const VERSION = 1
const IV_BYTES = 12
const TAG_BYTES = 16
const KEY_FILE = 'master.key'

export interface Vault {
  /** version (1) · iv (12) · tag (16) · ciphertext */
  seal(purpose: string, plain: Buffer | string): Buffer
  /** @throws when the value was changed, sealed for another purpose or under another master key. */
  open(purpose: string, sealed: Buffer): Buffer
  /** A keyed digest for tokens that we hand out and must recognise (return-paths, links). */
  mac(purpose: string, data: Buffer | string): Buffer
}

function derive(master: Buffer, purpose: string): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', master, Buffer.alloc(0), `mailstead:${purpose}`, 32)))
}

function seal(key: KeyObject, purpose: string, plain: Buffer | string): Buffer {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(purpose))
  const body = Buffer.concat([cipher.update(plain), cipher.final()])
  return Buffer.concat([Buffer.of(VERSION), iv, cipher.getAuthTag(), body])
}

function open(key: KeyObject, purpose: string, sealed: Buffer): Buffer {
  if (sealed[0] !== VERSION || sealed.length < 1 + IV_BYTES + TAG_BYTES)
    throw new Error(`a sealed ${purpose} has an unknown form`)
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(1, 1 + IV_BYTES), { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(purpose)).setAuthTag(sealed.subarray(1 + IV_BYTES, 1 + IV_BYTES + TAG_BYTES))
  try {
    return Buffer.concat([decipher.update(sealed.subarray(1 + IV_BYTES + TAG_BYTES)), decipher.final()])
  } catch {
    throw new Error(`a sealed ${purpose} cannot be opened: MASTER_KEY is not the one it was sealed with`)
  }
}

export function openVault(master: Buffer): Vault {
  const keys = new Map<string, KeyObject>()
  const keyOf = (purpose: string): KeyObject => {
    const known = keys.get(purpose) ?? derive(master, purpose)
    keys.set(purpose, known)
    return known
  }
  return {
    seal: (purpose, plain) => seal(keyOf(purpose), purpose, plain),
    open: (purpose, sealed) => open(keyOf(purpose), purpose, sealed),
    mac: (purpose, data) => createHmac('sha256', keyOf(purpose)).update(data).digest(),
  }
}

/** Reads MASTER_KEY, else DATA_DIR/master.key, which is made when it is not there. */
export function loadMasterKey(config: { readonly masterKey: string | null; readonly dataDir: string }): Buffer {
  const { masterKey, dataDir } = config
  return masterKey === null
    ? decodeKey(keptSecret(dataDir, KEY_FILE), join(dataDir, KEY_FILE))
    : decodeKey(masterKey, 'MASTER_KEY')
}

/** `name`: where it stands. */
function decodeKey(text: string, name: string): Buffer {
  const key = Buffer.from(text, /^[0-9a-f]{64}$/i.test(text) ? 'hex' : 'base64')
  if (key.length !== 32)
    throw new ConfigError(`${name} must be 32 bytes, written as 64 hex digits or in base64 (openssl rand -hex 32)`)
  return key
}
