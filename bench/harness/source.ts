/**
 * A small SMTP source for machines without Postfix's `smtp-source`: 30 sessions
 * that each open a connection, send one message of 4 KB, quit, and repeat. The
 * number, from 1, precedes the recipient's local part. An unexpected reply of the
 * server fails the measurement.
 */
import { once } from 'node:events'
import { connect } from 'node:net'
import { monotonicMs } from './clock.ts'

export interface SourceOptions {
  readonly port: number
  readonly count: number
  readonly sessions: number
  readonly bytes: number
  readonly sender: string
  readonly site: string
}

/** The methods of the source's process (`remote.ts`). */
export function createSource() {
  return {
    send: async (options: SourceOptions): Promise<{ startedAt: number; endedAt: number }> => {
      const startedAt = monotonicMs()
      let next = 0
      await Promise.all(
        Array.from({ length: options.sessions }, async () => {
          while (next < options.count) await sendOne(options, ++next)
        }),
      )
      return { startedAt, endedAt: monotonicMs() }
    },
  }
}

async function sendOne({ port, bytes, sender, site }: SourceOptions, number: number): Promise<void> {
  const payload = `${'X'.repeat(78)}\r\n`.repeat(Math.ceil(bytes / 80)).slice(0, bytes)
  const header = [
    `From: <${sender}>`,
    `To: <r@${site}>`,
    `Date: ${new Date().toUTCString()}`,
    `Message-Id: <${number}.${process.pid}@source.example>`,
  ].join('\r\n')
  const dialog: readonly (readonly [expected: string, answer: string])[] = [
    ['220', 'EHLO source.example\r\n'],
    ['250', `MAIL FROM:<${sender}>\r\n`],
    ['250', `RCPT TO:<${number}r@${site}>\r\n`],
    ['250', 'DATA\r\n'],
    ['354', `${header}\r\n\r\n${payload}\r\n.\r\n`],
    ['250', 'QUIT\r\n'],
  ]
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  const closed = once(socket, 'close')
  let step = 0
  let reply = ''
  socket.setEncoding('latin1')
  socket.on('data', (chunk: string) => {
    reply += chunk
    if (!/(^|\r\n)\d{3}( [^\r\n]*)?\r\n$/.test(reply)) return
    const [expected, answer] = dialog[step++] ?? ['221', '']
    if (!reply.startsWith(expected)) socket.destroy(new Error(`message ${number}: ${reply.trim()}`))
    else if (answer !== '') socket.write(answer)
    reply = ''
  })
  await closed
  if (step < dialog.length) throw new Error(`message ${number}: the server closed the connection`)
}
