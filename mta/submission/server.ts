/**
 * smtp-server as a submission port needs it. It is changed in seven places, each because there is no option for it:
 * - its greeting comes at once (mta/smtp-server/prompt-greeting.ts): the pause would hold every client that opens a connection for each mail to ten
 *   mails a second;
 * - AUTH is neither offered nor taken where the password could be read on the way;
 * - a reply that brings its own enhanced code gets no second one;
 * - every visit has a deadline besides the idle timeout, so that a client that sends a byte now and then is cut off too;
 * - after QUIT nothing is read: most programs have hung up by then, and to hear that as an error costs more than the goodbye;
 * - an address without angle brackets is taken, as old programs write it;
 * - a visit's number is counted, not drawn: a client that connects for each mail pays for both.
 */
import type { Socket } from 'node:net'
import { SMTPServer, type SMTPServerOptions, type SMTPServerSession } from 'smtp-server'
import type { SMTPConnectionOptions } from 'smtp-server/lib/smtp-connection.js'
import type { Clock } from '#src/platform/clock.ts'
import { PromptConnection } from '#mta/smtp-server/prompt-greeting.ts'
import { isLoopback } from '#src/net/address-policy.ts'
import type { SubmissionSender } from './sender.ts'

/** A step of a visit has so long: to log in, from one command to the next, for one mail. */
export const STEP_MS = { login: 60_000, command: 5 * 60_000, mail: 30 * 60_000 } as const
const SWEEP_MS = 1000
const STATUS = /^[245]\.\d{1,3}\.\d{1,3} /

/** One connection. */
export class SubmissionConnection extends PromptConnection {
  /** The API key it logged in with. */
  key: string | null = null
  failedLogins = 0
  /** Of the transaction under way. */
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
    this.send(538, '5.7.11 Logging in needs TLS: STARTTLS first')
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

export class SubmissionServer extends SMTPServer {
  readonly mayLogInPlain: boolean
  readonly clock: Clock
  readonly #visits = new WeakMap<SMTPServerSession, SubmissionConnection>()
  readonly #sweeper: NodeJS.Timeout
  #count = 0

  constructor(
    options: SMTPServerOptions,
    { mayLogInPlain, clock }: { readonly mayLogInPlain: boolean; readonly clock: Clock },
  ) {
    super(options)
    this.mayLogInPlain = mayLogInPlain
    this.clock = clock
    this.#sweeper = setInterval(() => this.#sweep(), SWEEP_MS).unref()
    this.server.once('close', () => clearInterval(this.#sweeper))
  }

  /** No PROXY header is expected; the number is for its own log, which is off. */
  override _handleProxy(_socket: Socket, next: Parameters<SMTPServer['_handleProxy']>[1]): void {
    next(null, { id: String(++this.#count) })
  }

  override connect(socket: Socket, options?: SMTPConnectionOptions | null): void {
    const connection = new SubmissionConnection(this, socket, options)
    this.#visits.set(connection.session, connection)
    this.connections.add(connection)
    connection.on('error', (error: Error) => this.emit('error', error))
    connection.init()
  }

  connectionOf(session: SMTPServerSession): SubmissionConnection {
    const connection = this.#visits.get(session)
    if (connection === undefined) throw new Error('a session without a visit')
    return connection
  }

  /** Ends the visits that took too long for a step. */
  #sweep(): void {
    const now = this.clock.now()
    for (const connection of this.connections) if (connection instanceof SubmissionConnection && connection.deadlineMs < now) connection.disconnect()
  }
}
