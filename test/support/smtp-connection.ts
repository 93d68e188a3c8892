/**
 * The client's side of an SMTP dialog, by hand: says one line, hears one reply, can go over to TLS and can hang up.
 * For what a well-behaved client library would never send.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'

export interface SmtpConnection {
  /** Sends the line with CRLF and answers the reply, all of its lines; '' when the server hung up. */
  command(line: string): Promise<string>
  /** Sends bytes as they are and does not wait. */
  send(bytes: string | Buffer): void
  readReply(): Promise<string>
  /** Goes over to TLS, after the reply to STARTTLS. Rejects when the handshake fails. */
  startTls(): Promise<void>
  disconnect(): void
}

/** Connects, from a certain address of ours where one is given, and hears the greeting. */
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

/** A whole transaction up to the final dot, on a fresh connection; answers the replies to MAIL, RCPT, DATA and the dot. */
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

/** Answers the next reply each time it is called. */
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
