/**
 * Encrypts secrets at rest with AES-256-GCM. Each purpose has its own key, derived from the master key, so a value that
 * was encrypted for one purpose cannot be decrypted for another, and a process has only the keys of its role. Values of
 * sealed purposes are encrypted with a public key (X25519), so that a role can store what it cannot read. The current
 * master key encrypts, and its id is part of the value; every valid key decrypts.
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
import { environment } from '#config/environment.ts'
import { loadMasterKeys, type MasterKeys, type MasterKeySettings } from './master-key.ts'
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

/** The first byte of a value. Values of earlier versions name no key. */
const FORMATS: Readonly<Record<number, { readonly isSealed: boolean; readonly hasKeyId: boolean }>> = {
  1: { isSealed: false, hasKeyId: false },
  2: { isSealed: true, hasKeyId: false },
  3: { isSealed: false, hasKeyId: true },
  4: { isSealed: true, hasKeyId: true },
}
const SYMMETRIC = 3
const SEALED = 4
const VERSION_BYTES = 1
const KEY_ID_BYTES = 4
const PUBLIC_KEY_BYTES = 32
const IV_BYTES = 12
const TAG_BYTES = 16

/** Computes keyed digests with the keys of one master key. */
export type DigestKeys = Pick<Encryption, 'mac'>

export interface Encryption {
  /** The id of the current master key, which is part of each value that is encrypted. */
  readonly keyId: Buffer
  /** version (1) · key id (4) · public key (32, only of sealed purposes) · iv (12) · tag (16) · ciphertext */
  encrypt(purpose: Purpose, plain: Buffer | string): Buffer
  /** @throws when the value was changed, or was encrypted for another purpose or with another master key. */
  decrypt(purpose: Purpose, sealed: Buffer): Buffer
  /** A keyed digest for tokens that the server issues and verifies later (return-paths, links). */
  mac(purpose: Purpose, data: Buffer | string): Buffer
  /** For each valid master key, the current first: a token does not say which key it was issued with. */
  readonly validKeys: readonly DigestKeys[]
}

/** The id in hex of the master key that a value was encrypted with; null if the value is of an earlier version. */
export function keyIdOf(encrypted: Buffer): string | null {
  const format = FORMATS[encrypted[0] ?? 0]
  return format?.hasKeyId === true ? encrypted.toString('hex', VERSION_BYTES, VERSION_BYTES + KEY_ID_BYTES) : null
}

/** The digest of a purpose with each valid key, the current first. */
export function digestsFor(
  { validKeys }: Pick<Encryption, 'validKeys'>,
  purpose: Purpose,
): readonly ((data: Buffer) => Buffer)[] {
  return validKeys.map((keys) => (data) => keys.mac(purpose, data))
}

/** Reads a token that may have been issued with any valid key. Null if `read` returns null for all of them. */
export function readWithValidKeys<T>(
  { validKeys }: Pick<Encryption, 'validKeys'>,
  read: (keys: DigestKeys) => T | null,
): T | null {
  for (const keys of validKeys) {
    const found = read(keys)
    if (found !== null) return found
  }
  return null
}

/** With all keys. */
export function createEncryption(...masters: MasterKeys): Encryption {
  return encryptionWith(masters.map(masterKeySource))
}

/** With the keys of these roles. */
export function createRoleEncryption(masters: MasterKeys, roles: readonly KeyRole[]): Encryption {
  return encryptionWith(deriveRoleKeys(masters, roles).map(roleKeySource))
}

/** With the keys that the supervisor of this process has passed, else with those of these roles. */
export function loadRoleEncryption(settings: MasterKeySettings, roles: readonly KeyRole[]): Encryption {
  const passed = readPassedKeys()
  if (passed !== null) return encryptionWith(passed.map(roleKeySource))
  const encryption = needsKeys(roles) ? createRoleEncryption(loadMasterKeys(settings), roles) : encryptionWith([])
  delete environment['MASTER_KEY']
  return encryption
}

const NO_KEYS = roleKeySource({ id: '', purposes: {} })

