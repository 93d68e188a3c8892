/**
 * smtp-server without its delay of 100 ms before each greeting, which exists to detect clients that talk too soon and
 * which no option turns off (docs/decisions/011-greeting-without-delay.md). It overrides members that are public in the
 * types but not documented; the version of smtp-server is pinned.
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

  /** smtp-server calls it again after its delay. */
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
