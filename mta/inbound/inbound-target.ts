/**
 * The addresses that the inbound port accepts: return-paths and unsubscribe addresses that we issued, the addresses for
 * complaints, TLS and DMARC reports, postmaster, and those of inbound routes. RCPT rejects every other address before
 * any data arrives. A MAC protects each token, so mail to a forged address is never stored. A return-path counts only
 * at a domain where this server issues them: the bounce domain, its own name, and verified MAIL FROM names.
 */
import type { Config } from '#config/load.ts'
import { parseAddress } from '#src/mail/address.ts'
import { type Mac, parseReturnPath } from '#src/mail/verp.ts'
import { DMARC_REPORT_LOCAL } from '#src/domains/records.ts'
import { TLS_REPORT_LOCAL } from '#src/tls-reports/received-queue.ts'
import { UNSUBSCRIBE_PREFIX } from '#src/tracking/links.ts'
import type { MailFromNames } from './mail-from-names.ts'
import type { MailboxRef, TrackingTokens } from '#src/tracking/tokens.ts'
import type { RouteDirectory, RoutedRecipient } from './route-directory.ts'

export type InboundTarget =
  /** The token names the recipient. */
  | { readonly kind: 'return-path'; readonly messageId: string; readonly n: number }
  /** An address from the List-Unsubscribe field of one of our messages. */
  | { readonly kind: 'unsubscribe'; readonly ref: MailboxRef }
  /** Feedback loops, and people. The content of the mail names its subject. */
  | { readonly kind: 'complaint' }
  /** TLS reports of other servers about our mail domains (RFC 8460). */
  | { readonly kind: 'tls-report' }
  /** DMARC aggregate reports of receivers about domains of workspaces (RFC 7489 7.2). */
  | { readonly kind: 'dmarc-report' }
  /** RFC 5321 4.5.1 */
  | { readonly kind: 'postmaster' }
  /** An inbound route of a workspace. */
  | { readonly kind: 'routed'; readonly to: RoutedRecipient }
  /** Its workspace accepts no more mail now. */
  | { readonly kind: 'full' }

/** Role addresses at the bounce domain and at the name of this server. */
const ROLES: ReadonlyMap<string, 'complaint' | 'tls-report' | 'dmarc-report' | 'postmaster'> = new Map([
  ['abuse', 'complaint'],
  ['fbl', 'complaint'],
  [TLS_REPORT_LOCAL, 'tls-report'],
  [DMARC_REPORT_LOCAL, 'dmarc-report'],
  ['postmaster', 'postmaster'],
])

export interface InboundTargetDeps {
  readonly config: Pick<Config, 'bounceDomain' | 'serverName'>
  /** Of return-paths, for each valid key. */
  readonly macs: readonly Mac[]
  readonly tokens: Pick<TrackingTokens, 'readMailbox'>
  readonly mailFromNames: MailFromNames
  readonly routes: RouteDirectory
}

/** Returns null for an address that this server does not accept. */
export async function resolveTarget(given: string, deps: InboundTargetDeps): Promise<InboundTarget | null> {
  const read = parseAddress(given)
  // the domains of routes are stored with A-labels
  const address = read.ok ? read.address.address : given
  const issued = await resolveIssued(address, deps)
  if (issued !== null) return issued
  const to = await deps.routes.find(address)
  return to === null ? null : to === 'full' ? { kind: 'full' } : { kind: 'routed', to }
}

/** An address of this server itself. */
async function resolveIssued(
  address: string,
  { config, macs, tokens, mailFromNames }: InboundTargetDeps,
): Promise<InboundTarget | null> {
  const at = address.lastIndexOf('@')
  const [local, domain] = at < 0 ? [address, null] : [address.slice(0, at), address.slice(at + 1).toLowerCase()]
  const isOurDomain = domain === config.bounceDomain || domain === config.serverName
  const recipient = domain === null ? null : parseReturnPath(address, macs)
  if (recipient !== null && domain !== null) {
    const isIssued = isOurDomain || (await mailFromNames.isVerified(domain))
    return isIssued ? { kind: 'return-path', ...recipient } : null
  }
  const mailbox =
    isOurDomain && local.toLowerCase().startsWith(UNSUBSCRIBE_PREFIX)
      ? tokens.readMailbox(local.slice(UNSUBSCRIBE_PREFIX.length))
      : null
  if (mailbox !== null) return { kind: 'unsubscribe', ref: mailbox }
  const role = ROLES.get(local.toLowerCase())
  // RFC 5321 4.1.1.3: postmaster is the only address without a domain
  const isOurs = domain === null ? role === 'postmaster' : isOurDomain
  return role === undefined || !isOurs ? null : { kind: role }
}

/** In a return-path, or in X-Mailstead-Token (mta/delivery/feedback-fields.ts). */
const RETURN_PATH_TOKEN = /\bb-[a-z2-7]{45}(?![\w-])/gi
/** Maximum number of tokens to verify in one mail. */
const MAX_TOKENS = 20

/**
 * Finds the first of our return-paths, or of their tokens, that a mail quotes. It identifies the subject of a complaint
 * to a role address.
 */
export function findQuotedReturnPath(
  raw: Buffer,
  macs: readonly Mac[],
): { readonly messageId: string; readonly n: number } | null {
  // quoted-printable soft line breaks may split a token
  const text = raw.toString('latin1').replaceAll(/=\r?\n/g, '')
  let left = MAX_TOKENS
  for (const [token] of text.matchAll(RETURN_PATH_TOKEN)) {
    if (left-- === 0) return null
    const recipient = parseReturnPath(token, macs)
    if (recipient !== null) return recipient
  }
  return null
}
