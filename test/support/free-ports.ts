/**
 * Ports for processes of a test that need a port with a known number, also after a restart. They are below the range
 * from which the kernel takes ports for outgoing connections, so that none of those has the port meanwhile. Each is
 * free for TCP and UDP when it is chosen, and given once in a process.
 */
import { createSocket } from 'node:dgram'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

const FIRST_PORT = 15_000
const LAST_PORT = 32_000
const given = new Set<number>()

export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST_PORT, LAST_PORT)
    if (given.has(port)) continue
    given.add(port)
    if ((await isFreeForTcp(port)) && (await isFreeForUdp(port))) return port
  }
}

async function isFreeForTcp(port: number): Promise<boolean> {
  const server = createServer().listen(port)
  return isBound(server, () => server.close())
}

async function isFreeForUdp(port: number): Promise<boolean> {
  const socket = createSocket('udp4').bind(port)
  return isBound(socket, () => socket.close())
}

/** Closes the port again. */
async function isBound(opened: NodeJS.EventEmitter, close: () => void): Promise<boolean> {
  const isOpen = await once(opened, 'listening').then(
    () => true,
    () => false,
  )
  if (!isOpen) return false
  const closed = once(opened, 'close')
  close()
  await closed
  return true
}
