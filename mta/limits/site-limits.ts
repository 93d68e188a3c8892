/**
 * How much one site is asked to take from this process at once. Values are those that receivers publish or are known to accept.
 * The strictest row wins when a site's hosts match several.
 */
export interface SiteLimits {
  /** What they are called, for people. */
  readonly rule: string
  /** Connections open at once. */
  readonly connections: number
  /** Messages on one connection before it is closed politely. */
  readonly messagesPerConnection: number
}

const DEFAULT: SiteLimits = { rule: 'any receiver', connections: 10, messagesPerConnection: 100 }

/** A host of the transport map: the operator's own next hop, which takes what it is given. */
const OURS: SiteLimits = { rule: 'a host of the transport map', connections: 20, messagesPerConnection: 1000 }

/** By the names of MX hosts. */
const RECEIVERS: readonly (SiteLimits & { readonly hosts: RegExp })[] = [
  { rule: 'Google', hosts: /\.(google|googlemail)\.com$/, connections: 5, messagesPerConnection: 50 },
  { rule: 'Yahoo and AOL', hosts: /\.yahoodns\.net$/, connections: 10, messagesPerConnection: 20 },
  { rule: 'Outlook.com and Microsoft 365', hosts: /\.(outlook|hotmail|office365)\.com$|\.mx\.microsoft$/, connections: 5, messagesPerConnection: 50 },
  { rule: 'iCloud', hosts: /\.icloud\.com$/, connections: 10, messagesPerConnection: 5 },
  { rule: 'Orange', hosts: /\.(orange|wanadoo)\.fr$/, connections: 2, messagesPerConnection: 100 },
  { rule: 'web.de and GMX', hosts: /\.(web\.de|gmx\.net|kundenserver\.de)$/, connections: 4, messagesPerConnection: 20 },
]

/** @param hosts names in lower case; `isOurs` where the operator named them */
export function limitsOf(hosts: readonly { readonly name: string; readonly isOurs: boolean }[]): SiteLimits {
  if (hosts.length > 0 && hosts.every(({ isOurs }) => isOurs)) return OURS
  const rows = RECEIVERS.filter((receiver) => hosts.some(({ name }) => receiver.hosts.test(name)))
  if (rows.length === 0) return DEFAULT
  return {
    rule: rows.map((row) => row.rule).join(', '),
    connections: Math.min(...rows.map((row) => row.connections)),
    messagesPerConnection: Math.min(...rows.map((row) => row.messagesPerConnection)),
  }
}

/**
 * Connections that only the instant tier may use, so that a code never waits for bulk to finish.
 * A site that allows a single connection has none to spare: there instant is first in line.
 */
export function reservedForInstant(limits: SiteLimits): number {
  return limits.connections === 1 ? 0 : Math.max(1, Math.floor(limits.connections / 5))
}
