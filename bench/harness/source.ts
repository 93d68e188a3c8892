/**
 * A small SMTP source, for machines without Postfix's `smtp-source` and for what that cannot do: sessions that each
 * open a connection, send one message or many, quit, and repeat; with STARTTLS and AUTH where the options say so. The
 * number precedes the recipient's local part. An unexpected reply of the server fails the measurement.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { connect as startTls } from 'node:tls'
import { monotonicMs } from './clock.ts'
import type { SourceBatch } from './smtp-load.ts'

export interface SourceOptions {
  readonly port: number
  readonly batches: readonly SourceBatch[]
  readonly sender: string
  readonly site: string
  /** Default: 1. */
  readonly messagesPerConnection?: number
  /** STARTTLS, with a full handshake for each connection. Any certificate is good. */
  readonly tls?: boolean
  /** The initial response of AUTH PLAIN in base64 (RFC 4616). Default: no AUTH. */
  readonly auth?: string
}

type Target = Omit<SourceOptions, 'batches'>

const CLOSED = 'the server closed the connection'

/** The methods of the source's process (`remote.ts`). */
export function createSource() {
  return {
    send: async ({ batches, ...target }: SourceOptions): Promise<{ startedAt: number; endedAt: number }> => {
      const startedAt = monotonicMs()
      await Promise.all(batches.map((batch) => sendBatch(target, batch)))
      return { startedAt, endedAt: monotonicMs() }
    },
  }
}

async function sendBatch(target: Target, { mail, from, count, sessions }: SourceBatch): Promise<void> {
  const { sender, site, messagesPerConnection = 1 } = target
  const data = Buffer.concat([escapeDots(Buffer.from(mail)), Buffer.from('.\r\n')])
  let sent = 0
  const sendConnection = async (): Promise<void> => {
    const connection = await logIn(target)
    for (let n = 0; n < messagesPerConnection && sent < count; n++) {
      const number = from + sent++
      await connection.ask(`MAIL FROM:<${sender}>\r\n`, '250')
      await connection.ask(`RCPT TO:<${number}r@${site}>\r\n`, '250')
      await connection.ask('DATA\r\n', '354')
      await connection.ask(data, '250')
    }
    await connection.ask('QUIT\r\n', '221')
    await connection.closed
  }
  await Promise.all(
    Array.from({ length: sessions }, async () => {
      while (sent < count) await sendConnection()
    }),
  )
}

/** RFC 5321 §4.5.2. */
function escapeDots(mail: Buffer): Buffer {
  return Buffer.from(mail.toString('latin1').replaceAll('\r\n.', '\r\n..'), 'latin1')
}

/** Opens a connection that is ready for the first MAIL. */
async function logIn({ port, tls = false, auth }: Target): Promise<Connection> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  let connection = converse(socket)
  await connection.ask('', '220')
  await connection.ask('EHLO source.example\r\n', '250')
  if (tls) {
    await connection.ask('STARTTLS\r\n', '220')
    socket.removeAllListeners('data')
    connection = converse(startTls({ socket, rejectUnauthorized: false }))
    await connection.ask('EHLO source.example\r\n', '250')
  }
  if (auth !== undefined) await connection.ask(`AUTH PLAIN ${auth}\r\n`, '235')
  return connection
}

interface Connection {
  readonly closed: Promise<unknown>
  /** Sends a command and waits for the reply. Rejects when it has another code, or when the connection ends. */
  ask(command: string | Buffer, expected: string): Promise<void>
}

function converse(socket: Socket): Connection {
  let reply = ''
  let expects = ''
  let onReply: (error: Error | null) => void = () => {}
  socket.on('data', (chunk: Buffer) => {
    reply += chunk.toString('latin1')
    if (!/(^|\r\n)\d{3}( [^\r\n]*)?\r\n$/.test(reply)) return
    const isExpected = reply.startsWith(expects)
    onReply(isExpected ? null : new Error(`the server replied ${reply.trim()}`))
    if (!isExpected) socket.destroy()
    reply = ''
  })
  const closed = once(socket, 'close').catch((error: unknown) => onReply(error as Error))
  void closed.then(() => onReply(new Error(CLOSED)))
  return {
    closed,
    ask: (command, expected) =>
      new Promise((resolve, reject) => {
        if (socket.destroyed) throw new Error(CLOSED)
        expects = expected
        onReply = (error) => (error === null ? resolve() : reject(error))
        if (command !== '') socket.write(command)
      }),
  }
}
