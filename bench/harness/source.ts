/**
 * A small SMTP source for machines without Postfix's `smtp-source`: sessions that each open a connection, send one
 * message, quit, and repeat. The number precedes the recipient's local part. An unexpected reply of the server fails
 * the measurement.
 */
import { once } from 'node:events'
import { connect } from 'node:net'
import { monotonicMs } from './clock.ts'
import type { SourceBatch } from './smtp-load.ts'

export interface SourceOptions {
  readonly port: number
  readonly batches: readonly SourceBatch[]
  readonly sender: string
  readonly site: string
}

type Target = Omit<SourceOptions, 'batches'>

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
  const data = Buffer.concat([escapeDots(Buffer.from(mail)), Buffer.from('.\r\n')])
  let sent = 0
  await Promise.all(
    Array.from({ length: sessions }, async () => {
      while (sent < count) await sendOne(target, from + sent++, data)
    }),
  )
}

/** RFC 5321 §4.5.2. */
function escapeDots(mail: Buffer): Buffer {
  return Buffer.from(mail.toString('latin1').replaceAll('\r\n.', '\r\n..'), 'latin1')
}

async function sendOne({ port, sender, site }: Target, number: number, data: Buffer): Promise<void> {
  const dialog: readonly (readonly [expected: string, answer: string | Buffer])[] = [
    ['220', 'EHLO source.example\r\n'],
    ['250', `MAIL FROM:<${sender}>\r\n`],
    ['250', `RCPT TO:<${number}r@${site}>\r\n`],
    ['250', 'DATA\r\n'],
    ['354', data],
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
