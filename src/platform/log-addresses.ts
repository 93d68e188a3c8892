/**
 * Replaces e-mail addresses in log lines by a keyed hash (LOG_ADDRESS_KEY), wherever they occur: in fields, in replies
 * of receivers, in errors and in URLs. The domain stays. The same address has the same hash in every process with that
 * key, so that the lines of one recipient are still found with one search. Without the key an address cannot be
 * guessed from its hash. Pure; linear in the length of the line.
 */
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'

const HASH_CHARACTERS = 16
const WORD = /[^\s"'<>()[\],:;\\@=/?&]{1,64}/u.source
const QUOTED_PART = /\\"[^"]{1,128}"/u.source
const NAME = /[\p{L}\p{N}](?:[\p{L}\p{N}.-]{0,252}[\p{L}\p{N}])?/u.source
const LITERAL = /\[[^\]\s"]{1,64}\]/u.source
/** A local part, quoted in JSON or not, and a domain. `%40` is an @ in a URL. */
const ADDRESS = new RegExp(`(?:${QUOTED_PART}|${WORD}(?:'${WORD}){0,3})(?:@|%40)(${NAME}|${LITERAL})`, 'giu')
const QUOTED = /^\\"|\\"$/g

/** The last key: reading one costs five times as much as a hash, and a process has one. */
let last: { readonly key: string; readonly secret: KeyObject } | null = null

function secretOf(key: string): KeyObject {
  if (last?.key !== key) last = { key, secret: createSecretKey(key, 'utf8') }
  return last.secret
}

/** The text that takes the place of an address. */
export function hashAddress(key: string, address: string): string {
  const at = address.lastIndexOf('@')
  const hash = createHmac('sha256', secretOf(key)).update(address.toLowerCase()).digest('hex').slice(0, HASH_CHARACTERS)
  return `${hash}${address.slice(at)}`
}

/** `line`: JSON or text. */
export function hashAddresses(key: string, line: string): string {
  return line.replace(ADDRESS, (match: string, domain: string) => {
    const local = match.slice(0, match.length - domain.length).replace(/(?:@|%40)$/i, '')
    return hashAddress(key, `${decodeLocalPart(local.replaceAll(QUOTED, ''))}@${domain}`)
  })
}

/** As it stands, if it is no part of a URL. */
function decodeLocalPart(local: string): string {
  try {
    return decodeURIComponent(local)
  } catch {
    return local
  }
}
