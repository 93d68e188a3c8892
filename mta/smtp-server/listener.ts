/**
 * Listens on the ports of the SMTP servers. If the user may not open a port below 1024, the documented port above it is
 * used instead, and the log says so. If another program uses the port, the error names the setting that changes it; in
 * sandbox mode, where nobody outside depends on the port, the replacement or any free port is used.
 *
 * A process that root starts opens its ports first, gives up its rights, and only then starts its servers on them. In
 * between, a connection is closed at once, before anything is read from it. If systemd opened a socket for the port
 * (src/net/passed-sockets.ts), nothing is accepted from it before the server starts: connections that arrive during a
 * restart wait in its queue, and a client sees a late greeting instead of a closed connection.
 */
import { once } from 'node:events'
import { closeSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { ConfigError } from '#config/load.ts'
import type { Context } from '#src/context.ts'
import { takePassedSocket } from '#src/net/passed-sockets.ts'

/** A server that can start on a port that is open. */
interface PortServer {
  listen(target: Server | { readonly fd: number }): Server
}

export interface PortSetting {
  /** Name of the server, for messages. */
  readonly what: string
  /** The setting that changes the port. */
  readonly setting: string
  readonly port: number
  /** Used if the port itself may not be opened. */
  readonly fallback: number
}

/** A port that is open, and has no server yet. */
export interface OpenPort {
  /** Starts a server on the port, which then belongs to that server. Returns the number of the port. */
  listen(server: PortServer): Promise<number>
  /** For a port on which no server starts. */
  close(): void
}

/** Opens a port, for a server that starts later. @throws ConfigError if no port can be opened. */
export async function openPort(ctx: Pick<Context, 'config' | 'log'>, wanted: PortSetting): Promise<OpenPort> {
  const fd = takePassedSocket(wanted.setting)
  if (fd !== null) return { listen: (server) => listenOn(server, { fd }), close: () => closeSync(fd) }
  let handle = createServer()
  await listenOnPort(ctx, wanted, (number) => {
    handle = createServer((socket) => socket.destroy())
    return handle.listen(number)
  })
  return { listen: (server) => listenOn(server, handle), close: () => handle.close() }
}

async function listenOn(server: PortServer, target: Server | { readonly fd: number }): Promise<number> {
  const listening = server.listen(target)
  await once(listening, 'listening')
  return portOf(listening)
}

/** Opens all or none. @throws ConfigError if one of them cannot be opened. */
export async function openPorts<Name extends string>(
  ctx: Pick<Context, 'config' | 'log'>,
  wanted: Readonly<Record<Name, PortSetting>>,
): Promise<Readonly<Record<Name, OpenPort>>> {
  const opened: [string, OpenPort][] = []
  try {
    for (const [name, setting] of Object.entries<PortSetting>(wanted)) opened.push([name, await openPort(ctx, setting)])
  } catch (error) {
    for (const [, port] of opened) port.close()
    throw error
  }
  return Object.fromEntries(opened) as Record<Name, OpenPort>
}

/** `listen` starts a new server on a port. Returns the port in use. @throws ConfigError if no port can be opened. */
export async function listenOnPort(
  ctx: Pick<Context, 'config' | 'log'>,
  wanted: PortSetting,
  listen: (port: number) => Server,
): Promise<number> {
  const { config, log } = ctx
  const { what, setting } = wanted
  const ports = config.isSandbox ? [wanted.port, wanted.fallback, 0] : [wanted.port, wanted.fallback]
  for (const [i, port] of ports.entries()) {
    const problem = await tryPort(() => listen(port))
    if (typeof problem === 'number') {
      if (i > 0)
        log.warn(
          { port: problem },
          `${what}: port ${wanted.port} cannot be opened; listening on ${problem} instead (${setting} changes it)`,
        )
      return problem
    }
    const mayMove = problem === 'EACCES' || (config.isSandbox && problem === 'EADDRINUSE')
    if (!mayMove || i === ports.length - 1) throw new ConfigError(portError(what, port, setting, problem))
  }
  throw new ConfigError(`${what}: no port`)
}

function portError(what: string, port: number, setting: string, code: string): string {
  const why = code === 'EADDRINUSE' ? 'is in use by another program' : `cannot be opened (${code})`
  return `${what}: port ${port} ${why}. Set another port with ${setting}.`
}

/** The port, or the error code. */
async function tryPort(listen: () => Server): Promise<number | string> {
  const server = listen()
  try {
    if (!server.listening) await once(server, 'listening')
    return portOf(server)
  } catch (error) {
    if (error instanceof Error && 'code' in error) return String(error.code)
    throw error
  }
}

function portOf(server: Server): number {
  const address = server.address()
  return address !== null && typeof address === 'object' ? address.port : 0
}
