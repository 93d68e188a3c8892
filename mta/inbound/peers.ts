/**
 * How many connections each network has open: one client must not take all that the port can hold. Our own machine may have all of them.
 */
import ipaddr from 'ipaddr.js'

export interface Peers {
  /** False when this network has all it may; true counts one more. */
  enter(address: string): boolean
  leave(address: string): void
}

/** What one customer of a provider has at least (RFC 6177). */
const IPV6_BYTES = 8

export function createPeers(mostOfOne: number): Peers {
  const open = new Map<string, number>()
  return {
    enter: (address) => {
      const network = networkOf(address)
      const count = open.get(network) ?? 0
      if (count >= mostOfOne && network !== LOOPBACK) return false
      open.set(network, count + 1)
      return true
    },
    leave: (address) => {
      const network = networkOf(address)
      const count = (open.get(network) ?? 0) - 1
      if (count > 0) open.set(network, count)
      else open.delete(network)
    },
  }
}

const LOOPBACK = 'loopback'

/** An IPv4 address, the /64 of an IPv6 one. */
function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const ip = ipaddr.process(address)
  if (ip.range() === 'loopback') return LOOPBACK
  return ip.kind() === 'ipv4' ? ip.toString() : ip.toByteArray().slice(0, IPV6_BYTES).join('.')
}
