/**
 * Where our own SMTP servers listen. A port below 1024 that this user may not have is replaced by the one above it that the documentation
 * names, and the log says so. A taken port is told together with the setting that moves it; in the sandbox, where nobody outside depends on
 * it, the replacement or any free port does.
 */
import { once } from 'node:events'
import type { Server } from 'node:net'
import { ConfigError } from '#config/load.ts'
import type { Context } from '#src/context.ts'

export interface Place {
  /** What listens there, for people. */
  readonly what: string
  /** The setting that moves it. */
  readonly setting: string
  readonly port: number
  /** In place of a port that may not be used. */
  readonly fallback: number
}

/** `listen` begins to listen on a port, on a fresh server each time. Answers the port. @throws ConfigError when it cannot be had. */
export async function listenAt(
  ctx: Pick<Context, 'config' | 'log'>,
  place: Place,
  listen: (port: number) => Server,
): Promise<number> {
  const { config, log } = ctx
  const { what, setting } = place
  const ports = config.isSandbox ? [place.port, place.fallback, 0] : [place.port, place.fallback]
  for (const [i, port] of ports.entries()) {
    const problem = await tryPort(() => listen(port))
    if (typeof problem === 'number') {
      if (i > 0)
        log.warn(
          { port: problem },
          `${what}: port ${place.port} cannot be used, ${problem} is (${setting} sets another)`,
        )
      return problem
    }
    const mayMove = problem === 'EACCES' || (config.isSandbox && problem === 'EADDRINUSE')
    if (!mayMove || i === ports.length - 1) throw new ConfigError(trouble(what, port, setting, problem))
  }
  throw new ConfigError(`${what}: no port`)
}

function trouble(what: string, port: number, setting: string, code: string): string {
  const why = code === 'EADDRINUSE' ? 'is taken by another program' : `cannot be used (${code})`
  return `${what}: port ${port} ${why}: choose another one with ${setting}`
}

/** The port, or the code of what went wrong. */
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
