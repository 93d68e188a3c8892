/**
 * Tokens in the links of a message. A token names its subject and proves by a MAC that this installation made it.
 * Nothing is stored for it, so it never expires and works after the message is deleted. Each use has its own key: a
 * token for one use is invalid for another. Open, click and view: 16 bytes message id, 2 bytes recipient number, 16
 * bytes sender, 12 bytes MAC. The sender is there so that the links of a closed sender can be refused even when the
 * message is no longer stored (sender-status.ts); tokens of earlier versions have none. The MAC of a click uses a key
 * of its message and covers the URL (click-signer.ts). Unsubscribe: message, recipient, workspace, contact, audience
 * and sender. A local part has room for contact, audience and 6 bytes of MAC; the ids are not public.
 */
import { timingSafeEqual } from 'node:crypto'
import { hexOf, idOfHex } from '#src/platform/id.ts'
import { fromBase32, toBase32 } from '#src/mail/base32.ts'
import { readWithValidKeys, type DigestKeys, type Encryption } from '#src/crypto/encryption.ts'
import type { Purpose } from '#src/crypto/purposes.ts'
import { clickDigest } from './click-signer.ts'

export interface HitRef {
  readonly messageId: string
  /** Index of the recipient in the message. */
  readonly n: number
  /** Id of the sending domain, or of the workspace if there is none; null in tokens of earlier versions. */
  readonly senderId: string | null
}

/** The contact and audience of an unsubscribe link, and its message. */
export interface ListRef extends HitRef {
  readonly workspaceId: string
  /** Null if the message was to an address without a contact. */
  readonly contactId: string | null
  /** Null: the message belongs to no audience. */
  readonly audienceId: string | null
}

export type MailboxRef = Pick<ListRef, 'audienceId'> & { readonly contactId: string }

type HitUse = 'open' | 'view'

export interface TrackingTokens {
  hit(use: HitUse, ref: HitRef): string
  /** Null for a token that this installation did not make. */
  readHit(use: HitUse, token: string): HitRef | null
  /** The data of a click signer: the octets that its tokens begin with, and the key of its MACs. */
  clickKey(ref: HitRef): { readonly mail: Buffer; readonly key: Buffer }
  /** Null for a token that was not signed for this URL. */
  readClick(token: string, url: string): HitRef | null
  list(ref: ListRef): string
  readList(token: string): ListRef | null
  /** For the local part of an address: case-insensitive, 61 characters. */
  mailbox(ref: MailboxRef): string
  readMailbox(token: string): MailboxRef | null
}

const RECIPIENT_BYTES = 18
const HIT_BYTES = RECIPIENT_BYTES + 16
const LIST_BYTES = RECIPIENT_BYTES + 64
/** Of this version, and of earlier ones without the sender. */
const HIT_LENGTHS = [HIT_BYTES, RECIPIENT_BYTES] as const
const LIST_LENGTHS = [LIST_BYTES, LIST_BYTES - 16] as const
const MAILBOX_BYTES = 32
/** Also of a click (click-signer.ts). */
const MAC_BYTES = 12
/** A local part has at most 64 octets (RFC 5321 4.5.3.1.1). */
const MAILBOX_MAC_BYTES = 6
const NO_ID = '0'.repeat(32)
const BASE64URL = /^[A-Za-z0-9_-]+$/

/** Issues tokens with the current master key, and reads those that were issued with any valid one. */
export function createTrackingTokens(encryption: Pick<Encryption, 'mac' | 'validKeys'>): TrackingTokens {
  const current = tokensOf(encryption)
  const readWith = <T>(read: (tokens: TrackingTokens) => T | null): T | null =>
    readWithValidKeys(encryption, (keys) => read(tokensOf(keys)))
  return {
    ...current,
    readHit: (use, token) => readWith((tokens) => tokens.readHit(use, token)),
    readClick: (token, url) => readWith((tokens) => tokens.readClick(token, url)),
    readList: (token) => readWith((tokens) => tokens.readList(token)),
    readMailbox: (token) => readWith((tokens) => tokens.readMailbox(token)),
  }
}

