/**
 * The sender of a complete message, and what it may use as From: a Regular key its domain or connected account, a relay
 * network every verified domain of its workspace. A degraded domain (its DNS records are gone) still sends.
 */
import type { Caller, CallerAccount } from '#src/auth/keys.ts'
import { destinationOf } from '#src/providers/account-destination.ts'

export interface SubmissionSender {
  readonly workspaceId: string
  readonly plan: string
  /** Null for a relay network. */
  readonly keyId: string | null
  /** The operator suspended the whole workspace. */
  readonly isSuspended: boolean
  /** Whether the sender may use this address as From, and the domain that signs. */
  authorizeFrom(address: string): SenderVerdict | Promise<SenderVerdict>
  /** The destination of mail to a domain: the domain itself or the connected account. */
  destinationOf(domain: string): string
}

/** `domainId` null: the provider of the connected account signs. */
export type SenderVerdict =
  | { readonly ok: true; readonly domainId: string | null }
  | { readonly ok: false; readonly reason: string }

const SENDING_STATUSES: ReadonlySet<string> = new Set(['verified', 'degraded'])

/** Whether a domain with this verification status sends. */
export function isSendingStatus(status: string): boolean {
  return SENDING_STATUSES.has(status)
}

export function senderOfKey(caller: Caller): SubmissionSender {
  const { keyId, workspaceId, plan, account, isSuspended } = caller
  const who = { workspaceId, plan, keyId, isSuspended }
  if (account === null)
    return {
      ...who,
      authorizeFrom: (address) => authorizeByDomain(caller, domainOf(address)),
      destinationOf: (domain) => domain,
    }
  return {
    ...who,
    authorizeFrom: (address) => authorizeByAddress(account, address),
    destinationOf: () => destinationOf(account.id),
  }
}

function authorizeByDomain({ domain, domainId, domainStatus }: Caller, fromDomain: string): SenderVerdict {
  if (domain === null || domainId === null) return { ok: false, reason: 'This key is not bound to a sender' }
  if (fromDomain !== domain)
    return { ok: false, reason: `This key sends for ${domain} only, and From is in ${fromDomain}` }
  return isSendingStatus(domainStatus ?? '')
    ? { ok: true, domainId }
    : { ok: false, reason: `The domain ${domain} is not verified` }
}

function authorizeByAddress({ addresses }: CallerAccount, address: string): SenderVerdict {
  const isIts = addresses.includes(address.toLowerCase())
  return isIts ? { ok: true, domainId: null } : { ok: false, reason: `This key sends for ${addresses.join(', ')} only` }
}

export function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1)
}
