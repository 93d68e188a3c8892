/**
 * Encrypts secrets at rest with AES-256-GCM. Each purpose has its own key, derived from MASTER_KEY, so a value that was
 * encrypted for one purpose cannot be decrypted for another, and a process has only the keys of its role. Values of
 * sealed purposes are encrypted with a public key (X25519), so that a role can store what it cannot read. Without
 * MASTER_KEY, a master key is generated once and stored in DATA_DIR.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  randomBytes,
  type CipherKey,
} from 'node:crypto'
import { join } from 'node:path'
import { environment } from '#config/environment.ts'
import { ConfigError } from '#config/load.ts'
import { loadOrGenerateSecret } from './generated-secret.ts'
import { isSealed, type KeyRole, type Purpose } from './purposes.ts'
import {
  deriveRoleKeys,
  masterKeySource,
  needsKeys,
  publicBytesOf,
  publicKeyOf,
  readPassedKeys,
  roleKeySource,
  type KeySource,
} from './role-keys.ts'

const SYMMETRIC = 1
const SEALED = 2
const VERSION_BYTES = 1
const PUBLIC_KEY_BYTES = 32
const IV_BYTES = 12
const TAG_BYTES = 16
const KEY_FILE = 'master.key'

export interface Encryption {
  /** version (1) · public key (32, only of sealed purposes) · iv (12) · tag (16) · ciphertext */
  encrypt(purpose: Purpose, plain: Buffer | string): Buffer
  /** @throws when the value was changed, or was encrypted for another purpose or with another master key. */
  decrypt(purpose: Purpose, sealed: Buffer): Buffer
  /** A keyed digest for tokens that the server issues and verifies later (return-paths, links). */
  mac(purpose: Purpose, data: Buffer | string): Buffer
}

/** With all keys. */
export function createEncryption(master: Buffer): Encryption {
  return encryptionWith(masterKeySource(master))
}

/** With the keys of these roles. */
export function createRoleEncryption(master: Buffer, roles: readonly KeyRole[]): Encryption {
  return encryptionWith(roleKeySource(deriveRoleKeys(master, roles)))
}

/** With the keys that the supervisor of this process has passed, else with those of these roles. */
export function loadRoleEncryption(config: KeySettings, roles: readonly KeyRole[]): Encryption {
  const passed = readPassedKeys()
  if (passed !== null) return encryptionWith(roleKeySource(passed))
  const encryption = needsKeys(roles) ? createRoleEncryption(loadMasterKey(config), roles) : encryptionWith(NO_KEYS)
  delete environment['MASTER_KEY']
  return encryption
}

const NO_KEYS = roleKeySource({})

function encryptionWith(keys: KeySource): Encryption {
  return {
    encrypt: (purpose, plain) => (isSealed(purpose) ? seal : encrypt)(keys, purpose, plain),
    decrypt: (purpose, encrypted) => decrypt(keys, purpose, encrypted),
    mac: (purpose, data) => createHmac('sha256', keys.secret(purpose)).update(data).digest(),
  }
}

function encrypt(keys: KeySource, purpose: Purpose, plain: Buffer | string): Buffer {
  return Buffer.concat([Buffer.of(SYMMETRIC), encryptWith(keys.secret(purpose), purpose, plain)])
}

/** ECIES: the key is agreed between a new key pair and the public key of the purpose, and bound to both. */
function seal(keys: KeySource, purpose: Purpose, plain: Buffer | string): Buffer {
  const recipient = keys.seal(purpose)
  const { publicKey, privateKey } = generateKeyPairSync('x25519')
  const sender = publicBytesOf(publicKey)
  const key = agreeKey(diffieHellman({ privateKey, publicKey: recipient }), sender, publicBytesOf(recipient))
  return Buffer.concat([Buffer.of(SEALED), sender, encryptWith(key, purpose, plain)])
}

function agreeKey(shared: Buffer, sender: Buffer, recipient: Buffer): Buffer {
  return Buffer.from(hkdfSync('sha256', shared, Buffer.concat([sender, recipient]), 'mailstead:sealed', 32))
}

function encryptWith(key: CipherKey, purpose: Purpose, plain: Buffer | string): Buffer {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(purpose))
  const body = Buffer.concat([cipher.update(plain), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), body])
}

function decrypt(keys: KeySource, purpose: Purpose, encrypted: Buffer): Buffer {
  const start = encrypted[0] === SEALED ? VERSION_BYTES + PUBLIC_KEY_BYTES : VERSION_BYTES
  const isKnown = encrypted[0] === SYMMETRIC || encrypted[0] === SEALED
  if (!isKnown || encrypted.length < start + IV_BYTES + TAG_BYTES)
    throw new Error(`an encrypted ${purpose} has an unknown format`)
  const key = encrypted[0] === SEALED ? openedKey(keys, purpose, encrypted) : keys.secret(purpose)
  const [iv, tag, body] = splitAt(encrypted.subarray(start), IV_BYTES, IV_BYTES + TAG_BYTES)
  const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(purpose)).setAuthTag(tag)
  try {
    return Buffer.concat([decipher.update(body), decipher.final()])
  } catch {
    throw new Error(`an encrypted ${purpose} cannot be decrypted: MASTER_KEY is not the key it was encrypted with`)
  }
}

function openedKey(keys: KeySource, purpose: Purpose, encrypted: Buffer): Buffer {
  const sender = encrypted.subarray(VERSION_BYTES, VERSION_BYTES + PUBLIC_KEY_BYTES)
  const privateKey = keys.open(purpose)
  const recipient = publicBytesOf(keys.seal(purpose))
  return agreeKey(diffieHellman({ privateKey, publicKey: publicKeyOf(sender) }), sender, recipient)
}

function splitAt(bytes: Buffer, first: number, second: number): [Buffer, Buffer, Buffer] {
  return [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)]
}

interface KeySettings {
  readonly masterKey: string | null
  readonly dataDir: string
}

/** Reads MASTER_KEY, or DATA_DIR/master.key, which is generated when it does not exist. */
export function loadMasterKey(config: KeySettings): Buffer {
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
