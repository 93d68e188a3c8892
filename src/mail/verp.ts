/**
 * The return-path: one envelope sender for each recipient of each message, so that a bounce names what it is about by where it comes to (VERP).
 * `b-<token>@bounce-domain`; the token is 16 bytes of message id, 2 of recipient number and 10 of MAC in lower-case base32 (RFC 4648 alphabet),
 * 45 characters: it survives servers that change case and stays under the 64 of a local part. Whoever does not have our key cannot make one.
 */
import { timingSafeEqual } from 'node:crypto'
import { hexOf, idOfHex } from '#src/platform/id.ts'
import { fromBase32, toBase32 } from './base32.ts'

const PREFIX = 'b-'
const MAC_BYTES = 10
const PLAIN_BYTES = 18

/** A keyed digest; `ctx.vault.mac('return-path', …)`. */
export type Mac = (data: Buffer) => Buffer

/** The envelope sender for one recipient of one message. */
export function returnPathOf(
  recipient: { readonly messageId: string; readonly n: number },
  mac: Mac,
  bounceDomain: string,
): string {
  const plain = Buffer.alloc(PLAIN_BYTES)
  plain.write(hexOf(recipient.messageId), 'hex')
  plain.writeUInt16BE(recipient.n, 16)
  return `${PREFIX}${toBase32(Buffer.concat([plain, mac(plain).subarray(0, MAC_BYTES)]))}@${bounceDomain}`
}

/** Reads a return-path that we made; null for everything else, forged ones included. The domain is the caller's to judge. */
export function readReturnPath(address: string, mac: Mac): { messageId: string; n: number } | null {
  const token = /^b-([a-z2-7]{45})(?:@|$)/i.exec(address)?.[1]?.toLowerCase()
  const bytes = token === undefined ? null : fromBase32(token)
  if (bytes?.length !== PLAIN_BYTES + MAC_BYTES) return null
  const plain = bytes.subarray(0, PLAIN_BYTES)
  if (!timingSafeEqual(bytes.subarray(PLAIN_BYTES), mac(plain).subarray(0, MAC_BYTES))) return null
  return { messageId: idOfHex(plain.toString('hex', 0, 16)), n: plain.readUInt16BE(16) }
}
