/**
 * Where the built-in receiver and DNS server of this start listen: the ports of the settings, or free ones where another program (another Mailstead) has them.
 * Nobody outside talks to them, so any port will do, but all roles have to agree: they are told by their environment.
 */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import type { Config } from '#config/load.ts'

const HOST = '127.0.0.1'

/** Environment for the roles. */
export async function sandboxPorts(
  config: Pick<Config, 'sandboxDnsPort' | 'sandboxSmtpPort'>,
): Promise<NodeJS.ProcessEnv> {
  const taken: number[] = []
  for (const [wanted, isFree] of [
    [config.sandboxDnsPort, isFreeForDns],
    [config.sandboxSmtpPort, isFreeForTcp],
  ] as const) {
    taken.push(await firstFree(wanted, (port) => (taken.includes(port) ? Promise.resolve(false) : isFree(port))))
  }
  return { SANDBOX_DNS_PORT: String(taken[0]), SANDBOX_SMTP_PORT: String(taken[1]) }
}

/** The port, or one that the system gives. */
async function firstFree(wanted: number, isFree: (port: number) => Promise<boolean>): Promise<number> {
  for (let port = wanted; ; port = await anyPort()) {
    if (port !== 0 && (await isFree(port))) return port
  }
}

async function anyPort(): Promise<number> {
  const server = createServer().listen(0, HOST)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

async function isFreeForDns(port: number): Promise<boolean> {
  return (await isFreeForUdp(port)) && (await isFreeForTcp(port))
}

async function isFreeForTcp(port: number): Promise<boolean> {
  const server = createServer().listen(port, HOST)
  try {
    await once(server, 'listening')
  } catch {
    return false
  }
  server.close()
  await once(server, 'close')
  return true
}

async function isFreeForUdp(port: number): Promise<boolean> {
  const socket = createSocket('udp4')
  socket.bind(port, HOST)
  try {
    await once(socket, 'listening')
  } catch {
    return false
  }
  socket.close()
  await once(socket, 'close')
  return true
}
