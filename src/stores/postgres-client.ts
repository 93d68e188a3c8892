/**
 * One PostgreSQL connection that can be given up: it owns its socket. A server whose host disappeared, or that is
 * frozen, neither answers nor closes the connection, and pg would wait for it. A statement without an answer within its
 * time destroys the connection, and so its result is unknown, as after any lost connection.
 *
 * `openSession` refuses a server that cannot keep the promises of the project: a standby, an old version, and a pooler
 * that shares sessions among connections, as PgBouncer does in transaction mode. Settings such as `synchronous_commit`
 * are made in the session, since poolers refuse or drop those of a startup. One of them is a mark. A session that loses
 * its mark, or shows it to another connection, is shared. A pooler in session mode passes.
 */
import { randomUUID } from 'node:crypto'
import { Socket } from 'node:net'
import { Client, escapeIdentifier, escapeLiteral, type ClientConfig } from 'pg'
import { receiveResults, ResultReader } from './binary-results.ts'
import { replaceBind } from './bind-message.ts'
import { replaceQueryPromise } from './query-promise.ts'
import type { ClockSample } from './server-clock.ts'
import { sql } from './sql.ts'
import { UnsuitableStoreError } from './store-errors.ts'

export const CONNECTION = {
  /** A host that does not answer; the next attempt may reach another one. */
  connectionTimeoutMillis: 5000,
  // the kernel of a host that disappeared does not answer the probes, which Node sends each second from then on
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000,
} as const satisfies ClientConfig

export interface PostgresClientConfig extends ClientConfig {
  /** Settings of PostgreSQL for the session. */
  readonly settings?: Readonly<Record<string, string>>
  /** For COPY TO, which reads the socket itself. */
  readonly copiesOut?: boolean
}

/** What the types of pg hide. */
interface ConnectedClient {
  readonly connection: { readonly stream: Socket }
}

export class PostgresClient extends Client {
  readonly #config: PostgresClientConfig
  readonly #socket: Socket
  readonly #mark = randomUUID()
  #isGivenUp = false
  /** The time limit of the server for a statement, as it was set. */
  #limit: string | undefined

