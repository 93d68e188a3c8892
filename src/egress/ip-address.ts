/** IP addresses in the forms that DNS uses. */
import { isIPv6 } from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * The name of an address under `zone`: its bytes, or the nibbles of an IPv6 address, in reverse (RFC 5782 2.1 and 2.4).
 */
export function reversedName(address: string, zone: string): string {
  const ip = ipaddr.parse(address)
  const bytes = ip.toByteArray()
  const labels =
    ip.kind() === 'ipv4'
      ? bytes.map(String)
      : bytes.flatMap((byte) => [(byte >> 4).toString(16), (byte & 15).toString(16)])
  return `${labels.toReversed().join('.')}.${zone}`
}

/**
 * The name of an address's PTR records (RFC 1035 3.5, RFC 3596 2.5). Not the resolver's own `reverse`, which reads the
 * hosts file and reports a failure as "no record".
 */
export function arpaName(address: string): string {
  return reversedName(address, isIPv6(address) ? 'ip6.arpa' : 'in-addr.arpa')
}

/** Compares two addresses; an IPv6 address has many spellings. */
export function sameAddress(one: string, other: string): boolean {
  if (!ipaddr.isValid(one) || !ipaddr.isValid(other)) return false
  return ipaddr.parse(one).toNormalizedString() === ipaddr.parse(other).toNormalizedString()
}
