/**
 * One SMTP session: reads commands and data, one at a time. session-commands.ts defines what the commands do, the
 * handlers of the server what happens to mail.
 *
 * While a command waits, nothing more is processed. A client may close its side after its last command; it still
 * receives the replies. If a handler fails, the error is logged and the client gets 451, or 421 if the sink of a
 * message fails. A connection that ends within the data of a message aborts that message.
 */
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { SmtpConnection } from './connection.ts'
import { DataReader } from './data-reader.ts'
import type { EnvelopeAddress } from './envelope-command.ts'
import type { ProxiedPeer } from './proxy-header.ts'
import { ReplyError } from './reply.ts'
import { executeCommand } from './session-commands.ts'
import type { MessageSink, SmtpServer } from './smtp-server.ts'

/** RFC 4954 4 requires 12,288 octets for AUTH. */
const MAX_LINE_OCTETS = 16 * 1024
/** After so many commands in one turn of the event loop, other connections come first. */
const COMMANDS_PER_TURN = 100
const LF = 10
const CR = 13

const INTERNAL_ERROR = new ReplyError(451, '4.3.0 Internal error, try again later')
const NOT_STORED = new ReplyError(421, '4.3.0 Internal error, try again later')
const LINE_TOO_LONG = new ReplyError(421, `4.5.2 A command has more than ${MAX_LINE_OCTETS} octets: send shorter lines`)
const TOO_MANY_CONNECTIONS = new ReplyError(421, '4.3.2 Too many connections: connect again in a moment')
const STOPPING = new ReplyError(421, '4.3.2 The server is stopping: connect again later')

type NextLine = (line: string) => Promise<void> | void

export class SmtpSession<State = unknown> extends SmtpConnection {
  readonly server: SmtpServer<State>
  /** What the handlers remember about the session. */
  readonly state: State
  /** The name in EHLO or HELO; empty before. */
  helo = ''
  /** EHLO, not HELO. */
  isExtended = false
  isLoggedIn = false
  mailFrom: EnvelopeAddress | null = null
  rcptTo: EnvelopeAddress[] = []
  unknownCommands = 0
  /** A message has arrived, and is being stored. */
  isStoring = false
  /** The place of each recipient in `rcptTo`, by its address in lower case. */
  #places = new Map<string, number>()
  /** Octets that were received and are not processed yet. */
  #input: Buffer | null = null
  #hasQuit = false
  #lastReply: ReplyError | null = null
  #nextLine: NextLine | null = null
  /** The message whose data is being received. */
  #message: { readonly reader: DataReader; readonly sink: MessageSink } | null = null

  constructor(server: SmtpServer<State>, socket: Socket, peer: ProxiedPeer) {
    super(server, socket, peer)
    this.server = server
    this.state = server.handlers.open(this)
  }

  /** Greets the client. `secured`: its socket after a handshake. */
  start(secured: TLSSocket | null): void {
    const { name, banner, maxConnections } = this.server.options
    this.listen(secured)
    if (this.server.sessions.size > maxConnections) return this.closeWith(TOO_MANY_CONNECTIONS)
    this.reply(220, `${name} ESMTP ${banner}`)
    this.flush()
  }

  /** The session ends with this reply after the reply to the current command. */
  endAfterReply(lastReply: ReplyError): void {
    this.#lastReply = lastReply
  }

  quit(): void {
    this.reply(221, '2.0.0 Bye')
    this.isLast = true
    this.#hasQuit = true
  }

  /** The next line of the client belongs to this command. */
  expectLine(next: NextLine): void {
    this.#nextLine = next
  }

  /** What follows is the data of a message. */
  startData(sink: MessageSink): void {
    this.reply(354, 'End data with <CR><LF>.<CR><LF>')
    this.#message = { reader: new DataReader(), sink }
  }

  resetTransaction(): void {
    this.mailFrom = null
    if (this.rcptTo.length === 0) return
    this.rcptTo = []
    this.#places.clear()
  }

  hasRecipient(address: string): boolean {
    return this.#places.has(address.toLowerCase())
  }

  /** A recipient that is known is replaced. */
  addRecipient(recipient: EnvelopeAddress): void {
    const key = recipient.address.toLowerCase()
    const place = this.#places.get(key) ?? this.rcptTo.length
    this.#places.set(key, place)
    this.rcptTo[place] = recipient
  }

