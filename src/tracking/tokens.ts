/**
 * Tokens in the links of a message. A token names its subject and proves by a MAC that this installation made it.
 * Nothing is stored for it, so it never expires and works after the message is deleted. Each use has its own key: a
 * token for one use is invalid for another. Open, click and view: 16 bytes message id, 2 bytes recipient number, 12
 * bytes MAC. The MAC of a click uses a key of its message and covers the URL (click-signer.ts). Unsubscribe: message,
 * recipient, workspace, contact and audience. A local part has room for contact, audience and 6 bytes of MAC; the ids
 * are not public.
 */
import { timingSafeEqual } from 'node:crypto'
import { hexOf, idOfHex } from '#src/platform/id.ts'
import { fromBase32, toBase32 } from '#src/mail/base32.ts'
import type { Encryption } from '#src/crypto/encryption.ts'
import type { Purpose } from '#src/crypto/purposes.ts'
import { CLICK_MAC_BYTES, clickDigest } from './click-signer.ts'

export interface HitRef {
  readonly messageId: string
  /** Index of the recipient in the message. */
  readonly n: number
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

const HIT_BYTES = 18
const LIST_BYTES = HIT_BYTES + 48
const MAILBOX_BYTES = 32
const MAC_BYTES = 12
/** A local part has at most 64 octets (RFC 5321 4.5.3.1.1). */
const MAILBOX_MAC_BYTES = 6
const NO_ID = '0'.repeat(32)
const BASE64URL = /^[A-Za-z0-9_-]+$/

export function createTrackingTokens(encryption: Pick<Encryption, 'mac'>): TrackingTokens {
  const digest = (purpose: Purpose, data: Buffer, bytes = MAC_BYTES): Buffer =>
    encryption.mac(purpose, data).subarray(0, bytes)
  const clickKeyOf = (mail: Buffer): Buffer => encryption.mac('tracking-click', mail)
  return {
    hit: (use, ref) => {
      const plain = writeHit(ref)
      return Buffer.concat([plain, digest(`tracking-${use}`, plain)]).toString('base64url')
    },
    readHit: (use, token) => {
      const plain = verified(bytesOf(token, HIT_BYTES + MAC_BYTES), HIT_BYTES, (data) =>
        digest(`tracking-${use}`, data),
      )
      return plain === null ? null : readHit(plain)
    },
    clickKey: (ref) => {
      const mail = writeHit(ref)
      return { mail, key: clickKeyOf(mail) }
    },
    readClick: (token, url) => {
      const plain = verified(bytesOf(token, HIT_BYTES + CLICK_MAC_BYTES), HIT_BYTES, (mail) =>
        clickDigest(clickKeyOf(mail), url),
      )
      return plain === null ? null : readHit(plain)
    },
    list: (ref) => {
      const plain = Buffer.concat([
        writeHit(ref),
        idBytes(ref.workspaceId),
        idBytes(ref.contactId),
        idBytes(ref.audienceId),
      ])
      return Buffer.concat([plain, digest('unsubscribe', plain)]).toString('base64url')
    },
    readList: (token) => {
      const plain = verified(bytesOf(token, LIST_BYTES + MAC_BYTES), LIST_BYTES, (data) => digest('unsubscribe', data))
      if (plain === null) return null
      return {
        ...readHit(plain),
        workspaceId: idOfHex(plain.toString('hex', 18, 34)),
        contactId: idAt(plain, 34),
        audienceId: idAt(plain, 50),
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

function writeHit({ messageId, n }: HitRef): Buffer {
  const plain = Buffer.alloc(HIT_BYTES)
  plain.write(hexOf(messageId), 'hex')
  plain.writeUInt16BE(n, 16)
  return plain
}

function readHit(plain: Buffer): HitRef {
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
function bytesOf(token: string, length: number): Buffer | null {
  if (!BASE64URL.test(token)) return null
  const bytes = Buffer.from(token, 'base64url')
  return bytes.length === length && bytes.toString('base64url') === token ? bytes : null
}

function verified(bytes: Buffer | null, length: number, digest: (plain: Buffer) => Buffer): Buffer | null {
  if (bytes === null || bytes.length <= length) return null
  const plain = bytes.subarray(0, length)
  const expected = digest(plain)
  const given = bytes.subarray(length)
  return given.length === expected.length && timingSafeEqual(given, expected) ? plain : null
}
