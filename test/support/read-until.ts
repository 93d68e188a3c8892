/** Reads from a socket until the text that arrived matches. */
import { once } from 'node:events'
import type { Socket } from 'node:net'

export async function readUntil(socket: Socket, pattern: RegExp): Promise<string> {
  let text = ''
  const onData = (chunk: Buffer): void => {
    text += chunk.toString('latin1')
  }
  socket.on('data', onData)
  while (!pattern.test(text)) await once(socket, 'data')
  socket.off('data', onData)
  return text
}
