/**
 * Chooses the ports of the sandbox's receiver and DNS server: those of the settings, or other free ports if a program
 * (another Mailstead) uses them. Only Mailstead connects to them, so any port works, but all roles must use the same
 * ones; they get them in their environment.
 */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import type { Config } from '#config/load.ts'

const HOST = '127.0.0.1'

/** The environment variables for the roles. */
export async function chooseSandboxPorts(
  config: Pick<Config, 'sandboxDnsPort' | 'sandboxSmtpPort'>,
): Promise<NodeJS.ProcessEnv> {
  const chosen: number[] = []
  for (const [preferred, isFree] of [
    [config.sandboxDnsPort, isFreeForDns],
    [config.sandboxSmtpPort, isFreeForTcp],
  ] as const) {
    chosen.push(
      await findFreePort(preferred, (port) => (chosen.includes(port) ? Promise.resolve(false) : isFree(port))),
    )
  }
  return { SANDBOX_DNS_PORT: String(chosen[0]), SANDBOX_SMTP_PORT: String(chosen[1]) }
}

/** The preferred port, or a free one from the system. */
async function findFreePort(preferred: number, isFree: (port: number) => Promise<boolean>): Promise<number> {
  for (let port = preferred; ; port = await anyPort()) {
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
