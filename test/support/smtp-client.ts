/** A program that hands mail in: logs in with a key on a connection of its own and says what it likes. */
import { talkSmtp, type Talk } from './smtp-conversation.ts'

/** EHLO, and with a key AUTH PLAIN. */
export async function logInSmtp(port: number, key: string | null): Promise<Talk> {
  const talk = await talkSmtp(port)
  await talk.say('EHLO client.test')
  if (key === null) return talk
  const answer = await talk.say(`AUTH PLAIN ${plainToken(key)}`)
  if (!answer.startsWith('235')) throw new Error(`not logged in: ${answer}`)
  return talk
}

export function plainToken(key: string, user = 'apikey'): string {
  return Buffer.from(`\0${user}\0${key}`).toString('base64')
}

export interface Handing {
  readonly from: string
  readonly to: string | readonly string[]
  /** With CRLF; the last dot is added. */
  readonly content: string | Buffer
  /** After MAIL FROM:<…>. */
  readonly parameters?: string
}

/** One transaction; answers the last reply, the first that is not positive. */
export async function handIn(talk: Talk, { from, to, content, parameters = '' }: Handing): Promise<string> {
  const commands = [`MAIL FROM:<${from}>${parameters}`, ...[to].flat().map((address) => `RCPT TO:<${address}>`), 'DATA']
  for (const command of commands) {
    const reply = await talk.say(command)
    if (!/^[23]/.test(reply)) return reply
  }
  talk.send(doubleDots(content))
  talk.send('\r\n.\r\n')
  return talk.hear()
}

function doubleDots(content: string | Buffer): Buffer {
  const text = typeof content === 'string' ? content : content.toString('latin1')
  return Buffer.from(text.replaceAll(/(^|\r\n)\./g, '$1..'), typeof content === 'string' ? 'utf8' : 'latin1')
}
