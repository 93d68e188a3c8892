/**
 * smtp-server, adapted to a submission port. It differs in six ways for which smtp-server has no option:
 * - The greeting is sent at once (mta/smtp-server/prompt-greeting.ts): the delay would limit a client that connects for
 * each message to ten messages a second.
 * - AUTH is neither offered nor accepted where the password would cross the network in plain text.
 * - A reply with its own enhanced code gets no second one.
 * - Each connection has a deadline besides the idle timeout, so a client that sends a byte now and then is disconnected
 * too.
 * - After QUIT nothing is read: most programs have disconnected by then, and handling that as an error costs more than
 * the reply.
 * - An address without angle brackets is accepted, as old programs send it.
 */
import type { Socket } from 'node:net'
import type { SMTPServerOptions, SMTPServerSession } from 'smtp-server'
import type { SMTPConnectionOptions } from 'smtp-server/lib/smtp-connection.js'
import type { Clock } from '#src/platform/clock.ts'
import { type PeerOptions, PeerServer, PromptConnection } from '#mta/smtp-server/prompt-greeting.ts'
import { isLoopback } from '#src/net/address-policy.ts'
import type { SubmissionSender } from '#src/submission/sender.ts'

/** Time limits of a connection: until the login, between two commands, for one message. */
export const STEP_MS = { login: 60_000, command: 5 * 60_000, mail: 30 * 60_000 } as const
const SWEEP_MS = 1000
const STATUS = /^[245]\.\d{1,3}\.\d{1,3} /

/** One client connection. */
export class SubmissionConnection extends PromptConnection {
  /** The API key it logged in with. */
  key: string | null = null
  failedLogins = 0
  /** The sender of the current transaction. */
  sender: SubmissionSender | null = null
  readonly isLocal: boolean
  deadlineMs = Infinity
  readonly #server: SubmissionServer
  readonly #socket: Socket

  constructor(server: SubmissionServer, socket: Socket, options: SMTPConnectionOptions | null | undefined) {
    super(server, socket, options ?? null)
    this.#server = server
    this.#socket = socket
    this.isLocal = isLoopback(this.remoteAddress)
  }

  extendDeadline(stepMs: number): void {
    this.deadlineMs = this.#server.clock.now() + stepMs
  }

  disconnect(): void {
    this.#socket.destroy()
  }

  override init(): void {
    this.extendDeadline(STEP_MS.login)
    super.init()
  }

  override send(code: number, data?: string | string[] | null, context?: string | false): void {
    super.send(code, data, typeof data === 'string' && STATUS.test(data) ? false : context)
  }

  override handler_EHLO(command: Buffer, callback: () => void): void {
    if (!this.#mayLogIn) this.session.disabledCommands = ['AUTH']
    super.handler_EHLO(command, callback)
    delete this.session.disabledCommands
  }

  override handler_MAIL(command: Buffer, callback: () => void): void {
    super.handler_MAIL(withAngleBrackets(command), callback)
  }

  override handler_RCPT(command: Buffer, callback: () => void): void {
    super.handler_RCPT(withAngleBrackets(command), callback)
  }

  override handler_QUIT(command: Buffer, callback: () => void): void {
    super.handler_QUIT(command, callback)
    if (!this.secure) this.#socket.destroySoon()
  }

  override handler_AUTH(command: Buffer, callback: () => void): void {
    if (this.#mayLogIn) return super.handler_AUTH(command, callback)
    this.send(538, '5.7.11 Encryption required for authentication: use STARTTLS first')
    callback()
  }

  get #mayLogIn(): boolean {
    return this.secure || this.#server.mayLogInPlain || this.isLocal
  }
}

const BARE_ADDRESS = /^(mail from|rcpt to):[ \t]*([^<>\s]+@[^<>\s]+)(?=[ \t]|$)/i

function withAngleBrackets(command: Buffer): Buffer {
  return Buffer.from(command.toString('latin1').replace(BARE_ADDRESS, '$1:<$2>'), 'latin1')
}

interface ServerOptions {
  readonly mayLogInPlain: boolean
  readonly clock: Clock
  readonly peers: PeerOptions
}

export class SubmissionServer extends PeerServer {
  readonly mayLogInPlain: boolean
  readonly clock: Clock
  readonly #connections = new WeakMap<SMTPServerSession, SubmissionConnection>()
  readonly #sweeper: NodeJS.Timeout

  constructor(options: SMTPServerOptions, { mayLogInPlain, clock, peers }: ServerOptions) {
    super(options, peers)
    this.mayLogInPlain = mayLogInPlain
    this.clock = clock
    this.#sweeper = setInterval(() => this.#sweep(), SWEEP_MS).unref()
    this.server.once('close', () => clearInterval(this.#sweeper))
  }

  override connect(socket: Socket, options?: SMTPConnectionOptions | null): void {
    const connection = new SubmissionConnection(this, socket, options)
    this.#connections.set(connection.session, connection)
    this.connections.add(connection)
    connection.on('error', (error: Error) => this.emit('error', error))
    connection.init()
  }

  connectionOf(session: SMTPServerSession): SubmissionConnection {
    const connection = this.#connections.get(session)
    if (connection === undefined) throw new Error('no connection for this session')
    return connection
  }

  /** Closes the connections whose deadline has passed. */
  #sweep(): void {
    const now = this.clock.now()
    for (const connection of this.connections)
      if (connection instanceof SubmissionConnection && connection.deadlineMs < now) connection.disconnect()
  }
}
