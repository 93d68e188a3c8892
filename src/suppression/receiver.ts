/** The receiver that accepted or refused a message. */
import { getDomain } from 'tldts'

/**
 * The registrable domain of the MX host (`google.com` for all that Google hosts); without a host the recipient's own
 * domain.
 */
export function receiverOf(host: string | null, domain: string): string {
  return host === null ? domain : (getDomain(host) ?? host.toLowerCase())
}