function tokensOf(keys: DigestKeys): TrackingTokens {
  const digest = (purpose: Purpose, data: Buffer, bytes = MAC_BYTES): Buffer =>
    keys.mac(purpose, data).subarray(0, bytes)
  const clickKeyOf = (mail: Buffer): Buffer => keys.mac('tracking-click', mail)
  return {
    hit: (use, ref) => {
      const plain = writeHit(ref)
      return Buffer.concat([plain, digest(`tracking-${use}`, plain)]).toString('base64url')
    },
    readHit: (use, token) => {
      const plain = verifiedOf(token, HIT_LENGTHS, (data) => digest(`tracking-${use}`, data))
      return plain === null ? null : readHit(plain)
    },
    clickKey: (ref) => {
      const mail = writeHit(ref)
      return { mail, key: clickKeyOf(mail) }
    },
    readClick: (token, url) => {
      const plain = verifiedOf(token, HIT_LENGTHS, (mail) => clickDigest(clickKeyOf(mail), url))
      return plain === null ? null : readHit(plain)
    },
    list: (ref) => {
      const ids = [ref.workspaceId, ref.contactId, ref.audienceId, ref.senderId].map(idBytes)
      const plain = Buffer.concat([writeRecipient(ref), ...ids])
      return Buffer.concat([plain, digest('unsubscribe', plain)]).toString('base64url')
    },
    readList: (token) => {
      const plain = verifiedOf(token, LIST_LENGTHS, (data) => digest('unsubscribe', data))
      if (plain === null) return null
      return {
        ...readRecipient(plain),
        workspaceId: idOfHex(plain.toString('hex', 18, 34)),
        contactId: idAt(plain, 34),
        audienceId: idAt(plain, 50),
        senderId: plain.length === LIST_BYTES ? idAt(plain, 66) : null,
      }
    },
    mailbox: ({ contactId, audienceId }) => {
      const plain = Buffer.concat([idBytes(contactId), idBytes(audienceId)])
      return toBase32(Buffer.concat([plain, digest('unsubscribe-mailbox', plain, MAILBOX_MAC_BYTES)]))
    },
    readMailbox: (token) => {
      const bytes = fromBase32(token.toLowerCase())
      const isOneOfOurs = bytes !== null && toBase32(bytes) === token.toLowerCase()
      const plain = verified(isOneOfOurs ? bytes : null, MAILBOX_BYTES, (data) =>
        digest('unsubscribe-mailbox', data, MAILBOX_MAC_BYTES),
      )
      const contactId = plain === null ? null : idAt(plain, 0)
      return plain === null || contactId === null ? null : { contactId, audienceId: idAt(plain, 16) }
    },
  }
}

/** The id of the message that a token names, unverified: for the operator, who may have it from a report only. */
export function messageIdOfToken(token: string): string | null {
  const bytes = bytesOf(token)
  return bytes === null || bytes.length < RECIPIENT_BYTES ? null : idOfHex(bytes.toString('hex', 0, 16))
}

function writeHit(ref: HitRef): Buffer {
  return Buffer.concat([writeRecipient(ref), idBytes(ref.senderId)])
}

function writeRecipient({ messageId, n }: Pick<HitRef, 'messageId' | 'n'>): Buffer {
  const plain = Buffer.alloc(RECIPIENT_BYTES)
  plain.write(hexOf(messageId), 'hex')
  plain.writeUInt16BE(n, 16)
  return plain
}

function readHit(plain: Buffer): HitRef {
  return { ...readRecipient(plain), senderId: plain.length === HIT_BYTES ? idAt(plain, RECIPIENT_BYTES) : null }
}

function readRecipient(plain: Buffer): Pick<HitRef, 'messageId' | 'n'> {
  return { messageId: idOfHex(plain.toString('hex', 0, 16)), n: plain.readUInt16BE(16) }
}

function idBytes(id: string | null): Buffer {
  return Buffer.from(id === null ? NO_ID : hexOf(id), 'hex')
}

function idAt(plain: Buffer, at: number): string | null {
  const hex = plain.toString('hex', at, at + 16)
  return hex === NO_ID ? null : idOfHex(hex)
}

/** Accepts only the canonical base64url form of a token. */
function bytesOf(token: string): Buffer | null {
  if (!BASE64URL.test(token)) return null
  const bytes = Buffer.from(token, 'base64url')
  return bytes.toString('base64url') === token ? bytes : null
}

/** The data of a token of this or an earlier version, which differ in length. */
function verifiedOf(token: string, lengths: readonly number[], digest: (plain: Buffer) => Buffer): Buffer | null {
  const bytes = bytesOf(token)
  const length = lengths.find((one) => bytes?.length === one + MAC_BYTES)
  return length === undefined ? null : verified(bytes, length, digest)
}

function verified(bytes: Buffer | null, length: number, digest: (plain: Buffer) => Buffer): Buffer | null {
  if (bytes === null || bytes.length <= length) return null
  const plain = bytes.subarray(0, length)
  const expected = digest(plain)
  const given = bytes.subarray(length)
  return given.length === expected.length && timingSafeEqual(given, expected) ? plain : null
}
