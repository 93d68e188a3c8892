/**
 * Parses the address in a report field: removes its type, brackets, display name, route and comment (RFC 3464 2.3.1,
 * RFC 5322 4.4), and decodes escaped non-ASCII characters (RFC 6533 3). Servers also write types that the RFC does not
 * allow, such as `rfc/822`.
 */
import { parseAddress } from '#src/mail/address.ts'

/** Returns null if the value has no address, for example for a local user name. */
export function parseAddressField(value: string): string | null {
  const unwrapped = value
    .replace(/^(?:\s*[^\s;"<>@]{1,40}\s*;){1,3}/, '')
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

/** Parses a comma-separated list. */
export function parseAddressList(value: string | null): string[] {
  return (value ?? '')
    .split(',')
    .map((one) => parseAddressField(one.trim()))
    .filter((address) => address !== null)
}
