/**
 * Tests whether a TCP port can be reached from one of our addresses. Closes the connection at once, without sending
 * anything.
 */
import { connect } from 'node:net'

export type Reachability = 'yes' | 'no' | 'not-here'

const TIMEOUT_MS = 5000

/** From this address, else from the one that the system chooses. `not-here`: it is not on this machine. */
export function probePort(localAddress: string | undefined, host: string, port: number): Promise<Reachability> {
  const { promise, resolve } = Promise.withResolvers<Reachability>()
  const socket = connect({ host, port, ...(localAddress === undefined ? {} : { localAddress }), timeout: TIMEOUT_MS })
  socket.once('connect', () => resolve('yes'))
  socket.once('timeout', () => resolve('no'))
  socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'EADDRNOTAVAIL' ? 'not-here' : 'no'))
  return promise.finally(() => socket.destroy())
}
