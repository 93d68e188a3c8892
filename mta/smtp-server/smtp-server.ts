/**
 * An SMTP server (RFC 5321) with STARTTLS or implicit TLS, the PROXY protocol, and the extensions PIPELINING, 8BITMIME,
 * SMTPUTF8, ENHANCEDSTATUSCODES and SIZE; AUTH if there is a handler for it, DSN if its parameters are accepted.
 *
 * A stop closes the port, ends the connections that have no transaction, gives the others `closeMs`, and disconnects
 * the rest. Those whose message is being stored are the last, because their clients would send it again. A connection
 * that fails does not affect another one.
 */
import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createSecureContext, type TLSSocket } from 'node:tls'
import type { Clock } from '#src/platform/clock.ts'
import type { Log } from '#src/platform/log.ts'
import { findPeer, type PeerSettings } from './client-peer.ts'
import type { DataSink } from './data-reader.ts'
import type { EnvelopeAddress, ParameterRules } from './envelope-command.ts'
import type { ProxiedPeer } from './proxy-header.ts'
import type { ReplyError } from './reply.ts'
import type { Certificate } from './self-signed-certificate.ts'
import { HANDSHAKE_SECONDS } from './connection.ts'
import { SmtpSession } from './session.ts'
import { startHandshake, type TlsSettings } from './tls-handshake.ts'

/** Receives the data of one message. */
export interface MessageSink extends DataSink {
  /** All data has arrived. Returns the text of the 250; null closes the connection instead. @throws ReplyError. */
  end(): Promise<string | null>
  /** The connection ended before the data did. */
  abort(): void
}

/** What a server does with commands. `null` accepts, a ReplyError refuses. */
export interface SmtpHandlers<State> {
  /** Returns the state of a new connection. */
  open(session: SmtpSession<State>): State
  /** Without it, AUTH is not offered. */
  logIn?(session: SmtpSession<State>, password: string): Promise<ReplyError | null>
  /** Whether AUTH is offered and accepted on this connection. */
  mayLogIn?(session: SmtpSession<State>): boolean
  mailFrom(session: SmtpSession<State>, sender: EnvelopeAddress): Promise<ReplyError | null> | ReplyError | null
  rcptTo(session: SmtpSession<State>, recipient: EnvelopeAddress): Promise<ReplyError | null> | ReplyError | null
  data(session: SmtpSession<State>): MessageSink
}

export interface SmtpServerOptions {
  /** Of this host, in the greeting. */
  readonly name: string
  readonly banner: string
  readonly certificate: Certificate
  /** TLS from the first octet, without STARTTLS. */
  readonly isTls?: boolean
  /** For tests of senders: every TLS handshake fails. */
  readonly failsHandshakes?: boolean
  readonly mailParameters: ParameterRules
  /** With NOTIFY, DSN is offered. */
  readonly rcptParameters: ParameterRules
  /** The SIZE that is offered. A sink counts what it receives by itself. */
  readonly maxOctets: number
  readonly maxRecipients: number
  readonly maxConnections: number
  /** How long a client may send nothing. */
  readonly idleSeconds: number
  /** How long transactions may last after a stop. */
  readonly closeMs: number
}

export interface SmtpServerDeps {
  readonly clock: Clock
  readonly log: Pick<Log, 'debug' | 'warn' | 'error'>
  readonly proxyNetworks: PeerSettings['proxyNetworks']
  /** Called with each client before its greeting. False: it is refused, and the callee has closed the connection. */
  readonly admit: (socket: Socket, peer: ProxiedPeer) => boolean
}

const TICK_MS = 1000
/** How much longer a message may take that is being stored at a stop. */
const STORE_MS = 10_000

export class SmtpServer<State> {
  readonly options: SmtpServerOptions
  readonly handlers: SmtpHandlers<State>
  readonly sessions = new Set<SmtpSession<State>>()
  /** Sessions that have ended, and wait until their client closes its side. */
  readonly leaving = new Set<SmtpSession<State>>()
  readonly log: SmtpServerDeps['log']
  tlsSettings: TlsSettings
  isStopping = false
  /** Counts seconds. */
  tick = 0
  readonly #deps: SmtpServerDeps
  readonly #server: Server
  /** Connections without a session yet: until their PROXY header or TLS handshake is complete. With the first tick. */
  readonly #pending = new Map<Socket, number>()
  #ticker: NodeJS.Timeout | undefined