  /** Replies and continues with TLS. The session starts anew (RFC 3207 4.2). */
  startTls(): void {
    this.reply(220, '2.0.0 Ready to start TLS')
    this.#input = null
    this.secure(() => {
      this.helo = ''
      this.isLoggedIn = false
      this.resetTransaction()
    })
  }

  /** The server is stopping: the session ends now, or after its transaction. */
  finish(): void {
    if (!this.isBusy && !this.isClosed && this.mailFrom === null) this.closeWith(STOPPING)
  }

  /** The server waits no longer. */
  abandon(): void {
    this.disconnect(STOPPING)
  }

  protected override receive(chunk: Buffer): void {
    this.store(chunk)
    this.#process()
  }

  protected override store(chunk: Buffer): void {
    this.#input = this.#input === null ? chunk : Buffer.concat([this.#input, chunk])
  }

  protected override continue(): void {
    if (this.#lastReply !== null && !this.isLast) this.refuse(this.#lastReply)
    if (this.isLast) this.#end()
    else this.#process()
    if (this.server.isStopping) this.finish()
  }

  protected override leave(): void {
    this.server.sessions.delete(this)
    this.server.leaving.add(this)
  }

  protected override release(): void {
    const message = this.#message
    this.isClosed = true
    this.#input = null
    this.#message = null
    this.server.sessions.delete(this)
    this.server.leaving.delete(this)
    try {
      message?.sink.abort()
    } catch (error) {
      this.#log(error)
    }
  }

  /** Processes what was received, until a command has to wait. */
  #process(): void {
    for (let turns = 0; this.#input !== null && !this.isBusy && !this.isClosed; turns++) {
      if (turns === COMMANDS_PER_TURN) {
        this.isWaiting = true
        setImmediate(() => this.resume())
      } else if (this.#message !== null) this.#readData(this.#input, this.#message)
      else if (!this.#readLine(this.#input)) break
      if (this.isLast && !this.isWaiting) this.#end()
    }
    this.flush()
    if (this.hasEnded && !this.isBusy) this.#end()
  }

  #end(): void {
    const hasMore = this.#input !== null
    this.#input = null
    this.close(this.#hasQuit && !hasMore)
  }

  /** False: the line is not complete. */
  #readLine(input: Buffer): boolean {
    const end = input.indexOf(LF)
    if (end > MAX_LINE_OCTETS || (end < 0 && input.length > MAX_LINE_OCTETS)) {
      this.refuse(LINE_TOO_LONG)
      return true
    }
    if (end < 0) return false
    this.#input = restOf(input, end + 1)
    const line = input.toString('utf8', 0, input[end - 1] === CR ? end - 1 : end)
    const next = this.#nextLine
    this.#nextLine = null
    if (this.server.isStopping) this.refuse(STOPPING)
    else this.#run(() => (next === null ? executeCommand(this, line) : next(line)))
    return true
  }

  #readData(input: Buffer, { reader, sink }: { readonly reader: DataReader; readonly sink: MessageSink }): void {
    let end = -1
    try {
      end = reader.read(input, sink)
    } catch (error) {
      this.#log(error)
      this.closeWith(NOT_STORED)
    }
    if (this.isClosed) return // also by the sink
    this.#input = end < 0 ? null : restOf(input, end)
    if (end < 0) return
    this.#message = null
    this.isStoring = true
    this.#run(async () => {
      try {
        const text = await sink.end()
        if (text === null) this.destroy()
        else this.reply(250, text)
      } finally {
        this.isStoring = false
        this.resetTransaction()
        if (this.server.isStopping) this.#lastReply = STOPPING
      }
    })
  }

  /** Runs one command. If it has to wait, the session continues when it is done. */
  #run(command: () => Promise<void> | void): void {
    try {
      const done = command()
      if (done === undefined) return
      this.isWaiting = true
      done.then(
        () => this.resume(),
        (error: unknown) => {
          this.#fail(error)
          this.resume()
        },
      )
    } catch (error) {
      this.#fail(error)
    }
  }

  #fail(error: unknown): void {
    if (error instanceof ReplyError) return this.refuse(error)
    this.#log(error)
    this.refuse(INTERNAL_ERROR)
  }

  #log(error: unknown): void {
    this.server.log.error({ err: error, peer: this.remoteAddress }, 'failed to process what an SMTP client sent')
  }
}

/** Null if nothing is left, so that no part of a message stays in memory. */
function restOf(input: Buffer, from: number): Buffer | null {
  return from === input.length ? null : input.subarray(from)
}
