/**
 * smtp-server without its pause: 100 ms before each greeting, to unmask programs that talk too soon, for which there is no option
 * (docs/decisions/011-greeting-without-delay.md). Overrides what is public in its types and not in its manual; its version is pinned.
 */
import type { Socket } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { SMTPConnection, type SMTPConnectionOptions } from 'smtp-server/lib/smtp-connection.js'

export class PromptConnection extends SMTPConnection {
  #isGreeted = false

  override init(): void {
    super.init()
    this.connectionReady()
  }

  /** Called once more after the pause. */
  override connectionReady(next?: () => void): void {
    if (this.#isGreeted) return
    this.#isGreeted = true
    super.connectionReady(next)
  }
}

export class PromptServer extends SMTPServer {
  override connect(socket: Socket, options?: SMTPConnectionOptions | null): void {
    const connection = new PromptConnection(this, socket, options ?? null)
    this.connections.add(connection)
    connection.on('error', (error: Error) => this.emit('error', error))
    connection.init()
  }
}
