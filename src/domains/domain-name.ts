/**
 * Parses a sending domain as people write it, by the same rules as the domain of an address: lower case, A-labels, no
 * final dot. Also decides which names may be added. Pure.
 */
import { getDomain } from 'tldts'
import { parseAddress } from '#src/mail/address.ts'

export type DomainNameResult =
  | { readonly ok: true; readonly name: string }
  | { readonly ok: false; readonly reason: string }

export function readDomainName(text: string): DomainNameResult {
  const bare = text.trim().replace(/\.$/, '')
  if (bare === '') return { ok: false, reason: 'the domain is empty' }
  if (bare.includes('@')) return { ok: false, reason: 'give only the domain, without the "@" and the part before it' }
  if (bare.includes('/') || bare.includes(':'))
    return { ok: false, reason: 'give a domain such as example.com, not a URL' }
  const parsed = parseAddress(`x@${bare}`)
  return parsed.ok ? { ok: true, name: parsed.address.domain } : { ok: false, reason: parsed.reason }
}

/** The longest record name of a domain (a DKIM selector in front of it) must still be a valid name. */
const MAX_NAME = 253 - '._domainkey.'.length - 'ms-00000000-ed'.length

/** Parses a name to add. Rejects public suffixes, and the operator's bounce domain and its subdomains. */
export function readNewDomainName(text: string, bounceDomain: string): DomainNameResult {
  const read = readDomainName(text)
  if (!read.ok) return read
  const { name } = read
  if (name.length > MAX_NAME) return { ok: false, reason: `the domain is longer than ${MAX_NAME} characters` }
  if (getDomain(name) === null)
    return { ok: false, reason: `${name} is a public suffix; add a domain that is registered below it` }
  const isOurs = name === bounceDomain || name.endsWith(`.${bounceDomain}`)
  return isOurs ? { ok: false, reason: `${name} belongs to this service: it receives bounces` } : read
}
