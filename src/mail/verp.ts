/**
 * The return-path (VERP): each recipient of each message has its own envelope sender, so that the address of a bounce
 * identifies the recipient. The form is `b-<token>@bounce-domain`. The token is 16 bytes of message id, 2 of recipient
 * index and 10 of MAC in lower-case base32 (RFC 4648 alphabet), 45 characters: it survives servers that change case and
 * fits into the 64 octets of a local part. Without the key nobody can forge one.
 */
import { timingSafeEqual } from 'node:crypto'
import { hexOf, idOfHex } from '#src/platform/id.ts'
import { fromBase32, toBase32 } from './base32.ts'

const PREFIX = 'b-'
const MAC_BYTES = 10
const PAYLOAD_BYTES = 18

/** The keyed digest `ctx.encryption.mac('return-path', …)`. */
export type Mac = (data: Buffer) => Buffer

/** The envelope sender for one recipient of one message. */
export function returnPathOf(
  recipient: { readonly messageId: string; readonly n: number },
  mac: Mac,
  bounceDomain: string,
): string {
  const payload = Buffer.alloc(PAYLOAD_BYTES)
  payload.write(hexOf(recipient.messageId), 'hex')
  payload.writeUInt16BE(recipient.n, 16)
  return `${PREFIX}${toBase32(Buffer.concat([payload, mac(payload).subarray(0, MAC_BYTES)]))}@${bounceDomain}`
}

/**
 * Parses a return-path that this server issued with one of the keys; null for any other or forged address. The caller
 * checks the domain.
 */
export function parseReturnPath(address: string, macs: readonly Mac[]): { messageId: string; n: number } | null {
  const token = /^b-([a-z2-7]{45})(?:@|$)/i.exec(address)?.[1]?.toLowerCase()
  const bytes = token === undefined ? null : fromBase32(token)
  if (bytes?.length !== PAYLOAD_BYTES + MAC_BYTES) return null
  const payload = bytes.subarray(0, PAYLOAD_BYTES)
  const given = bytes.subarray(PAYLOAD_BYTES)
  if (!macs.some((mac) => timingSafeEqual(given, mac(payload).subarray(0, MAC_BYTES)))) return null
  return { messageId: idOfHex(payload.toString('hex', 0, 16)), n: payload.readUInt16BE(16) }
}
