/**
 * The token in the unsubscribe link of bulk mail that was sent by API: it names message, recipient, workspace and
 * address. The address is in it because such mail has no contact, and the link must work when the message is no longer
 * stored. It is encrypted, so that logs and forwarded mail do not show it, and always in the same way (SIV: the
 * initialisation vector is the MAC of the content), so that a retry repeats the octets. Nothing is stored for a token.
 */
import { createCipheriv, createDecipheriv, timingSafeEqual } from 'node:crypto'
import { readWithValidKeys, type DigestKeys, type Encryption } from '#src/crypto/encryption.ts'
import { hexOf, idOfHex } from '#src/platform/id.ts'
import type { HitRef } from './tokens.ts'

export interface AddressRef extends Omit<HitRef, 'senderId'> {
  readonly workspaceId: string
  readonly address: string
}

const PURPOSE = 'unsubscribe-address'
const CIPHER = 'aes-256-ctr'
const IV_BYTES = 16
const ID_BYTES = 34
/** RFC 5321 §4.5.3.1.3, with room for addresses in UTF-8. */
const MAX_ADDRESS_BYTES = 512
const TOKEN = /^[A-Za-z0-9_-]{68,760}$/

export interface AddressTokens {
  write(ref: AddressRef): string
  /** Null for a token that this installation did not make. */
  read(token: string): AddressRef | null
}

/** Issues tokens with the current master key, and reads those that were issued with any valid one. */
export function createAddressTokens(encryption: Pick<Encryption, 'mac' | 'validKeys'>): AddressTokens {
  return {
    write: (ref) => tokensOf(encryption).write(ref),
    read: (token) => readWithValidKeys(encryption, (keys) => tokensOf(keys).read(token)),
  }
}

function tokensOf(keys: DigestKeys): AddressTokens {
  const key = (): Buffer => keys.mac(PURPOSE, 'key')
  const vectorOf = (plain: Buffer): Buffer =>
    keys.mac(PURPOSE, Buffer.concat([Buffer.from('content:'), plain])).subarray(0, IV_BYTES)
  return {
    write: (ref) => {
      const plain = encode(ref)
      const vector = vectorOf(plain)
      return Buffer.concat([vector, createCipheriv(CIPHER, key(), vector).update(plain)]).toString('base64url')
    },
    read: (token) => {
      const bytes = TOKEN.test(token) ? Buffer.from(token, 'base64url') : Buffer.alloc(0)
      if (bytes.length <= IV_BYTES + ID_BYTES || bytes.toString('base64url') !== token) return null
      const vector = bytes.subarray(0, IV_BYTES)
      const plain = createDecipheriv(CIPHER, key(), vector).update(bytes.subarray(IV_BYTES))
      return timingSafeEqual(vectorOf(plain), vector) ? decode(plain) : null
    },
  }
}

function encode({ messageId, n, workspaceId, address }: AddressRef): Buffer {
  const ids = Buffer.alloc(ID_BYTES)
  ids.write(hexOf(messageId), 'hex')
  ids.writeUInt16BE(n, 16)
  ids.write(hexOf(workspaceId), 18, 'hex')
  return Buffer.concat([ids, Buffer.from(address).subarray(0, MAX_ADDRESS_BYTES)])
}

function decode(plain: Buffer): AddressRef {
  return {
    messageId: idOfHex(plain.toString('hex', 0, 16)),
    n: plain.readUInt16BE(16),
    workspaceId: idOfHex(plain.toString('hex', 18, ID_BYTES)),
    address: plain.toString('utf8', ID_BYTES),
  }
}
