/**
 * The connection below an SMTP session: writes replies, starts TLS, applies the time limits, and ends.
 *
 * Replies are collected and leave together (RFC 2920 3.2). While a client does not read them, none of its commands is
 * processed. The server checks time limits in a sweep of all connections: a connection has no timers. The time that a
 * command waits for its result does not count as idle.
 */
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { Log } from '#src/platform/log.ts'
import type { ProxiedPeer } from './proxy-header.ts'
import { ReplyError } from './reply.ts'
import { startHandshake, type TlsSettings } from './tls-handshake.ts'

/** What a connection needs of its server. */
export interface ConnectionServer {
  readonly log: Pick<Log, 'debug' | 'error'>
  readonly tlsSettings: TlsSettings
  /** Counts seconds. */
  readonly tick: number
  readonly options: { readonly idleSeconds: number }
}

/** How long a client may take to close its side after the last reply. */
const CLOSE_SECONDS = 5
export const HANDSHAKE_SECONDS = 30
const IDLE = new ReplyError(421, '4.4.2 Nothing was received for too long: connect again')

export abstract class SmtpConnection {
  readonly remoteAddress: string
  readonly remotePort: number
  /** The cipher; null without TLS. */
  tls: { readonly version: string; readonly standardName: string } | null = null
  /** By the clock of the server: the connection ends then, whatever it does. */
  deadlineMs = Infinity
  /** The client sends no more. */
  protected hasEnded = false
  /** Nothing more is processed. */
  protected isClosed = false
  /** A command waits for its result. */
  protected isWaiting = false
  /** The connection closes after the reply to this command. */
  protected isLast = false
  readonly #server: ConnectionServer
  #socket: Socket
  /** Replies that are not written yet. */
  #output = ''
  /** The client does not read its replies. */
  #isBlocked = false
  #isInHandshake = false
  /** The tick of the server when the client last sent something, or when the connection closed. */
  #lastTick: number

  constructor(server: ConnectionServer, socket: Socket, peer: ProxiedPeer) {
    this.#server = server
    this.#socket = socket
    this.#lastTick = server.tick
    this.remoteAddress = peer.address
    this.remotePort = peer.port
  }

  /** Processes what the client sent. Not called while the connection is busy or closed. */
  protected abstract receive(chunk: Buffer): void
  /** Stores what the client sent while the connection is busy. */
  protected abstract store(chunk: Buffer): void
  /** Continues after a time in which the connection was busy, or after the end of what the client sends. */
  protected abstract continue(): void
  /** The connection is closing: nothing more is processed. */
  protected abstract leave(): void
  /** The connection is gone. May be called twice. */
  protected abstract release(): void

  /** A command is being processed, or cannot be replied to. */
  protected get isBusy(): boolean {
    return this.isWaiting || this.#isBlocked || this.#isInHandshake
  }

  /** Each line begins with the enhanced code, if the reply has one (RFC 2034). */
  reply(code: number, ...lines: readonly string[]): void {
    for (const [n, line] of lines.entries()) this.#output += `${code}${n + 1 < lines.length ? '-' : ' '}${line}\r\n`
  }

  /** 421 also closes the connection (RFC 5321 3.8). */
  refuse({ responseCode, message }: ReplyError): void {
    this.reply(responseCode, message)
    if (responseCode === 421) this.isLast = true
  }

  /** Closes the connection with a last reply, at once: for what no command of the client caused. */
  closeWith(reply: ReplyError): void {
    if (this.#isInHandshake) return this.destroy()
    this.refuse(reply)
    this.close()
  }

  /** Closes the connection at once, with a reply if one is possible. */
  disconnect(reply: ReplyError): void {
    if (!this.isClosed && !this.#isInHandshake) {
      this.refuse(reply)
      this.flush()
    }
    this.destroy()
  }

  /** Closes the connection without a reply. */
  destroy(): void {
    this.#socket.destroy()
    this.release()
  }

  /** Applies the time limits. */
  sweep(nowMs: number): void {
    const { tick, options } = this.#server
    const seconds = tick - this.#lastTick
    const limit = this.isClosed ? CLOSE_SECONDS : this.#isInHandshake ? HANDSHAKE_SECONDS : options.idleSeconds
    if (nowMs > this.deadlineMs) this.destroy()
    else if (this.isWaiting && !this.isClosed) this.#lastTick = tick
    else if (seconds > limit) this.#expire()
  }

  /** Begins to read. `secured`: the socket after a handshake. */
  protected listen(secured: TLSSocket | null): void {
    const socket = this.#socket
    this.tls = secured === null ? null : secured.getCipher()
    socket.on('error', (error) => this.#log(error))
    socket.on('data', (chunk: Buffer) => this.#read(chunk))
    socket.once('end', () => socket === this.#socket && this.#readEnd())
    socket.once('close', () => socket === this.#socket && this.release())
  }

  /** Continues with TLS. Discards what the client sent before (RFC 3207 4.2). */
  protected secure(onSecured: () => void): void {
    this.flush()
    if (this.hasEnded) return this.close()
    this.#isInHandshake = true
    this.#socket.removeAllListeners('data').pause()
    const secured = startHandshake(this.#socket, this.#server.tlsSettings, {
      onSecured: () => {
        this.#isInHandshake = false
        this.#isBlocked = false
        this.listen(secured)
        onSecured()
        this.resume()
      },
      onFailed: (error) => {
        this.#log(error)
        this.release()
      },
    })
    this.#socket = secured
  }

  /** Ends a time in which a command waited. */
  protected resume(): void {
    this.isWaiting = false
    if (this.isClosed) return
    this.#lastTick = this.#server.tick
    this.continue()
    if (!this.isBusy && this.#socket.isPaused()) this.#socket.resume()
  }

  protected flush(): void {
    if (this.#output === '') return
    const text = this.#output
    this.#output = ''
    if (this.isClosed || !this.#socket.writable || this.#socket.write(text, 'latin1')) return
    if (this.#isBlocked) return // and waits for `drain` already
    this.#isBlocked = true
    this.#socket.once('drain', () => {
      this.#isBlocked = false
      if (!this.isWaiting) this.resume()
    })
  }

  /**
   * Ends the connection once the replies are written. What still arrives is read and discarded: to close at once could
   * destroy the last reply on its way. After QUIT clients send no more, and most have disconnected by then.
   */
  protected close(hasQuit = false): void {
    if (this.isClosed) return
    this.flush()
    this.isClosed = true
    this.leave()
    this.#lastTick = this.#server.tick
    if (hasQuit && this.tls === null) return this.#socket.destroySoon()
    this.#socket.end()
    this.#socket.resume()
  }

  #log(error: Error): void {
    this.#server.log.debug({ err: error, peer: this.remoteAddress }, 'SMTP connection failed')
  }

  #expire(): void {
    if (this.isClosed) this.destroy()
    else this.closeWith(IDLE)
  }

  #read(chunk: Buffer): void {
    if (this.isClosed) return
    this.#lastTick = this.#server.tick
    if (!this.isBusy) return this.receive(chunk)
    this.store(chunk)
    this.#socket.pause()
  }

  #readEnd(): void {
    this.hasEnded = true
    if (!this.isBusy && !this.isClosed) this.continue()
  }
}
