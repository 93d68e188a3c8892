/**
 * One connection of the test receiver: reads commands and content, performs the script's action at each stage, and
 * records the messages it accepts. It uses plain sockets, because misbehaviour needs control over every byte.
 */
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { TLSSocket } from 'node:tls'
import type { Certificate } from './certificate.ts'
import { ReadBuffer } from './read-buffer.ts'
import { chooseAction, NO_SENDER } from './receiver-script.ts'
import type { ReceiverAction, ReceiverScript, ReceiverStage } from './receiver-script.ts'

export interface ReceivedMessage {
  readonly from: string
  readonly to: readonly string[]
  /** What followed the address in MAIL, e.g. `SIZE=4096 BODY=8BITMIME`. */
  readonly parameters: string
  /** The content with doubled dots undone and without the end mark. */
  readonly bytes: Buffer
  readonly tls: boolean
  /** The name asked for in TLS (SNI); null without. */
  readonly servername: string | null
  /** The number of the connection, from 1. */
  readonly connection: number
  readonly helo: string
  /** The address that it came from. */
  readonly peer: string
}

/** What the connection needs from its receiver. */
export interface ConnectionHost {
  readonly certificate: Certificate
  script(): ReceiverScript
  onCommand(connection: number, line: string): void
  onMessage(message: ReceivedMessage): void
}

const COMMANDS: Readonly<Record<string, ReceiverStage>> = {
  EHLO: 'ehlo',
  HELO: 'helo',
  STARTTLS: 'starttls',
  MAIL: 'mail',
  RCPT: 'rcpt',
  DATA: 'data',
  RSET: 'rset',
  NOOP: 'noop',
  QUIT: 'quit',
}
const END = Buffer.from('\r\n.\r\n')
const EMPTY = Buffer.from('.\r\n')
const LINE_BREAK = Buffer.from('\r\n')
const PATH = /^\w+ (?:FROM|TO):<(.*?)>(?: (.*))?$/i

export class ReceiverConnection {
  readonly #household: ConnectionHost
  readonly #number: number
  readonly #raw: Socket
  readonly #gone = new AbortController()
  #socket: Socket
  readonly #inbox = new ReadBuffer()
  #isWorking = false
  #isMute = false
  #isInContent = false
  #hasSeenBody = false
  #acceptedCount = 0
  readonly peer: string
  #helo = ''
  #from = NO_SENDER
  #parameters = ''
  #to: string[] = []