  constructor(options: SmtpServerOptions, handlers: SmtpHandlers<State>, deps: SmtpServerDeps) {
    this.options = options
    this.handlers = handlers
    this.log = deps.log
    this.#deps = deps
    this.tlsSettings = this.#tlsSettingsOf(options.certificate)
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => this.#accept(socket))
    this.#server.once('listening', () => {
      this.#ticker = setInterval(() => this.#sweep(), TICK_MS).unref()
      // without a listener, a connection that cannot be accepted would end the process
      this.#server.on('error', (error) => this.log.error({ err: error }, 'an SMTP port failed'))
    })
  }

  /** Listens on a port that is open, or on one of an address. */
  listen(target: Server | { readonly fd: number } | { readonly port: number; readonly host: string }): Server {
    return this.#server.listen(target)
  }

  /** The next handshakes use the certificate. */
  updateCertificate(certificate: Certificate): void {
    this.tlsSettings = this.#tlsSettingsOf(certificate)
  }

  /** Resolves when all connections are closed. */
  async stop(): Promise<void> {
    this.isStopping = true
    const closed = this.#server.listening ? once(this.#server, 'close') : null
    this.#server.close()
    for (const socket of this.#pending.keys()) socket.destroy()
    for (const session of this.sessions) session.finish()
    const waiting = new AbortController()
    const grace = (ms: number): Promise<unknown> =>
      Promise.race([closed, sleep(ms, undefined, { signal: waiting.signal, ref: false })])
    await grace(this.options.closeMs)
    for (const session of [...this.sessions, ...this.leaving]) if (!session.isStoring) session.abandon()
    await grace(STORE_MS)
    waiting.abort()
    for (const session of [...this.sessions, ...this.leaving]) session.abandon()
    clearInterval(this.#ticker)
    await closed
  }

  #tlsSettingsOf({ key, cert }: Certificate): TlsSettings {
    const { failsHandshakes = false } = this.options
    const context = createSecureContext({
      key,
      cert,
      minVersion: 'TLSv1.2',
      // with TLS 1.3, a client would learn only after its handshake that it failed
      maxVersion: failsHandshakes ? 'TLSv1.2' : 'TLSv1.3',
      honorCipherOrder: true,
    })
    return { context, failsHandshakes }
  }

  #accept(socket: Socket): void {
    const { admit } = this.#deps
    let isFound = false
    findPeer(this.#deps, socket, (peer) => {
      isFound = true
      this.#pending.delete(socket)
      if (!admit(socket, peer)) return
      if (this.options.isTls !== true) return this.#open(socket, peer, null)
      const onFailed = (error: Error): void =>
        this.log.debug({ err: error, peer: peer.address }, 'TLS handshake of an SMTP client failed')
      const onSecured = (): void => {
        this.#pending.delete(secured)
        this.#open(secured, peer, secured)
      }
      socket.on('error', () => undefined) // `secured` emits it, too
      const secured = startHandshake(socket, this.tlsSettings, { onSecured, onFailed })
      this.#await(secured)
    })
    if (!isFound) this.#await(socket)
  }

  /** Nothing can be replied to a connection without a session, so one too many is closed. */
  #await(socket: Socket): void {
    if (this.#pending.size + this.sessions.size >= this.options.maxConnections) return void socket.destroy()
    this.#pending.set(socket, this.tick)
    socket.once('close', () => this.#pending.delete(socket))
  }

  #open(socket: Socket, peer: ProxiedPeer, secured: TLSSocket | null): void {
    const session = new SmtpSession(this, socket, peer)
    this.sessions.add(session)
    session.start(secured)
  }

  #sweep(): void {
    this.tick++
    const now = this.#deps.clock.now()
    for (const sessions of [this.sessions, this.leaving]) for (const session of sessions) session.sweep(now)
    for (const [socket, began] of this.#pending) if (this.tick - began > HANDSHAKE_SECONDS) socket.destroy()
  }
}
