/**
 * Finds the address that failed in place of a recipient: the member of an alias or list that the recipient expands to,
 * or the target of its forward. Servers name it in X-Actual-Recipient (sendmail), beside "expanded from" or "generated
 * from" (Postfix, sendmail, Exim), in RCPT TO, or only in the text of the reply. The recipient itself is alive then, so
 * it must not be treated as an address that does not exist. Pure; input may be hostile, so every pattern is
 * bounded. docs/decisions/028-forward-is-alive.md says what follows.
 */
import { getDomain, parse } from 'tldts'
import { type NoticeEntry, findAddresses, findOrigin } from './delivery-notice.ts'
import { anyOf, collapseWhitespace, group } from './text-patterns.ts'

/** What a report or a reply says about one recipient. */
export interface ForwardEvidence {
  /** X-Actual-Recipient fields, without their type. */
  readonly actual: readonly string[]
  /** Replies of servers and what the notice says about the recipient. */
  readonly texts: readonly string[]
  /** All entries of the notice. */
  readonly entries: readonly NoticeEntry[]
  /** Addresses of the sender, which never failed. */
  readonly senders: readonly string[]
}

/** Returns null if the failure is about the recipient itself. */
export function findForwardedAddress(recipient: string, evidence: ForwardEvidence): string | null {
  const { actual, texts, entries, senders } = evidence
  const isOther = (address: string): boolean => !isSameMailbox(address, recipient)
  const named =
    actual.find(isOther) ??
    entries.find(({ address, origin }) => isOther(address) && isOrigin(origin, recipient))?.address ??
    texts.map((text) => findExpandedName(text, recipient)).find((name) => name !== null && isOther(name))
  if (named !== undefined && named !== null) return named
  const excluded = new Set(senders.map((address) => address.toLowerCase()))
  const mentioned = texts.flatMap((text) => findMentioned(text))
  // a text that is cut off may end within the recipient's address; X.400 writes SMTP= before it
  const isPart = (address: string): boolean =>
    recipient.toLowerCase().startsWith(address) || address.endsWith(`=${recipient.toLowerCase()}`)
  return (
    mentioned.find((address) => {
      const lower = address.toLowerCase()
      return isOther(address) && !excluded.has(lower) && !isPart(lower)
    }) ?? null
  )
}

/**
 * True if both addresses name one mailbox: the same local part, apart from a subaddress (RFC 5233), at the same
 * organisation or at a host name that only the server itself knows.
 */
export function isSameMailbox(one: string, other: string): boolean {
  const [a, b] = [splitAddress(one), splitAddress(other)]
  if (a.local !== b.local) return false
  return isInternal(a.domain) || isInternal(b.domain) || organisationOf(a.domain) === organisationOf(b.domain)
}

function splitAddress(address: string): { readonly local: string; readonly domain: string } {
  const at = address.lastIndexOf('@')
  const [local, domain] = at < 0 ? [address, ''] : [address.slice(0, at), address.slice(at + 1)]
  const bare = local.toLowerCase().replace(/^"(.*)"$/, '$1')
  return { local: bare.replace(/(?<=.)\+.*$/, ''), domain: domain.toLowerCase() }
}

const INTERNAL = /(?:^|\.)(?:localhost|localdomain|local|lan|internal|intranet|corp|home|private)$/

/** True for a name that mail from outside cannot reach: a local user, a single label, an IP address. */
function isInternal(domain: string): boolean {
  return !domain.includes('.') || domain.startsWith('[') || INTERNAL.test(domain) || parse(domain).isIp === true
}

function organisationOf(domain: string): string {
  return getDomain(domain) ?? domain
}

// ── expansion ──

/** True if an entry of a notice is an expansion of the recipient. */
export function isOrigin(origin: string | null | undefined, recipient: string): boolean {
  return origin !== null && origin !== undefined && isSameMailbox(origin, recipient)
}

const MAX_TEXT = 4000

/** The name above "(expanded from: <recipient>)": an address, a local user or a command; null if there is none. */
function findExpandedName(text: string, recipient: string): string | null {
  let name: string | null = null
  for (const line of text
    .slice(0, MAX_TEXT)
    .split('\n')
    .map((one) => one.trim())) {
    const origin = findOrigin(line)
    if (isOrigin(origin, recipient)) return name
    if (line !== '' && !line.startsWith('(')) name = line.replace(/^<(.*)>$/, '$1').slice(0, 320)
  }
  return null
}

// ── mention ──

const LINK = /https?:\/\/\S+/gi
const ROLE = /^(?:postmaster|mailer-daemon|abuse|support|help|helpdesk|info-?desk|no-?reply|hostmaster|webmaster)@/i
/** Our return-path, and the return-paths and message ids of other systems: long tokens, not people. */
const TOKEN = /^(?:b-[a-z2-7]{45}|[^@]{65,}|[\da-f.$-]{20,}|srs[01][=+-].*|bounces?[-+=].*|prvs=.*)@/i
/** Words before an address that did not fail. */
const OTHER_LEAD = anyOf(
  String.raw`\b` +
    group(
      'from|senders?|sent by|on behalf of|contact|reply[- ]to|questions?|report(?:ed)? (?:this )?to|helo|ehlo|admin',
      'write to|e-?mail (?:us|to)|(?:forward|send)[^.\n]{0,40} to|mailto|message-?id|help|assistance|please',
    ) +
    String.raw`\b[^@\n.;]{0,40}$`,
)

/** The addresses in a failure text that can be what failed. */
function findMentioned(text: string): string[] {
  const bare = collapseWhitespace(text.slice(0, MAX_TEXT).replace(LINK, ''))
  return findAddresses(bare).filter((address) => {
    const lead = bare.slice(0, bare.indexOf(address))
    return !ROLE.test(address) && !TOKEN.test(address) && !OTHER_LEAD.test(lead)
  })
}
