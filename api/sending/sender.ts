/**
 * In whose name a key may send, and where its mail goes. A Regular key speaks for exactly one sender: a verified domain, or a connected
 * account. A subdomain of a domain is another name with records and an owner of its own, so it is outside unless it is itself the key's
 * domain; a domain that lost its records (degraded) still sends. An account speaks for its own addresses; mail of a mailbox that does not
 * say whom it is from comes from the mailbox. A paused account's mail is taken: it waits.
 */
import type { Caller, CallerAccount } from '#src/auth/keys.ts'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import type { Mailbox } from '#src/mail/address.ts'
import { destinationOf } from '#src/providers/account-destination.ts'

const SENDING_STATUSES = new Set(['verified', 'degraded'])

/** Null when the caller may send as this. */
export function checkSender(caller: Caller, from: Mailbox | null): Refusal | null {
  return caller.account === null ? checkDomain(caller, from) : checkAccountAddress(caller.account, from)
}

function checkDomain({ domain, domainId, domainStatus }: Caller, from: Mailbox | null): Refusal | null {
  if (from === null) return invalid([{ path: 'from', message: 'is required with a key of a sending domain' }])
  if (domain === null || domainId === null) return refuse('FORBIDDEN', 'This key is not bound to a sender.')
  if (domainOf(from.email) !== domain) return refuse('FORBIDDEN', `This key sends for ${domain} only.`)
  return SENDING_STATUSES.has(domainStatus ?? '') ? null : refuse('FORBIDDEN', `The domain ${domain} is not verified.`)
}

function checkAccountAddress({ kind, addresses }: CallerAccount, from: Mailbox | null): Refusal | null {
  if (from === null)
    return kind === 'oauth' ? null : invalid([{ path: 'from', message: 'is required with a key of SMTP credentials' }])
  return addresses.includes(from.email.toLowerCase())
    ? null
    : refuse('FORBIDDEN', `This key sends for ${addresses.join(', ')} only.`)
}

/** Whom mail is from that does not say so: the mailbox of the key. */
export function defaultSender({ account }: Caller): Mailbox | null {
  return account?.kind === 'oauth' ? { email: account.addresses[0] ?? '', name: null } : null
}

/** Where the mail to an address goes: to the domain, or through the account of the key. */
export function destinationFor({ account }: Caller, address: string): string {
  return account === null ? domainOf(address) : destinationOf(account.id)
}

/** Of an address that was read by src/mail/address.ts: after its last "@", lower case. */
function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1)
}
