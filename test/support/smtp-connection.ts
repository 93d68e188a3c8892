/**
 * The client's side of an SMTP dialog by hand: sends one line, reads one reply, switches to TLS and disconnects. For
 * input that a well-behaved client library never sends.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'

export interface SmtpConnection {
  /** Sends the line with CRLF. Returns the reply with all its lines; '' when the server closed the connection. */
  command(line: string): Promise<string>
  /** Sends bytes as they are and does not wait. */
  send(bytes: string | Buffer): void
  readReply(): Promise<string>
  /** Switches to TLS, after the reply to STARTTLS. Rejects when the handshake fails. */
  startTls(): Promise<void>
  disconnect(): void
}

/** Connects, from `localAddress` if given, and reads the greeting. */
export async function connectSmtp(port: number, host = '127.0.0.1', localAddress?: string): Promise<SmtpConnection> {
  let socket: Socket = connect({ port, host, ...(localAddress === undefined ? {} : { localAddress }) })
  let readReply = createReplyReader(socket)
  const connection: SmtpConnection = {
    command: (line) => {
      socket.write(`${line}\r\n`)
      return readReply()
    },
    send: (bytes) => void socket.write(bytes),
    readReply: () => readReply(),
    startTls: async () => {
      socket.removeAllListeners()
      const tlsSocket = connectTls({ socket, rejectUnauthorized: false })
      await once(tlsSocket, 'secureConnect')
      socket = tlsSocket
      readReply = createReplyReader(tlsSocket)
    },
    disconnect: () => void socket.destroy(),
  }
  await readReply()
  return connection
}

/** Sends a message on a new connection. Returns the replies to MAIL, RCPT, DATA and the final dot. */
export async function submitMessage(
  port: number,
  message: { readonly from: string; readonly to: string; readonly content: string | Buffer },
): Promise<string[]> {
  const connection = await connectSmtp(port)
  const replies: string[] = []
  await connection.command('EHLO client.test')
  for (const line of [`MAIL FROM:<${message.from}>`, `RCPT TO:<${message.to}>`, 'DATA']) {
    replies.push(await connection.command(line))
    if (!/^[23]/.test(replies.at(-1) ?? '')) break
  }
  if (replies.length === 3) {
    connection.send(message.content)
    connection.send('\r\n.\r\n')
    replies.push(await connection.readReply())
  }
  connection.disconnect()
  return replies
}

/** Returns a function that reads the next reply. */
function createReplyReader(socket: Socket): () => Promise<string> {
  let text = ''
  let isClosed = false
  let arrival = Promise.withResolvers<void>()
  const wake = (): void => {
    arrival.resolve()
    arrival = Promise.withResolvers()
  }
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
    wake()
  })
  const end = (): void => {
    isClosed = true
    wake()
  }
  socket.on('error', end).on('close', end).on('end', end)
  return async () => {
    for (;;) {
      const found = /^(?:\d{3}-.*\r\n)*\d{3}(?: .*)?\r\n/.exec(text)?.[0]
      if (found !== undefined) {
        text = text.slice(found.length)
        return found.trimEnd()
      }
      if (isClosed) return ''
      await arrival.promise
    }
  }
}
