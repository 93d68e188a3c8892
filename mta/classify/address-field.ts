/**
 * The address in a field of a report: after its type, without brackets, name, route or comment (RFC 3464 2.3.1, RFC 5322 4.4), and letters
 * beyond ASCII read back where the report could not hold them (RFC 6533 3).
 */
import { parseAddress } from '#src/mail/address.ts'

/** Null where there is none, such as in a local name. */
export function parseAddressField(value: string): string | null {
  const unwrapped = value
    .replace(/^\s*[\w-]+\s*;/, '')
    .replace(/\([^)]*\)\s*$/, '')
    .trim()
  const inner = /<([^<>]*)>[\s.;,]*$/.exec(unwrapped)?.[1] ?? unwrapped.replace(/[;,]+$/, '')
  const bare = inner
    .replace(/^@[^:]*:/, '')
    .replace(/^(?:smtp|mailto):/i, '')
    .trim()
  const text = /^\s*utf-8\s*;/i.test(value) ? bare.replace(UNICODE_ESCAPE, decodeEscape) : bare
  return parseAddress(text).ok || /^[^\s@<>]+@[^\s@<>]+$/.test(text) ? text : null
}

const UNICODE_ESCAPE = /\\x\{(0?[0-9A-F]{1,5}|10[0-9A-F]{4})\}/gi

function decodeEscape(_: string, hex: string): string {
  return String.fromCodePoint(Number.parseInt(hex, 16))
}

/** Of a field that holds several. */
export function parseAddressList(value: string | null): string[] {
  return (value ?? '')
    .split(',')
    .map((one) => parseAddressField(one.trim()))
    .filter((address) => address !== null)
}
