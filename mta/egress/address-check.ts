/**
 * Checks whether an address is on this machine, by binding a socket to it. If the socket fails for any other reason
 * (such as no free file descriptor), that proves nothing, and the address counts as present.
 */
import { createSocket } from 'node:dgram'
import { isIPv6 } from 'node:net'

/** EAFNOSUPPORT: a machine without IPv6. */
const ABSENT = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT'])

export type IsOnHost = (address: string) => Promise<boolean>

export const isOnHost: IsOnHost = (address) =>
  new Promise((resolve) => {
    const socket = createSocket({ type: isIPv6(address) ? 'udp6' : 'udp4' })
    const end = (isThere: boolean): void => {
      socket.close()
      resolve(isThere)
    }
    socket.once('error', (error: NodeJS.ErrnoException) => end(!ABSENT.has(error.code ?? '')))
    socket.bind({ port: 0, address, exclusive: true }, () => end(true))
  })
