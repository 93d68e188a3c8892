/**
 * A connection pooler between a process and PostgreSQL that shares one session among all its clients, a transaction at
 * a time, and drops the settings of their startups: PgBouncer with `pool_mode = transaction` and
 * `ignore_startup_parameters = options`, where PgBouncer is not installed.
 */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { proxiedUrl, targetOf } from './silent-proxy.ts'

export interface TestPooler {
  /** The URL of the database, by way of the pooler. */
  readonly url: string
  stop(): Promise<void>
}

/** A statement with all its messages, up to Query or Sync. */
interface Request {
  readonly client: Socket
  readonly bytes: Buffer
}

const PROTOCOL = 196_608
const QUERY = 'Q'
const SYNC = 'S'
const READY = 'Z'
const KEY_DATA = 'K'
const IDLE = 'I'
const ROLLBACK = Buffer.from('Q\0\0\0\x0dROLLBACK\0')

export async function startPooler(databaseUrl: string): Promise<TestPooler> {
  const sockets = new Set<Socket>()
  const store = connect(targetOf(databaseUrl))
  sockets.add(store)
  store.on('error', () => undefined)
  store.write(startup({ user: new URL(databaseUrl).username, database: new URL(databaseUrl).pathname.slice(1) }))
  const greeting: Buffer[] = []
  const isGreeted = Promise.withResolvers<Buffer>()
  const queue: Request[] = []
  let current: Request | null = null
  /** The client whose transaction is open. */
  let owner: Socket | null = null

  function sendNext(): void {
    const next = queue.findIndex(({ client }) => owner === null || client === owner)
    if (current !== null || next < 0) return
    current = queue.splice(next, 1)[0] ?? null
    if (current !== null) store.write(current.bytes)
  }
  function receive(type: string, message: Buffer): void {
    if (current === null) {
      // of another process, as PgBouncer greets
      if (type === KEY_DATA) message.writeInt32BE(1, 5)
      greeting.push(message)
      if (type === READY) isGreeted.resolve(Buffer.concat(greeting))
      return
    }
    current.client.write(message)
    if (type !== READY) return
    owner = message.toString('latin1', 5) === IDLE ? null : current.client
    current = null
    sendNext()
  }
  store.on('data', splitter(receive))
  const server = createServer((client) => {
    sockets.add(client)
    client.on('error', () => undefined)
    client.once('close', () => {
      if (owner !== client) return
      queue.unshift({ client, bytes: ROLLBACK })
      sendNext()
    })
    client.once('data', () => {
      void isGreeted.promise.then((bytes) => client.write(bytes))
      const parts: Buffer[] = []
      client.on(
        'data',
        splitter((type, message) => {
          parts.push(message)
          if (type !== QUERY && type !== SYNC) return
          queue.push({ client, bytes: Buffer.concat(parts.splice(0)) })
          sendNext()
        }),
      )
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: proxiedUrl(databaseUrl, port),
    stop: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Calls `onMessage` for each message of the protocol: a type, its length, which includes itself, and the rest. */
function splitter(onMessage: (type: string, message: Buffer) => void): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0)
  return (chunk) => {
    rest = Buffer.concat([rest, chunk])
    while (rest.length >= 5 && rest.length > rest.readInt32BE(1)) {
      const end = 1 + rest.readInt32BE(1)
      const message = Buffer.from(rest.subarray(0, end))
      rest = rest.subarray(end)
      onMessage(message.toString('latin1', 0, 1), message)
    }
  }
}

/** The length, the protocol, and pairs of name and value, each ended by a zero byte. */
function startup(settings: Readonly<Record<string, string>>): Buffer {
  const body = Buffer.from(`${Object.entries(settings).flat().join('\0')}\0\0`)
  const head = Buffer.alloc(8)
  head.writeInt32BE(body.length + 8, 0)
  head.writeInt32BE(PROTOCOL, 4)
  return Buffer.concat([head, body])
}
