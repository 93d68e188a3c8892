/** Whether a TCP port can be reached from one of our addresses. The connection is closed at once, with nothing said. */
import { connect } from 'node:net'

export type Reached = 'yes' | 'no' | 'not-here'

const TIMEOUT_MS = 5000

/** `not-here`: the address is not on this machine. */
export function connectFrom(localAddress: string, host: string, port: number): Promise<Reached> {
  const { promise, resolve } = Promise.withResolvers<Reached>()
  const socket = connect({ host, port, localAddress, timeout: TIMEOUT_MS })
  socket.once('connect', () => resolve('yes'))
  socket.once('timeout', () => resolve('no'))
  socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'EADDRNOTAVAIL' ? 'not-here' : 'no'))
  return promise.finally(() => socket.destroy())
}
