/**
 * smtp-server without its delay of 100 ms before each greeting, which exists to detect clients that talk too soon and
 * which no option turns off (docs/decisions/011-greeting-without-delay.md), with a faster search for the end of a
 * message (message-data.ts), and with the PROXY protocol of proxies that are trusted (client-peer.ts). It overrides
 * members that are public in the types but not documented; the version of smtp-server is pinned.
 */
import type { Socket } from 'node:net'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { SMTPConnection, type SMTPConnectionOptions } from 'smtp-server/lib/smtp-connection.js'
import type { SMTPStream } from 'smtp-server/lib/smtp-stream.js'
import { findPeer, isProxied, type PeerSettings } from './client-peer.ts'
import { searchDots } from './message-data.ts'
import type { ProxiedPeer } from './proxy-header.ts'

export class PromptConnection extends SMTPConnection {
  #isGreeted = false

  override init(): void {
    super.init()
    this.connectionReady()
  }

  /** smtp-server calls it again after its delay. */
  override connectionReady(next?: () => void): void {
    if (this.#isGreeted) return
    this.#isGreeted = true
    super.connectionReady(next)
  }

  override _createParser(): SMTPStream {
    // oxlint-disable-next-line no-underscore-dangle -- the name of smtp-server
    const stream = super._createParser()
    searchDots(stream)
    return stream
  }
}

export interface PeerOptions extends PeerSettings {
  /** Called with each client before its greeting. False: it is refused, and the callee has closed the connection. */
  readonly admit: (socket: Socket, peer: ProxiedPeer) => boolean
}

/** Finds out who is connected before smtp-server sees the connection. */
export class PeerServer extends SMTPServer {
  readonly #peers: PeerOptions
  #count = 0

  constructor(options: SMTPServerOptions, peers: PeerOptions) {
    super(options)
    this.#peers = peers
  }

  /** smtp-server then guards the time until the greeting: it counts the connection, and ends it at a stop. */
  override _expectsProxyHeader(socket: Socket): boolean {
    return isProxied(this.#peers, socket)
  }

  /** The id is for the log of smtp-server, which is off. */
  override _handleProxy(socket: Socket, next: Parameters<SMTPServer['_handleProxy']>[1]): void {
    findPeer(this.#peers, socket, (peer) => {
      if (!this.#peers.admit(socket, peer)) return
      next(null, { id: String(++this.#count), remoteAddress: peer.address, remotePort: peer.port })
    })
  }
}

export class PromptServer extends PeerServer {
  override connect(socket: Socket, options?: SMTPConnectionOptions | null): void {
    const connection = new PromptConnection(this, socket, options ?? null)
    this.connections.add(connection)
    connection.on('error', (error: Error) => this.emit('error', error))
    connection.init()
  }
}
