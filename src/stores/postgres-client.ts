/**
 * One PostgreSQL connection that can be given up: it owns its socket. A server whose host disappeared, or that is
 * frozen, neither answers nor closes the connection, and pg would wait for it. A statement without an answer within its
 * time destroys the connection, and so its result is unknown, as after any lost connection.
 */
import { Socket } from 'node:net'
import { Client, type ClientConfig } from 'pg'

export const CONNECTION = {
  /** A host that does not answer; the next attempt may reach another one. */
  connectionTimeoutMillis: 5000,
  // the kernel of a host that disappeared does not answer the probes, which Node sends each second from then on
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000,
} as const satisfies ClientConfig

export class PostgresClient extends Client {
  readonly #socket: Socket
  #isGivenUp = false

  constructor(config: ClientConfig = {}) {
    const socket = new Socket()
    super({ ...config, stream: () => socket })
    this.#socket = socket
    // A lost connection rejects its statements. It may report the loss again after its release, when nothing else
    // listens, and an unhandled 'error' event ends the process.
    this.on('error', () => undefined)
  }

  /** It was closed by `destroy`, not by the server. */
  get isGivenUp(): boolean {
    return this.#isGivenUp
  }

  /** Closes the connection without a word to the server, which may not be there. Statements under way are rejected. */
  destroy(reason?: Error): void {
    this.#isGivenUp = true
    this.#socket.destroy(reason)
  }

  /**
   * Rejects, and destroys the connection, if `work` takes longer. A reply that is in the socket when the time is over
   * still counts: this process itself may have been stopped.
   */
  async within<T>(ms: number, work: () => Promise<T>): Promise<T> {
    let late: NodeJS.Immediate | undefined
    const timer = setTimeout(() => {
      late = setImmediate(() => this.destroy(new ServerSilentError(ms)))
    }, ms)
    try {
      return await work()
    } finally {
      clearTimeout(timer)
      clearImmediate(late)
    }
  }

  /**
   * Checks that this is the primary. After a failover, an address may lead to a standby that was not promoted
   * yet. @throws if it is a standby, with the code that PostgreSQL itself uses for a write there.
   */
  async checkPrimary(ms: number): Promise<void> {
    const {
      rows: [row],
    } = await this.within(ms, () => this.query<{ isStandby: boolean }>('SELECT pg_is_in_recovery() AS "isStandby"'))
    if (row?.isStandby === true) throw new StandbyError()
  }
}

/** The server did not answer in time. */
export class ServerSilentError extends Error {
  override readonly name = 'ServerSilentError'
  readonly code = 'ETIMEDOUT'

  constructor(ms: number) {
    super(`PostgreSQL did not answer within ${ms / 1000} s; the connection is closed`)
  }
}

class StandbyError extends Error {
  override readonly name = 'StandbyError'
  readonly code = '25006'

  constructor() {
    super('this PostgreSQL is a standby in recovery; DATABASE_URL must lead to the primary')
  }
}
