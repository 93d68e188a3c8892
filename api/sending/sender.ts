/**
 * In whose name a key may send: a Regular key speaks for exactly one verified domain. A subdomain of it is another name with records and
 * an owner of its own, so it is outside unless it is itself the key's domain. A domain that lost its records (degraded) still sends.
 */
import type { Caller } from '#src/auth/keys.ts'
import { invalid, refuse, type Refusal } from '#src/errors.ts'
import type { Mailbox } from '#src/mail/address.ts'

const SENDING = new Set(['verified', 'degraded'])

/** Null when the caller may send as this. */
export function judgeSender(caller: Caller, from: Mailbox | null): Refusal | null {
  if (from === null) return invalid([{ path: 'from', message: 'is required with a key of a sending domain' }])
  if (caller.domain === null || caller.domainId === null) return refuse('FORBIDDEN', 'This key is not bound to a sender.')
  if (domainOf(from.email) !== caller.domain) return refuse('FORBIDDEN', `This key sends for ${caller.domain} only.`)
  return SENDING.has(caller.domainStatus ?? '') ? null : refuse('FORBIDDEN', `The domain ${caller.domain} is not verified.`)
}

/** Of an address that was read by src/mail/address.ts: after its last "@", lower case. */
export function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1)
}
