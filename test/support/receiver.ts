/**
 * An SMTP server for tests on loopback. It follows a script and records everything: `const mx = await startReceiver({
 * on: { rcpt: '550 5.1.1 No such user' } })`. `messages` contains exactly what was transmitted, in the order of
 * acceptance. `stop` leaves no socket, timer or listener behind.
 */
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { certificateFor } from './certificate.ts'
import { ReceiverConnection } from './receiver-connection.ts'
import type { ReceivedMessage } from './receiver-connection.ts'
import type { ReceiverScript } from './receiver-script.ts'

export interface Receiver {
  readonly host: string
  readonly port: number
  /** PEM of the authority that its certificate (for the script's `name`, localhost and `host`) verifies with. */
  readonly ca: string
  readonly messages: readonly ReceivedMessage[]
  /** Every command line that was received, in order. */
  readonly commands: readonly { readonly connection: number; readonly line: string }[]
  /** How many connections there have been. */
  readonly connections: number
  /** How many are open now. */
  readonly open: number
  /** Of them from this address. */
  openFrom(peer: string): number
  /** May be replaced at any time; holds from the next stage on, whatever the connection. */
  script: ReceiverScript
  /** Resolves when `count` messages have been accepted in total. */
  until(count: number): Promise<readonly ReceivedMessage[]>
  stop(): Promise<void>
}

interface ReceiverAddress {
  readonly host?: string
  /** 0, the default, for any that is free. */
  readonly port?: number
}

/** Starts a receiver with this script. */
export async function startReceiver(
  script: ReceiverScript = {},
  { host = '127.0.0.1', port = 0 }: ReceiverAddress = {},
): Promise<Receiver> {
  const certificate = script.certificate ?? (await certificateFor([script.name ?? 'mx.test', 'localhost', host]))
  const messages: ReceivedMessage[] = []
  const commands: { connection: number; line: string }[] = []
  const connections = new Set<ReceiverConnection>()
  const waiting = new Set<{ count: number; resolve: (messages: ReceivedMessage[]) => void }>()
  let connected = 0

  const server = createServer({ noDelay: true }, (socket) => {
    const connection = new ReceiverConnection(
      {
        certificate,
        script: () => receiver.script,
        onCommand: (number, line) => {
          commands.push({ connection: number, line })
        },
        onMessage: (message) => {
          messages.push(message)
          for (const waiter of waiting)
            if (messages.length >= waiter.count && waiting.delete(waiter)) waiter.resolve(messages)
        },
      },
      socket,
      ++connected,
    )
    connections.add(connection)
    socket.on('close', () => {
      connections.delete(connection)
    })
  })
  server.listen(port, host)
  await once(server, 'listening')

  let stopped: Promise<unknown> | null = null
  const receiver: Receiver = {
    host,
    port: (server.address() as AddressInfo).port,
    ca: certificate.cert,
    messages,
    commands,
    script,
    get connections() {
      return connected
    },
    get open() {
      return [...connections].filter((one) => !one.isClosed).length
    },
    openFrom: (peer) => [...connections].filter((one) => one.peer === peer && !one.isClosed).length,
    until: (count) =>
      new Promise((resolve) => {
        if (messages.length >= count) resolve(messages)
        else waiting.add({ count, resolve })
      }),
    stop: async () => {
      stopped ??= once(server.close(), 'close')
      for (const connection of connections) connection.destroy()
      await stopped
    },
  }
  return receiver
}
