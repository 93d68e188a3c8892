/** Base64 in lines of 76 characters (RFC 2045 §6.8), a part of a file after the other. */
import { loadOctets } from './octets.ts'

const LINE = 76

/** The characters of `octets` in base64, with a CRLF between two lines and none at the end. */
export function base64Length({ length }: Uint8Array): number {
  const characters = Math.ceil(length / 3) * 4
  return characters + 2 * Math.max(0, Math.ceil(characters / LINE) - 1)
}

/** Writes `base64Length` octets from `at` on. @returns where they end */
export function writeBase64(octets: Buffer, out: Buffer, at: number): number {
  return at + loadOctets(octets).base64().copy(out, at)
}
