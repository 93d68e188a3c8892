/**
 * The keys of a role: those of its purposes (`purposes.ts`), derived from each valid master key (`master-key.ts`). A
 * supervisor that holds the master keys passes them to a role through a pipe, whose descriptor ROLE_KEYS_FD names; a
 * role that is started alone derives them itself. In both cases nothing of a master key remains in the role.
 */
import { createPrivateKey, createPublicKey, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'
import { closeSync, readFileSync } from 'node:fs'
import { environment } from '#config/environment.ts'
import type { MasterKeys } from './master-key.ts'
import { isSealed, type KeyRole, type Purpose, PURPOSES } from './purposes.ts'

/** For each valid master key, the current first. */
export type RoleKeys = readonly MasterRoleKeys[]

interface MasterRoleKeys {
  /** The id of the master key, in hex. */
  readonly id: string
  /** Keys in hex. A purpose that is missing cannot be used. */
  readonly purposes: Readonly<Record<string, PurposeKeys>>
}

interface PurposeKeys {
  /** The symmetric key. */
  readonly secret?: string
  /** X25519: decrypts what was sealed. */
  readonly open?: string
  /** X25519: seals. */
  readonly seal?: string
}

type FindKey = (purpose: Purpose) => KeyObject

/** The keys of one process from one master key. @throws for a purpose that the process may not use. */
export interface KeySource {
  /** Names the master key in what is encrypted with it. */
  readonly id: Buffer
  readonly secret: FindKey
  readonly open: FindKey
  readonly seal: FindKey
}

/** The setting of a role that gets its keys from its supervisor. */
export const KEYS_DESCRIPTOR = 'ROLE_KEYS_FD'

// RFC 8410: the DER encoding of an X25519 key is a constant prefix and 32 bytes.
const PRIVATE_PREFIX = Buffer.from('302e020100300506032b656e04220420', 'hex')
const PUBLIC_PREFIX = Buffer.from('302a300506032b656e032100', 'hex')

const ID_BYTES = 4

/** Names a master key, and says nothing else about it. */
export function masterKeyId(master: Buffer): Buffer {
  return derive(master, 'mailstead:key-id').subarray(0, ID_BYTES)
}

/** All keys, each derived at its first use. */
export function masterKeySource(master: Buffer): KeySource {
  return cacheKeys({
    id: masterKeyId(master),
    secret: (purpose) => createSecretKey(deriveSecret(master, purpose)),
    open: (purpose) => privateKeyOf(deriveSeed(master, purpose)),
    seal: (purpose) => createPublicKey(privateKeyOf(deriveSeed(master, purpose))),
  })
}

/** The keys of some roles. */
export function roleKeySource({ id, purposes }: MasterRoleKeys): KeySource {
  const find = (purpose: Purpose, kind: keyof PurposeKeys): Buffer => {
    const hex = purposes[purpose]?.[kind]
    if (hex === undefined) throw new Error(`this role has no key to ${VERBS[kind]} ${purpose} (src/crypto/purposes.ts)`)
    return Buffer.from(hex, 'hex')
  }
  return cacheKeys({
    id: Buffer.from(id, 'hex'),
    secret: (purpose) => createSecretKey(find(purpose, 'secret')),
    open: (purpose) => privateKeyOf(find(purpose, 'open')),
    seal: (purpose) => publicKeyOf(find(purpose, 'seal')),
  })
}

const VERBS = { secret: 'use', open: 'decrypt', seal: 'encrypt' } as const satisfies Record<keyof PurposeKeys, string>

/** Derives the keys of some roles, for `roleKeySource` here or in another process. */
export function deriveRoleKeys(masters: MasterKeys, roles: readonly KeyRole[]): RoleKeys {
  return masters.map((master) => ({ id: masterKeyId(master).toString('hex'), purposes: purposeKeys(master, roles) }))
}

function purposeKeys(master: Buffer, roles: readonly KeyRole[]): MasterRoleKeys['purposes'] {
  const keys: Record<string, PurposeKeys> = {}
  for (const [purpose, row] of PURPOSES) {
    const mayUse = row.keys.some((role) => roles.includes(role))
    const maySeal = mayUse || (row.seal ?? []).some((role) => roles.includes(role))
    if (!maySeal) continue
    keys[purpose] = {
      ...(mayUse ? { secret: deriveSecret(master, purpose).toString('hex') } : {}),
      ...(isSealed(purpose) ? { seal: publicBytes(master, purpose).toString('hex') } : {}),
      ...(mayUse && isSealed(purpose) ? { open: deriveSeed(master, purpose).toString('hex') } : {}),
    }
  }
  return keys
}

/** Whether any of the roles has a key. */
export function needsKeys(roles: readonly KeyRole[]): boolean {
  return [...PURPOSES.values()].some(({ keys, seal = [] }) => [...keys, ...seal].some((role) => roles.includes(role)))
}

/** The keys that the supervisor passes; null if there are none. Can be read once. */
export function readPassedKeys(): RoleKeys | null {
  const descriptor = environment[KEYS_DESCRIPTOR]
  if (descriptor === undefined || descriptor === '') return null
  delete environment[KEYS_DESCRIPTOR]
  const text = readFileSync(Number(descriptor), 'utf8')
  closeSync(Number(descriptor))
  return JSON.parse(text) as RoleKeys
}

function deriveSecret(master: Buffer, purpose: Purpose): Buffer {
  return derive(master, `mailstead:${purpose}`)
}

function deriveSeed(master: Buffer, purpose: Purpose): Buffer {
  return derive(master, `mailstead:seal:${purpose}`)
}

function derive(master: Buffer, info: string): Buffer {
  return Buffer.from(hkdfSync('sha256', master, Buffer.alloc(0), info, 32))
}

function privateKeyOf(seed: Buffer): KeyObject {
  return createPrivateKey({ key: Buffer.concat([PRIVATE_PREFIX, seed]), format: 'der', type: 'pkcs8' })
}

/** From the 32 bytes of an X25519 public key. */
export function publicKeyOf(bytes: Buffer): KeyObject {
  return createPublicKey({ key: Buffer.concat([PUBLIC_PREFIX, bytes]), format: 'der', type: 'spki' })
}

/** The 32 bytes of an X25519 public key. */
export function publicBytesOf(key: KeyObject): Buffer {
  return key.export({ format: 'der', type: 'spki' }).subarray(PUBLIC_PREFIX.length)
}

function publicBytes(master: Buffer, purpose: Purpose): Buffer {
  return publicBytesOf(createPublicKey(privateKeyOf(deriveSeed(master, purpose))))
}

function cacheKeys(source: KeySource): KeySource {
  const remember = (find: FindKey): FindKey => {
    const known = new Map<Purpose, KeyObject>()
    return (purpose) => {
      const key = known.get(purpose) ?? find(purpose)
      known.set(purpose, key)
      return key
    }
  }
  return { id: source.id, secret: remember(source.secret), open: remember(source.open), seal: remember(source.seal) }
}