  constructor(household: ConnectionHost, socket: Socket, number: number) {
    this.#household = household
    this.#number = number
    this.#raw = socket
    this.peer = socket.remoteAddress ?? ''
    this.#socket = socket
    this.#listen(socket)
    void this.#work(async () => {
      await this.#perform('greeting', '', '')
    })
  }

  /** It said goodbye: what comes behind is between the kernels. */
  get isClosed(): boolean {
    return this.#socket.writableEnded
  }

  destroy(): void {
    this.#isMute = true
    this.#gone.abort()
    this.#socket.destroy()
    this.#raw.destroy()
  }

  #listen(socket: Socket): void {
    socket.on('error', () => this.destroy())
    socket.on('close', () => this.destroy())
    socket.on('data', (chunk: Buffer) => {
      this.#inbox.push(chunk)
      void this.#work(async () => {})
    })
  }

  /** One thing after the other: what arrives while an answer is being delayed waits. */
  async #work(first: () => Promise<void>): Promise<void> {
    if (this.#isWorking) return
    this.#isWorking = true
    await first()
    while (!this.#isMute && (await this.#proceed()));
    this.#isWorking = false
  }

  /** Handles what is complete in the buffer. @returns false if nothing is. */
  async #proceed(): Promise<boolean> {
    if (this.#isInContent) return await this.#readContent()
    const end = this.#inbox.indexOf(LINE_BREAK)
    if (end < 0) return false
    const line = this.#inbox.consume(end + LINE_BREAK.length).toString('utf8', 0, end)
    this.#household.onCommand(this.#number, line)
    await this.#obey(line)
    return true
  }

  async #obey(line: string): Promise<void> {
    const stage = COMMANDS[line.split(' ', 1)[0]?.toUpperCase() ?? ''] ?? 'other'
    const [, address = '', parameters = ''] = PATH.exec(line) ?? []
    const digit = await this.#perform(stage, line, address)
    if (stage === 'data') this.#isInContent = digit === '3'
    if (digit !== '2') return
    if (stage === 'ehlo' || stage === 'helo') this.#helo = line.slice(5)
    if (stage === 'rset') this.#forget()
    if (stage === 'rcpt') this.#to.push(address)
    if (stage === 'starttls') this.#startTls()
    if (stage !== 'mail') return
    this.#forget()
    this.#from = address
    this.#parameters = parameters
  }

  #forget(): void {
    this.#from = NO_SENDER
    this.#parameters = ''
    this.#to = []
  }

  async #readContent(): Promise<boolean> {
    if (!this.#hasSeenBody && this.#inbox.bytes.length >= (this.#household.script().bodyAfter ?? 1)) {
      this.#hasSeenBody = true
      await this.#perform('body', '', '')
      return true
    }
    const isEmpty = this.#inbox.bytes.subarray(0, EMPTY.length).equals(EMPTY)
    const end = isEmpty ? EMPTY.length : this.#inbox.indexOf(END) + END.length
    if (!isEmpty && end < END.length) return false
    const content = this.#inbox.consume(end).subarray(0, -EMPTY.length)
    this.#isInContent = false
    this.#hasSeenBody = false
    await this.#perform('dot', '', '', content)
    this.#forget()
    return true
  }

  /** Does what the script says. @returns the first digit of what was answered. */
  async #perform(stage: ReceiverStage, line: string, address: string, content?: Buffer): Promise<string> {
    const act = chooseAction(this.#household.script(), {
      stage,
      line,
      address,
      from: this.#from,
      to: [...this.#to],
      connection: this.#number,
      acceptedCount: this.#acceptedCount,
      peer: this.peer,
      tls: this.#socket !== this.#raw,
    })
    if (act.delayMs !== undefined) await sleep(act.delayMs, undefined, { signal: this.#gone.signal }).catch(() => {})
    await act.gate
    const said = act.raw ?? (act.reply === undefined ? '' : `${act.reply}\r\n`)
    const digit = said.toString('latin1').slice(0, 1)
    if (content !== undefined && (act.accepts ?? digit === '2')) this.#keep(content)
    if (said.length > 0 && !this.#gone.signal.aborted) this.#socket.write(said)
    this.#finish(act.end)
    return digit
  }

  #keep(content: Buffer): void {
    this.#acceptedCount++
    this.#household.onMessage({
      from: this.#from === NO_SENDER ? '' : this.#from,
      to: this.#to,
      parameters: this.#parameters,
      bytes: undoDots(content),
      tls: this.#socket !== this.#raw,
      servername: this.#socket instanceof TLSSocket ? this.#socket.servername || null : null,
      connection: this.#number,
      helo: this.#helo,
      peer: this.peer,
    })
  }

  #finish(end: ReceiverAction['end']): void {
    if (end === undefined) return
    this.#isMute = true
    if (end === 'stall') this.#socket.pause()
    if (end === 'close') this.#socket.destroySoon()
    if (end === 'reset') this.#raw.resetAndDestroy()
  }

  #startTls(): void {
    const { handshake, maxTls } = this.#household.script()
    this.#raw.removeAllListeners('data')
    this.#inbox.clear()
    if (handshake === 'drop') this.#raw.destroySoon()
    if (handshake === 'rubbish') this.#raw.once('data', () => this.#raw.write('this is no TLS\r\n'))
    if (handshake !== undefined) {
      this.#raw.resume()
      return
    }
    this.#helo = ''
    this.#forget()
    this.#socket = new TLSSocket(this.#raw, {
      isServer: true,
      ...this.#household.certificate,
      ...(maxTls !== undefined && { maxVersion: maxTls, minVersion: 'TLSv1' as const, ciphers: 'DEFAULT:@SECLEVEL=0' }),
    })
    this.#listen(this.#socket)
  }
}

/** RFC 5321 section 4.5.2: removes a dot at the start of a line. */
function undoDots(content: Buffer): Buffer {
  const lines = content.toString('latin1')
  return Buffer.from(
    lines.startsWith('.') ? lines.slice(1).replaceAll('\r\n.', '\r\n') : lines.replaceAll('\r\n.', '\r\n'),
    'latin1',
  )
}
