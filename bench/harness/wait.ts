/**
 * Waiting: for a condition, with a limit and a word on what did not happen, and
 * for a free port.
 */
import { once } from 'node:events'
import { connect, createServer, type AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Trouble } from '#bin/supervisor/user-error.ts'
import type { Started } from './worker-processes.ts'

const READY_MS = 60_000

/** Asks every 20 ms. Throws Trouble when the process ends before, or after a minute. */
export async function waitUntil(what: string, isSo: () => Promise<boolean>, process?: Started): Promise<void> {
  let gone: string | null = null
  process?.gone.then(
    (reason) => {
      gone = reason
      return reason
    },
    () => {},
  )
  for (const end = Date.now() + READY_MS; Date.now() < end; await sleep(20)) {
    if (await isSo()) return
    if (gone !== null) throw new Trouble(`${what} did not happen: ${String(gone)}`)
  }
  throw new Trouble(`${what} did not happen within ${READY_MS / 1000} s`)
}

/** True when something accepts connections there. */
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

/** True when an SMTP server there says 220 within a second. */
export async function greets(port: number): Promise<boolean> {
  const socket = connect({ port, host: '127.0.0.1', signal: AbortSignal.timeout(1000) })
  try {
    const [greeting] = (await once(socket, 'data')) as [Buffer]
    return greeting.toString('latin1').startsWith('220')
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

/** A port of loopback that was free a moment ago: for programs that cannot be told to choose one. */
export async function freePort(): Promise<number> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
