/**
 * Which header From a key may use, and which destination its mail gets. A Regular key is bound to one sender: a
 * verified domain or a connected account. A subdomain has its own records and owner, so a key of the parent domain does
 * not cover it. A domain that lost its records (degraded) still sends. An account sends for its own addresses; with an
 * OAuth mailbox, From defaults to the mailbox. Mail of a paused account is accepted and waits.
 */
import type { Caller, CallerAccount } from '#src/auth/keys.ts'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import type { Mailbox } from '#src/mail/address.ts'
import { destinationOf } from '#src/providers/account-destination.ts'

const SENDING_STATUSES = new Set(['verified', 'degraded'])

/** Null if the caller may send from this address. */
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

/** The From of mail without one: the mailbox of the key. */
export function defaultSender({ account }: Caller): Mailbox | null {
  return account?.kind === 'oauth' ? { email: account.addresses[0] ?? '', name: null } : null
}

/** The destination of mail to an address: its domain, or the account of the key. */
export function destinationFor({ account }: Caller, address: string): string {
  return account === null ? domainOf(address) : destinationOf(account.id)
}

/** The lower-case domain of an address that src/mail/address.ts has parsed. */
function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1)
}
