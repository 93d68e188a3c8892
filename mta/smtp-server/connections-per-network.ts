/**
 * Limits the open connections of each client network, so that one client cannot use up the port. Loopback has no limit.
 */
import { isLoopback, networkOf } from '#src/net/address-policy.ts'

export interface ConnectionsPerNetwork {
  /** Counts one more connection; false if the network has reached its limit. */
  add(address: string): boolean
  remove(address: string): void
}

export function createConnectionsPerNetwork(maxPerNetwork: number): ConnectionsPerNetwork {
  const open = new Map<string, number>()
  return {
    add: (address) => {
      const network = networkKey(address)
      const count = open.get(network) ?? 0
      if (count >= maxPerNetwork && network !== LOOPBACK) return false
      open.set(network, count + 1)
      return true
    },
    remove: (address) => {
      const network = networkKey(address)
      const count = (open.get(network) ?? 0) - 1
      if (count > 0) open.set(network, count)
      else open.delete(network)
    },
  }
}

const LOOPBACK = 'loopback'

function networkKey(address: string): string {
  return isLoopback(address) ? LOOPBACK : networkOf(address)
}
