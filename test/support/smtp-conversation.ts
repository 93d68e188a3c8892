/**
 * The client's side of an SMTP dialog, by hand: says one line, hears one reply, can go over to TLS and can hang up.
 * For what a well-behaved client library would never send.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'

export interface Talk {
  /** Sends the line with CRLF and answers the reply, all of its lines; '' when the server hung up. */
  say(line: string): Promise<string>
  /** Sends bytes as they are and does not wait. */
  send(bytes: string | Buffer): void
  hear(): Promise<string>
  /** Goes over to TLS, after the reply to STARTTLS. Rejects when the handshake fails. */
  secure(): Promise<void>
  hangUp(): void
}

/** Connects, from a certain address of ours where one is given, and hears the greeting. */
export async function talkSmtp(port: number, host = '127.0.0.1', localAddress?: string): Promise<Talk> {
  let socket: Socket = connect({ port, host, ...(localAddress === undefined ? {} : { localAddress }) })
  let reader = listen(socket)
  const talk: Talk = {
    say: (line) => {
      socket.write(`${line}\r\n`)
      return reader()
    },
    send: (bytes) => void socket.write(bytes),
    hear: () => reader(),
    secure: async () => {
      socket.removeAllListeners()
      const secured = connectTls({ socket, rejectUnauthorized: false })
      await once(secured, 'secureConnect')
      socket = secured
      reader = listen(secured)
    },
    hangUp: () => void socket.destroy(),
  }
  await reader()
  return talk
}

/** A whole transaction up to the final dot, on a fresh connection; answers the replies to MAIL, RCPT, DATA and the dot. */
export async function submit(
  port: number,
  mail: { readonly from: string; readonly to: string; readonly content: string | Buffer },
): Promise<string[]> {
  const talk = await talkSmtp(port)
  const replies: string[] = []
  await talk.say('EHLO client.test')
  for (const line of [`MAIL FROM:<${mail.from}>`, `RCPT TO:<${mail.to}>`, 'DATA']) {
    replies.push(await talk.say(line))
    if (!/^[23]/.test(replies.at(-1) ?? '')) break
  }
  if (replies.length === 3) {
    talk.send(mail.content)
    talk.send('\r\n.\r\n')
    replies.push(await talk.hear())
  }
  talk.hangUp()
  return replies
}

/** Answers the next reply each time it is called. */
function listen(socket: Socket): () => Promise<string> {
  let text = ''
  let isOver = false
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
    isOver = true
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
      if (isOver) return ''
      await arrival.promise
    }
  }
}
