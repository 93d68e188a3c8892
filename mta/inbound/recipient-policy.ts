/**
 * Whom the inbound port takes mail for: the return-paths and the unsubscribe addresses that we gave out, the addresses for complaints and
 * for reports on TLS, and the postmaster. Everybody else is refused at RCPT, before a byte of the mail is taken. A token is proved by its MAC, so what is forged is never stored.
 */
import type { Config } from '#config/load.ts'
import { type Mac, readReturnPath } from '#src/mail/verp.ts'
import { TLS_REPORT_LOCAL } from '#src/tls-reports/received-queue.ts'
import { UNSUBSCRIBE_PREFIX } from '#src/tracking/links.ts'
import type { MailboxRef, Tokens } from '#src/tracking/tokens.ts'

export type Target =
  /** The token names the recipient that it is about. The domain does not matter: return-paths may be below a sending domain. */
  | { readonly kind: 'return-path'; readonly messageId: string; readonly n: number }
  /** In the List-Unsubscribe of a mail of ours. */
  | { readonly kind: 'unsubscribe'; readonly ref: MailboxRef }
  /** Feedback loops of receivers, and people. What it is about stands in the mail. */
  | { readonly kind: 'complaint' }
  /** Reports of other servers on TLS with our mail domains (RFC 8460). */
  | { readonly kind: 'tls-report' }
  /** RFC 5321 4.5.1 */
  | { readonly kind: 'postmaster' }

/** Local parts at the bounce domain and at the name of this server. */
const ROLES: ReadonlyMap<string, 'complaint' | 'tls-report' | 'postmaster'> = new Map([
  ['abuse', 'complaint'],
  ['fbl', 'complaint'],
  [TLS_REPORT_LOCAL, 'tls-report'],
  ['postmaster', 'postmaster'],
])

export interface Doors {
  readonly config: Pick<Config, 'bounceDomain' | 'serverName'>
  readonly mac: Mac
  readonly tokens: Pick<Tokens, 'readMailbox'>
}

/** Null for an address that is not ours to take mail for. */
export function readTarget(address: string, { config, mac, tokens }: Doors): Target | null {
  const recipient = readReturnPath(address, mac)
  if (recipient !== null) return { kind: 'return-path', ...recipient }
  const at = address.lastIndexOf('@')
  const [local, domain] = at < 0 ? [address, null] : [address.slice(0, at), address.slice(at + 1).toLowerCase()]
  const isOurDomain = domain === config.bounceDomain || domain === config.serverName
  const leaver =
    isOurDomain && local.toLowerCase().startsWith(UNSUBSCRIBE_PREFIX)
      ? tokens.readMailbox(local.slice(UNSUBSCRIBE_PREFIX.length))
      : null
  if (leaver !== null) return { kind: 'unsubscribe', ref: leaver }
  const role = ROLES.get(local.toLowerCase())
  // RFC 5321 4.1.1.3: postmaster is the one address without a domain
  const isOurs = domain === null ? role === 'postmaster' : isOurDomain
  return role === undefined || !isOurs ? null : { kind: role }
}

const TOKEN = /\bb-[a-z2-7]{45}(?=@)/gi
/** Tokens that are tried in one mail. */
const MOST_TOKENS = 20

/** The first of our return-paths that a mail quotes: where a complaint that came to a common address names what it is about. */
export function findToken(raw: Buffer, mac: Mac): { readonly messageId: string; readonly n: number } | null {
  // soft line breaks of quoted-printable may cut a token
  const text = raw.toString('latin1').replaceAll(/=\r?\n/g, '')
  let left = MOST_TOKENS
  for (const [token] of text.matchAll(TOKEN)) {
    if (left-- === 0) return null
    const recipient = readReturnPath(token, mac)
    if (recipient !== null) return recipient
  }
  return null
}
