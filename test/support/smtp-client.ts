/** An SMTP submission client: authenticates with a key on its own connection and sends messages. */
import { connectSmtp, type SmtpConnection } from './smtp-connection.ts'

/** EHLO, and with a key AUTH PLAIN. */
export async function logInSmtp(port: number, key: string | null): Promise<SmtpConnection> {
  const connection = await connectSmtp(port)
  await connection.command('EHLO client.test')
  if (key === null) return connection
  const reply = await connection.command(`AUTH PLAIN ${plainToken(key)}`)
  if (!reply.startsWith('235')) throw new Error(`not logged in: ${reply}`)
  return connection
}

export function plainToken(key: string, user = 'apikey'): string {
  return Buffer.from(`\0${user}\0${key}`).toString('base64')
}

export interface OutgoingMessage {
  readonly from: string
  readonly to: string | readonly string[]
  /** With CRLF; the last dot is added. */
  readonly content: string | Buffer
  /** After MAIL FROM:<…>. */
  readonly parameters?: string
}

/** One transaction; answers the last reply, the first that is not positive. */
export async function sendMessage(
  connection: SmtpConnection,
  { from, to, content, parameters = '' }: OutgoingMessage,
): Promise<string> {
  const commands = [`MAIL FROM:<${from}>${parameters}`, ...[to].flat().map((address) => `RCPT TO:<${address}>`), 'DATA']
  for (const command of commands) {
    const reply = await connection.command(command)
    if (!/^[23]/.test(reply)) return reply
  }
  connection.send(doubleDots(content))
  connection.send('\r\n.\r\n')
  return connection.readReply()
}

function doubleDots(content: string | Buffer): Buffer {
  const text = typeof content === 'string' ? content : content.toString('latin1')
  return Buffer.from(text.replaceAll(/(^|\r\n)\./g, '$1..'), typeof content === 'string' ? 'utf8' : 'latin1')
}
