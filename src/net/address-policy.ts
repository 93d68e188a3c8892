/**
 * Which network addresses may be reached on somebody else's word (an MX record, a webhook's host). Public unicast only, by default:
 * whoever writes a DNS record must not be able to make us talk to our own machine or to the network behind it.
 * An address that carries an IPv4 address inside (mapped, 6to4, NAT64) is judged by that one. What cannot be read is not reachable.
 */
import { isIP, isIPv4 } from 'node:net'
import ipaddr, { type IPv4, type IPv6 } from 'ipaddr.js'
import type { Network } from '#config/settings/readers.ts'

type Ip = IPv4 | IPv6

/** RFC 4291 2.4: all global unicast addresses that are given out. What lies outside is reserved, whatever a registry table forgot. */
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3')

/** Where a tunnel form keeps its IPv4 address: the first of its four bytes. RFC 4291 2.5.5.2, RFC 3056 2, RFC 6052 2.1. */
const CARRIERS: readonly { readonly network: Network; readonly at: number }[] = [
  { network: ipaddr.parseCIDR('::ffff:0:0/96'), at: 12 },
  { network: ipaddr.parseCIDR('2002::/16'), at: 2 },
  { network: ipaddr.parseCIDR('64:ff9b::/96'), at: 12 },
]

/**
 * True for public unicast addresses and for those inside an allowed network.
 * Private, loopback, link-local, carrier-grade NAT, documentation, multicast, reserved, unspecified, broadcast and Teredo need to be allowed.
 */
export function isReachable(address: string, allowed: readonly Network[]): boolean {
  if (isIP(address) === 0) return false
  const ip = ipaddr.parse(address)
  if (allowed.some((network) => isInside(ip, network))) return true
  const carried = carriedBy(ip)
  if (carried !== null) return isReachable(carried, allowed)
  return ip.range() === 'unicast' && (ip.kind() === 'ipv4' || isInside(ip, GLOBAL_UNICAST))
}

/** The IPv4 address inside an IPv6 one, or null. */
function carriedBy(ip: Ip): string | null {
  const carrier = CARRIERS.find(({ network }) => isInside(ip, network))
  return carrier === undefined
    ? null
    : ip
        .toByteArray()
        .slice(carrier.at, carrier.at + 4)
        .join('.')
}

/** Whether an address of a peer, as a socket tells it, is in a network; an IPv4 one that came by an IPv6 socket is an IPv4 one. */
export function isInNetwork(address: string, network: Network): boolean {
  return ipaddr.isValid(address) && isInside(ipaddr.process(address), network)
}

/** Whether a peer is our own machine. */
export function isLoopback(address: string): boolean {
  if (isIPv4(address)) return address.startsWith('127.')
  return ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback'
}

/** What one customer of a provider has at least (RFC 6177). */
const IPV6_BYTES = 8

/** Whose an address is, for counting: itself, or the /64 of an IPv6 one. */
export function networkOf(address: string): string {
  if (isIPv4(address) || !ipaddr.isValid(address)) return address
  const ip = ipaddr.process(address)
  return ip.kind() === 'ipv4' ? ip.toString() : ip.toByteArray().slice(0, IPV6_BYTES).join('.')
}

function isInside(ip: Ip, [network, bits]: Network): boolean {
  return ip.kind() === network.kind() && ip.match(network, bits)
}
