/**
 * Plays the server's part of an SMTP dialog that is written down as text, and
 * writes down in the same form what really happened, so that a test compares two
 * texts. One line a happening:
 *
 *   S: 250 Ok         the server says this line
 *   S" 250 Ok\n"      the server sends these bytes (the rest of a JSON string)
 *   S# close          the server ends: close, reset, or silence
 *   C: RSET           the client says this line
 *   C: [message]      the client sends content and its end mark
 *   C# gone           the client hangs up without another word
 *
 * A client that says something else, or speaks before it is its turn, is written
 * down as it was (`C! ...`), and the play is over.
 */
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { Inbox } from './inbox.ts'

export interface Play {
  readonly port: number
  /** What really happened, once the client is gone. */
  finish(): Promise<string>
}

interface Stage {
  readonly socket: Socket
  readonly inbox: Inbox
  isGone: boolean
  /** Resolves when bytes came or the client left. */
  wake: () => void
}

const LINE_BREAK = Buffer.from('\r\n')
const END = Buffer.from('\r\n.\r\n')

/** Listens on loopback for one connection and plays the dialog with it. */
export async function playDialog(text: string): Promise<Play> {
  const script = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  const happened: string[] = []
  const server = createServer({ noDelay: true })
  const over = new Promise<void>((resolve) => {
    server.once('connection', (socket) => resolve(perform(setStage(socket), script, happened)))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    finish: async () => {
      await over
      const closed = once(server, 'close')
      server.close()
      await closed
      return happened.join('\n')
    },
  }
}

function setStage(socket: Socket): Stage {
  const stage: Stage = { socket, inbox: new Inbox(), isGone: false, wake: () => {} }
  const leave = (): void => {
    stage.isGone = true
    stage.wake()
  }
  socket.on('error', leave).on('close', leave).on('end', leave)
  socket.on('data', (chunk: Buffer) => {
    stage.inbox.push(chunk)
    stage.wake()
  })
  return stage
}

async function perform(stage: Stage, script: readonly string[], happened: string[]): Promise<void> {
  for (const line of script) {
    const real = line.startsWith('C') ? await listen(stage, line) : speak(stage, line)
    happened.push(real)
    if (real !== line) break
  }
  await until(stage, () => stage.isGone || stage.socket.destroyed)
  stage.socket.destroy()
}

function speak(stage: Stage, line: string): string {
  if (stage.inbox.bytes.length > 0) return describe(stage.inbox.bytes)
  if (line.startsWith('S: ')) stage.socket.write(`${line.slice(3)}\r\n`)
  if (line.startsWith('S" ')) stage.socket.write(JSON.parse(`"${line.slice(3)}`) as string)
  if (line === 'S# close') stage.socket.destroySoon()
  if (line === 'S# reset') stage.socket.resetAndDestroy()
  return line
}

/** What the client does where this line is expected. */
async function listen(stage: Stage, line: string): Promise<string> {
  const mark = line === 'C: [message]' ? END : LINE_BREAK
  await until(stage, () => stage.isGone || stage.inbox.find(mark) >= 0)
  const end = stage.inbox.find(mark)
  if (end < 0) return stage.inbox.bytes.length > 0 ? describe(stage.inbox.bytes) : 'C# gone'
  const said = stage.inbox.take(end + mark.length).toString('utf8', 0, end)
  return mark === END ? line : `C: ${said}`
}

async function until(stage: Stage, isSo: () => boolean): Promise<void> {
  while (!isSo())
    await new Promise<void>((resolve) => {
      stage.wake = resolve
    })
}

function describe(bytes: Buffer): string {
  return `C! ${JSON.stringify(bytes.toString('utf8'))}`
}
