/**
 * Links to files of received mail that work without a key until they expire: an attachment, or the source. A token
 * names the mail, the file and the time, and proves by a MAC that this installation made it. Nothing is stored for it;
 * it stops working when the mail is deleted.
 */
import { timingSafeEqual } from 'node:crypto'
import { hexOf, idOfHex } from '#src/platform/id.ts'
import { readWithValidKeys, type Encryption } from '#src/crypto/encryption.ts'

export interface FileRef {
  readonly emailId: string
  /** The number of an attachment; 0: the source. */
  readonly n: number
  /** To a second. */
  readonly expiresAt: Date
}

const PURPOSE = 'received-file'
const ID_BYTES = 16
const BODY_BYTES = ID_BYTES + 2 + 4
const MAC_BYTES = 16
const BASE64URL = /^[A-Za-z0-9_-]{51}$/

export function fileLink(publicUrl: string, encryption: Pick<Encryption, 'mac'>, ref: FileRef): string {
  const body = Buffer.alloc(BODY_BYTES)
  body.write(hexOf(ref.emailId), 'hex')
  body.writeUInt16BE(ref.n, ID_BYTES)
  body.writeUInt32BE(Math.floor(ref.expiresAt.getTime() / 1000), ID_BYTES + 2)
  const mac = encryption.mac(PURPOSE, body).subarray(0, MAC_BYTES)
  return `${publicUrl}/inbound-files/${Buffer.concat([body, mac]).toString('base64url')}`
}

/** Null for a token that this installation did not make. The caller checks `expiresAt`. */
export function readFileToken(encryption: Pick<Encryption, 'validKeys'>, token: string): FileRef | null {
  const octets = BASE64URL.test(token) ? Buffer.from(token, 'base64url') : Buffer.alloc(0)
  if (octets.length !== BODY_BYTES + MAC_BYTES) return null
  const [body, mac] = [octets.subarray(0, BODY_BYTES), octets.subarray(BODY_BYTES)]
  return readWithValidKeys(encryption, (keys) =>
    timingSafeEqual(keys.mac(PURPOSE, body).subarray(0, MAC_BYTES), mac)
      ? {
          emailId: idOfHex(body.toString('hex', 0, ID_BYTES)),
          n: body.readUInt16BE(ID_BYTES),
          expiresAt: new Date(body.readUInt32BE(ID_BYTES + 2) * 1000),
        }
      : null,
  )
}
