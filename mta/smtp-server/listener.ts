/**
 * Listens on the ports of the SMTP servers. If the user may not open a port below 1024, the documented port above it is
 * used instead, and the log says so. If another program uses the port, the error names the setting that changes it; in
 * sandbox mode, where nobody outside depends on the port, the replacement or any free port is used.
 */
import { once } from 'node:events'
import type { Server } from 'node:net'
import { ConfigError } from '#config/load.ts'
import type { Context } from '#src/context.ts'

export interface PortSetting {
  /** Name of the server, for messages. */
  readonly what: string
  /** The setting that changes the port. */
  readonly setting: string
  readonly port: number
  /** Used if the port itself may not be opened. */
  readonly fallback: number
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
    const address = server.address()
    return address !== null && typeof address === 'object' ? address.port : 0
  } catch (error) {
    if (error instanceof Error && 'code' in error) return String(error.code)
    throw error
  }
}
