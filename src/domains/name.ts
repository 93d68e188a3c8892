/**
 * A sending domain as people write it, read by the rule that addresses have: lower case, A-labels, no final dot; and which names may be
 * added. Pure.
 */
import { getDomain } from 'tldts'
import { parseAddress } from '#src/mail/address.ts'

export type DomainName = { readonly ok: true; readonly name: string } | { readonly ok: false; readonly reason: string }

export function readDomainName(text: string): DomainName {
  const bare = text.trim().replace(/\.$/, '')
  if (bare === '') return { ok: false, reason: 'the domain is empty' }
  if (bare.includes('@')) return { ok: false, reason: 'give a domain, without the part up to the "@"' }
  if (bare.includes('/') || bare.includes(':'))
    return { ok: false, reason: 'give a domain such as example.com, not an address of a page' }
  const parsed = parseAddress(`x@${bare}`)
  return parsed.ok ? { ok: true, name: parsed.address.domain } : { ok: false, reason: parsed.reason }
}

/** The records of a domain stand below it: the longest of our names in front of it must still be a name. */
const MAX_NAME = 253 - '._domainkey.'.length - 'ms-00000000-ed'.length

/** A name that somebody may add: not one under which others register theirs, nor the operator's bounce domain or what lies in it. */
export function readNewName(text: string, bounceDomain: string): DomainName {
  const read = readDomainName(text)
  if (!read.ok) return read
  const { name } = read
  if (name.length > MAX_NAME) return { ok: false, reason: `the domain is longer than ${MAX_NAME} characters` }
  if (getDomain(name) === null) return { ok: false, reason: `${name} is a public suffix: nobody sends in its name` }
  const isOurs = name === bounceDomain || name.endsWith(`.${bounceDomain}`)
  return isOurs ? { ok: false, reason: `${name} belongs to this service: bounces come to it` } : read
}
