/**
 * How many connections each network has open: one client must not take all that the port can hold. Our own machine may have all of them.
 */
import { isLoopback, networkOf } from '#src/net/address-policy.ts'

export interface Peers {
  /** False when this network has all it may; true counts one more. */
  enter(address: string): boolean
  leave(address: string): void
}

export function createPeers(mostOfOne: number): Peers {
  const open = new Map<string, number>()
  return {
    enter: (address) => {
      const network = nameOf(address)
      const count = open.get(network) ?? 0
      if (count >= mostOfOne && network !== LOOPBACK) return false
      open.set(network, count + 1)
      return true
    },
    leave: (address) => {
      const network = nameOf(address)
      const count = (open.get(network) ?? 0) - 1
      if (count > 0) open.set(network, count)
      else open.delete(network)
    },
  }
}

const LOOPBACK = 'loopback'

function nameOf(address: string): string {
  return isLoopback(address) ? LOOPBACK : networkOf(address)
}
