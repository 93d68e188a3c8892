/**
 * Parses the reply to EHLO (RFC 5321 4.1.1.1) into the extensions that this client uses. An unknown or malformed
 * keyword counts as not offered, which is always safe.
 */
import type { Reply } from '#src/mail/reply.ts'

export interface Capabilities {
  /** RFC 2920 */
  readonly pipelining: boolean
  /** RFC 3207 */
  readonly starttls: boolean
  /** RFC 6152 */
  readonly eightBitMime: boolean
  /** RFC 6531 */
  readonly smtputf8: boolean
  /** RFC 2034 */
  readonly enhancedStatusCodes: boolean
  /** RFC 1870, in bytes: 0 = offered without a limit, null = not offered. */
  readonly size: number | null
  /** RFC 4954: mechanisms, in upper case. */
  readonly auth: readonly string[]
}

/** The capabilities of a server that knows only HELO. */
export const NO_CAPABILITIES: Capabilities = {
  pipelining: false,
  starttls: false,
  eightBitMime: false,
  smtputf8: false,
  enhancedStatusCodes: false,
  size: null,
  auth: [],
}

/** The form before RFC 2554; some servers send both. */
const OLD_AUTH = /^AUTH=/i

/** Parses the reply to EHLO; its first line is a greeting, not a keyword. */
export function readCapabilities(reply: Reply): Capabilities {
  const offered = new Map<string, string[]>()
  for (const line of reply.lines.slice(1)) {
    const [keyword = '', ...parameters] = line.slice(4).trim().replace(OLD_AUTH, 'AUTH ').split(/\s+/)
    const name = keyword.toUpperCase()
    offered.set(name, [...(offered.get(name) ?? []), ...parameters])
  }
  return {
    pipelining: offered.has('PIPELINING'),
    starttls: offered.has('STARTTLS'),
    eightBitMime: offered.has('8BITMIME'),
    smtputf8: offered.has('SMTPUTF8'),
    enhancedStatusCodes: offered.has('ENHANCEDSTATUSCODES'),
    size: readSize(offered.get('SIZE')),
    auth: [...new Set(offered.get('AUTH')?.map((name) => name.toUpperCase()))],
  }
}

function readSize(parameters: readonly string[] | undefined): number | null {
  if (parameters === undefined) return null
  const [parameter = ''] = parameters
  return /^\d+$/.test(parameter) ? Number(parameter) : 0
}
