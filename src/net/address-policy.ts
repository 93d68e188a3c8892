/**
 * Decides which network addresses may be connected to when the name comes from a third party (an MX record, the host of
 * a webhook). By default only public unicast: a DNS record must not make the server connect to itself or to its private
 * network. An address with an embedded IPv4 address (mapped, 6to4, NAT64) follows the rule for that address. Text that
 * is not an address is not reachable.
 */
import { isIP, isIPv4 } from 'node:net'
import ipaddr, { type IPv4, type IPv6 } from 'ipaddr.js'
import type { Network } from '#config/settings/readers.ts'

type Ip = IPv4 | IPv6

/** RFC 4291 2.4: all assigned global unicast addresses. Addresses outside are reserved, even if a table omits them. */
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3')

/** The offset of the embedded IPv4 address. RFC 4291 2.5.5.2, RFC 3056 2, RFC 6052 2.1 */
const EMBEDDED_IPV4_FORMS: readonly { readonly network: Network; readonly at: number }[] = [
  { network: ipaddr.parseCIDR('::ffff:0:0/96'), at: 12 },
  { network: ipaddr.parseCIDR('2002::/16'), at: 2 },
  { network: ipaddr.parseCIDR('64:ff9b::/96'), at: 12 },
]

/**
 * True for public unicast addresses and for addresses in an allowed network. Private, loopback, link-local,
 * carrier-grade NAT, documentation, multicast, reserved, unspecified, broadcast and Teredo addresses must be allowed.
 */
export function isReachable(address: string, allowed: readonly Network[]): boolean {
  if (isIP(address) === 0) return false
  const ip = ipaddr.parse(address)
  if (allowed.some((network) => isInside(ip, network))) return true
  const embedded = embeddedIpv4Of(ip)
  if (embedded !== null) return isReachable(embedded, allowed)
  return ip.range() === 'unicast' && (ip.kind() === 'ipv4' || isInside(ip, GLOBAL_UNICAST))
}

/** The IPv4 address embedded in an IPv6 address, or null. */
function embeddedIpv4Of(ip: Ip): string | null {
  const form = EMBEDDED_IPV4_FORMS.find(({ network }) => isInside(ip, network))
  return form === undefined
    ? null
    : ip
        .toByteArray()
        .slice(form.at, form.at + 4)
        .join('.')
}

/** Whether the address of a peer is in a network. An IPv4-mapped address of an IPv6 socket counts as IPv4. */
export function isInNetwork(address: string, network: Network): boolean {
  return ipaddr.isValid(address) && isInside(ipaddr.process(address), network)
}

/** Whether a peer is this machine. */
export function isLoopback(address: string): boolean {
  if (isIPv4(address)) return address.startsWith('127.')
  return ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback'
}

/** The /64 that one customer of a provider has at least (RFC 6177). */
const IPV6_BYTES = 8

/** The network to count an address under: an IPv4 address itself, the /64 of an IPv6 address. */
export function networkOf(address: string): string {
  if (isIPv4(address) || !ipaddr.isValid(address)) return address
  const ip = ipaddr.process(address)
  return ip.kind() === 'ipv4' ? ip.toString() : ip.toByteArray().slice(0, IPV6_BYTES).join('.')
}

function isInside(ip: Ip, [network, bits]: Network): boolean {
  return ip.kind() === network.kind() && ip.match(network, bits)
}
