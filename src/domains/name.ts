/** A sending domain as people write it, read by the rule that addresses have: lower case, A-labels, no final dot. */
import { parseAddress } from '#src/mail/address.ts'

export type DomainName = { readonly ok: true; readonly name: string } | { readonly ok: false; readonly reason: string }

export function readDomainName(text: string): DomainName {
  const bare = text.trim().replace(/\.$/, '')
  if (bare === '') return { ok: false, reason: 'the domain is empty' }
  if (bare.includes('@')) return { ok: false, reason: 'give a domain, without the part up to the "@"' }
  if (bare.includes('/') || bare.includes(':')) return { ok: false, reason: 'give a domain such as example.com, not an address of a page' }
  const parsed = parseAddress(`x@${bare}`)
  return parsed.ok ? { ok: true, name: parsed.address.domain } : { ok: false, reason: parsed.reason }
}
