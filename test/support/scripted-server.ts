/**
 * Plays the server's part of an SMTP dialog that is written as text, and records
 * the real dialog in the same format, so that a test compares two texts. One line
 * for each step:
 *
 *   S: 250 Ok         the server sends this line
 *   S" 250 Ok\n"      the server sends these bytes (the rest of a JSON string)
 *   S# close          the server ends: close, reset, or silence
 *   C: RSET           the client sends this line
 *   C: [message]      the client sends content and its end mark
 *   C# gone           the client closes the connection
 *
 * When the client sends something else, or sends out of turn, its input is
 * recorded as `C! ...` and the dialog ends.
 */
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { ReadBuffer } from './read-buffer.ts'

export interface ScriptedServer {
  readonly port: number
  /** What really happened, once the client is gone. */
  finish(): Promise<string>
}

interface ScriptedConnection {
  readonly socket: Socket
  readonly input: ReadBuffer
  isGone: boolean
  /** Resolves when bytes came or the client left. */
  wake: () => void
}

const LINE_BREAK = Buffer.from('\r\n')
const END = Buffer.from('\r\n.\r\n')

/** Listens on loopback for one connection and plays the dialog with it. */
export async function startScriptedServer(text: string): Promise<ScriptedServer> {
  const script = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  const transcript: string[] = []
  const server = createServer({ noDelay: true })
  const over = new Promise<void>((resolve) => {
    server.once('connection', (socket) => resolve(runScript(openConnection(socket), script, transcript)))
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
      return transcript.join('\n')
    },
  }
}

function openConnection(socket: Socket): ScriptedConnection {
  const connection: ScriptedConnection = { socket, input: new ReadBuffer(), isGone: false, wake: () => {} }
  const disconnect = (): void => {
    connection.isGone = true
    connection.wake()
  }
  socket.on('error', disconnect).on('close', disconnect).on('end', disconnect)
  socket.on('data', (chunk: Buffer) => {
    connection.input.push(chunk)
    connection.wake()
  })
  return connection
}

async function runScript(
  connection: ScriptedConnection,
  script: readonly string[],
  transcript: string[],
): Promise<void> {
  for (const line of script) {
    const actual = line.startsWith('C') ? await expectLine(connection, line) : sendLine(connection, line)
    transcript.push(actual)
    if (actual !== line) break
  }
  await until(connection, () => connection.isGone || connection.socket.destroyed)
  connection.socket.destroy()
}

function sendLine(connection: ScriptedConnection, line: string): string {
  if (connection.input.bytes.length > 0) return describe(connection.input.bytes)
  if (line.startsWith('S: ')) connection.socket.write(`${line.slice(3)}\r\n`)
  if (line.startsWith('S" ')) connection.socket.write(JSON.parse(`"${line.slice(3)}`) as string)
  if (line === 'S# close') connection.socket.destroySoon()
  if (line === 'S# reset') connection.socket.resetAndDestroy()
  return line
}

/** What the client does where this line is expected. */
async function expectLine(connection: ScriptedConnection, line: string): Promise<string> {
  const delimiter = line === 'C: [message]' ? END : LINE_BREAK
  await until(connection, () => connection.isGone || connection.input.indexOf(delimiter) >= 0)
  const end = connection.input.indexOf(delimiter)
  if (end < 0) return connection.input.bytes.length > 0 ? describe(connection.input.bytes) : 'C# gone'
  const received = connection.input.consume(end + delimiter.length).toString('utf8', 0, end)
  return delimiter === END ? line : `C: ${received}`
}

async function until(connection: ScriptedConnection, condition: () => boolean): Promise<void> {
  while (!condition())
    await new Promise<void>((resolve) => {
      connection.wake = resolve
    })
}

function describe(bytes: Buffer): string {
  return `C! ${JSON.stringify(bytes.toString('utf8'))}`
}