function encryptionWith(sources: readonly KeySource[]): Encryption {
  const [current = NO_KEYS] = sources
  const digestKeys = (keys: KeySource): DigestKeys => ({
    mac: (purpose, data) => createHmac('sha256', keys.secret(purpose)).update(data).digest(),
  })
  return {
    encrypt: (purpose, plain) => (isSealed(purpose) ? seal : encrypt)(current, purpose, plain),
    decrypt: (purpose, encrypted) => decrypt(sources.length === 0 ? [NO_KEYS] : sources, purpose, encrypted),
    ...digestKeys(current),
    keyId: current.id,
    validKeys: sources.map(digestKeys),
  }
}

function encrypt(keys: KeySource, purpose: Purpose, plain: Buffer | string): Buffer {
  return Buffer.concat([Buffer.of(SYMMETRIC), keys.id, encryptWith(keys.secret(purpose), purpose, plain)])
}

/** ECIES: the key is agreed between a new key pair and the public key of the purpose, and bound to both. */
function seal(keys: KeySource, purpose: Purpose, plain: Buffer | string): Buffer {
  const recipient = keys.seal(purpose)
  const { publicKey, privateKey } = generateKeyPairSync('x25519')
  const sender = publicBytesOf(publicKey)
  const key = agreeKey(diffieHellman({ privateKey, publicKey: recipient }), sender, publicBytesOf(recipient))
  return Buffer.concat([Buffer.of(SEALED), keys.id, sender, encryptWith(key, purpose, plain)])
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

function decrypt(sources: readonly KeySource[], purpose: Purpose, encrypted: Buffer): Buffer {
  const value = parseValue(purpose, encrypted)
  const fitting = value.keyId === null ? sources : sources.filter(({ id }) => value.keyId?.equals(id))
  for (const keys of fitting) {
    const plain = decryptWith(keys, purpose, value)
    if (plain !== null) return plain
  }
  throw new Error(`an encrypted ${purpose} cannot be decrypted: MASTER_KEY is not the key it was encrypted with`)
}

interface EncryptedValue {
  /** Null: the value is of an earlier version, and any valid key may fit. */
  readonly keyId: Buffer | null
  /** The public key of the sender; null if the value is not sealed. */
  readonly sender: Buffer | null
  /** iv · tag · ciphertext */
  readonly body: Buffer
}

function parseValue(purpose: Purpose, encrypted: Buffer): EncryptedValue {
  const format = FORMATS[encrypted[0] ?? 0]
  const idEnd = VERSION_BYTES + (format?.hasKeyId === true ? KEY_ID_BYTES : 0)
  const start = idEnd + (format?.isSealed === true ? PUBLIC_KEY_BYTES : 0)
  if (format === undefined || encrypted.length < start + IV_BYTES + TAG_BYTES)
    throw new Error(`an encrypted ${purpose} has an unknown format`)
  return {
    keyId: format.hasKeyId ? encrypted.subarray(VERSION_BYTES, idEnd) : null,
    sender: format.isSealed ? encrypted.subarray(idEnd, start) : null,
    body: encrypted.subarray(start),
  }
}

/** Null if this is not the key. */
function decryptWith(keys: KeySource, purpose: Purpose, { sender, body: sealed }: EncryptedValue): Buffer | null {
  const key = sender === null ? keys.secret(purpose) : openedKey(keys, purpose, sender)
  const [iv, tag, body] = splitAt(sealed, IV_BYTES, IV_BYTES + TAG_BYTES)
  const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(purpose)).setAuthTag(tag)
  try {
    return Buffer.concat([decipher.update(body), decipher.final()])
  } catch {
    return null
  }
}

function openedKey(keys: KeySource, purpose: Purpose, sender: Buffer): Buffer {
  const privateKey = keys.open(purpose)
  const recipient = publicBytesOf(keys.seal(purpose))
  return agreeKey(diffieHellman({ privateKey, publicKey: publicKeyOf(sender) }), sender, recipient)
}

function splitAt(bytes: Buffer, first: number, second: number): [Buffer, Buffer, Buffer] {
  return [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)]
}