  constructor(config: PostgresClientConfig = {}) {
    const reader = new ResultReader()
    // TLS and copies read the socket as a stream
    const open = ({ ssl }: ClientConfig): Socket =>
      new Socket(ssl === false && config.copiesOut !== true ? { onread: reader.socketOptions } : {})
    super({ ...config, stream: open as unknown as () => Socket })
    this.#config = config
    this.#socket = (this as unknown as ConnectedClient).connection.stream
    replaceBind(this, receiveResults(this, reader))
    replaceQueryPromise(this)
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
   * Makes the settings of the session and checks the server; returns its time. Call it before any other statement.
   * @throws as `checkServer`.
   */
  async openSession(ms: number): Promise<ClockSample> {
    const settings: Readonly<Record<string, string>> = { ...this.#config.settings, [MARK]: this.#mark }
    const statements = Object.entries(settings).map(
      ([name, value]) => `SET ${identifierOf(name)} = ${escapeLiteral(value)}`,
    )
    await this.within(ms, () => this.query(statements.join('; ')))
    this.#limit = settings['statement_timeout']
    const sample = await this.checkServer(ms)
    if (sample.pid !== Reflect.get(this, 'processID')) await this.#proveOwnSession(ms)
    return sample
  }

  /** Sets the time limit of the server for each statement, in milliseconds, unless the session has it already. */
  async limitStatements(limit: string, ms: number): Promise<void> {
    if (this.#limit === limit) return
    await this.within(ms, () => this.query(`SET statement_timeout = ${escapeLiteral(limit)}`))
    this.#limit = limit
  }

  /**
   * Checks the server, and returns its time. After a failover, an address may lead to a standby that was not promoted
   * yet. @throws if it is a standby, with the code that PostgreSQL itself uses for a write there, or
   * UnsuitableStoreError.
   */
  async checkServer(ms: number): Promise<ClockSample & { readonly pid: number }> {
    const sentAt = performance.now()
    const {
      rows: [row],
    } = await this.within(ms, () => this.query<ServerRow>(READ_SERVER, [MARK]))
    const receivedAt = performance.now()
    if (row === undefined) throw new Error('PostgreSQL returned no row')
    if (row.isStandby) throw new StandbyError()
    if (row.version < MIN_VERSION) throw new UnsuitableStoreError(`${row.versionText} is too old; ${NEEDED_VERSION}`)
    if (row.mark !== this.#mark) throw new UnsuitableStoreError(SHARED_SESSION)
    return { sentAt, receivedAt, serverMs: row.serverMs, pid: row.pid }
  }

  /**
   * The process of the server is not the one that greeted, so there is a pooler between. One that shares sessions gives
   * the transaction of another connection the session that it used last: this one. Other clients may get it first, so
   * it is tried several times.
   */
  async #proveOwnSession(ms: number): Promise<void> {
    const twin = new PostgresClient(this.#config)
    try {
      await twin.connect()
      for (let i = 0; i < TWIN_TRIES; i++) {
        await this.checkServer(ms)
        await twin.within(ms, () => twin.query('BEGIN'))
        const { rows } = await twin.within(ms, () => twin.query<Pick<ServerRow, 'mark'>>(READ_MARK, [MARK]))
        if (rows[0]?.mark === this.#mark) throw new UnsuitableStoreError(SHARED_SESSION)
        await this.checkServer(ms)
        await twin.within(ms, () => twin.query('ROLLBACK'))
      }
    } catch (error) {
      throw error instanceof Error && error.message.includes('pooling mode')
        ? new UnsuitableStoreError(SHARED_SESSION)
        : error
    } finally {
      twin.destroy()
    }
  }
}

/** The server's time. */
export async function readTime(client: PostgresClient, ms: number): Promise<ClockSample> {
  const sentAt = performance.now()
  const { rows } = await client.within(ms, () => client.query<{ serverMs: number }>(READ_TIME))
  return { sentAt, receivedAt: performance.now(), serverMs: rows[0]?.serverMs ?? NaN }
}

/** A setting of the session that only Mailstead knows. */
const MARK = 'mailstead.session'
const TWIN_TRIES = 3
const MIN_VERSION = 150_000
const NEEDED_VERSION = 'use PostgreSQL 15 or newer'
const SERVER_MS = '(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS "serverMs"'
const READ_TIME = { name: 'clock-read', text: `SELECT ${SERVER_MS}` }
const READ_MARK = 'SELECT current_setting($1, true) AS mark'
const READ_SERVER = sql`
  SELECT pg_backend_pid() AS pid, pg_is_in_recovery() AS "isStandby",
    current_setting('server_version_num')::int AS version,
    'PostgreSQL ' || current_setting('server_version') AS "versionText", current_setting($1, true) AS mark,
    ${SERVER_MS}
`

interface ServerRow {
  readonly pid: number
  readonly isStandby: boolean
  readonly version: number
  readonly versionText: string
  readonly mark: string | null
  readonly serverMs: number
}

/** What to do about a connection pooler. */
export const SHARED_SESSION =
  'DATABASE_URL leads to a connection pooler that shares sessions of PostgreSQL among its clients (PgBouncer with ' +
  'pool_mode=transaction or statement). Mailstead needs sessions of its own with prepared statements: set ' +
  'pool_mode=session for its database in the pooler, or set DATABASE_URL to PostgreSQL itself'

const REFUSED_OPTIONS =
  'DATABASE_URL has `options` of its own, and leads to a connection pooler that refuses them: make these settings ' +
  'with ALTER ROLE or ALTER DATABASE and remove `options`, or set DATABASE_URL to PostgreSQL itself'

/** A pooler may refuse the `options` of the URL. Other errors are returned. */
export function explainConnectError(error: unknown): unknown {
  return error instanceof Error && error.message.includes('unsupported startup parameter')
    ? new UnsuitableStoreError(`${REFUSED_OPTIONS} (${error.message})`)
    : error
}

/** `mailstead.session` has two parts. */
function identifierOf(name: string): string {
  return name
    .split('.')
    .map((part) => escapeIdentifier(part))
    .join('.')
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
