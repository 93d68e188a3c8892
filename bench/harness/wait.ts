/**
 * Waits for a condition, with a time limit and an error that names the condition;
 * checks ports and finds a free one.
 */
import { once } from 'node:events'
import { connect, createServer, type AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { UserError } from '#bin/supervisor/user-error.ts'
import type { StartedProcess } from './process-manager.ts'

const READY_MS = 60_000

/** Checks the condition every 20 ms. Throws UserError when the process ends first, or after a minute. */
export async function waitUntil(
  what: string,
  condition: () => Promise<boolean>,
  process?: StartedProcess,
): Promise<void> {
  let gone: string | null = null
  process?.exited.then(
    (reason) => {
      gone = reason
      return reason
    },
    () => {},
  )
  for (const end = Date.now() + READY_MS; Date.now() < end; await sleep(20)) {
    if (await condition()) return
    if (gone !== null) throw UserError.of(`${what} did not happen: ${String(gone)}`)
  }
  throw UserError.of(`${what} did not happen within ${READY_MS / 1000} s`)
}

/** True when the port accepts connections. */
export async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

/** True when an SMTP server on the port sends 220 within a second. One that is starting may close the connection. */
export async function sendsGreeting(port: number): Promise<boolean> {
  const socket = connect({ port, host: '127.0.0.1', signal: AbortSignal.timeout(1000) })
  try {
    const closed = once(socket, 'close').then(() => [])
    const [greeting] = (await Promise.race([once(socket, 'data'), closed])) as [Buffer?]
    return greeting?.toString('latin1').startsWith('220') === true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

/** A port on loopback that was free a moment ago, for programs that cannot choose one themselves. */
export async function freePort(): Promise<number> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
