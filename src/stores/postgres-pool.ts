/**
 * A pool of PostgreSQL connections with a time limit for each statement, in the client and, a little shorter, in the
 * server: a slow server cancels the statement itself and the connection stays, a silent one loses the connection. After
 * the first silence, all idle connections are closed, since they lead to the same server; a new connection may reach
 * the one that was promoted. Closing waits for the statements under way for a moment only.
 */
import { Pool, type PoolClient } from 'pg'
import type { Log } from '#src/platform/log.ts'
import {
  CONNECTION,
  explainConnectError,
  PostgresClient,
  type PostgresClientConfig,
  ServerSilentError,
  SHARED_SESSION,
} from './postgres-client.ts'
import type { ServerClock } from './server-clock.ts'
import { isForeignSession, UnsuitableStoreError } from './store-errors.ts'

export interface ConnectionPoolOptions {
  readonly max: number
  /** The longest that a statement may take. */
  readonly patienceMs: number
  /** Settings of PostgreSQL for each session. */
  readonly settings: Readonly<Record<string, string>>
  /** Each new connection measures it. */
  readonly clock: Pick<ServerClock, 'observe'>
  /** A statement was not answered in time. */
  readonly onSilence: () => void
}

interface UseOptions {
  /** The connection is not used again. */
  readonly isClosed?: boolean
  /** The longest that a statement may take, if not as long as in the pool. */
  readonly limitMs?: number
}

/** The server's limit is shorter by this share, so that it answers first. */
const SERVER_SHARE = 0.9
const IDLE_MS = 60_000
/** Statements that were prepared for past weeks (weeks.ts) end with their connection. */
const LIFETIME_SECONDS = 24 * 3600
/** How long `close` waits for statements under way. PostgreSQL rolls back what is not committed. */
const CLOSE_MS = 1000

/** The time limit of the server for a statement to which the client gives `patienceMs`. */
export function statementTimeout(patienceMs: number): { readonly statement_timeout: string } {
  return { statement_timeout: String(Math.round(patienceMs * SERVER_SHARE)) }
}

export class ConnectionPool {
  readonly #pool: Pool
  readonly #options: ConnectionPoolOptions
  readonly #clients = new Set<PostgresClient>()
  /** Connections that lead to a primary. */
  readonly #checked = new WeakSet<PostgresClient>()
  readonly #inUse = new Set<PostgresClient>()
  readonly #log: Log
  #changes = 0
  /** An unsuitable server is logged once. */
  #isUnsuitable = false

  /** Connects on first use. */
  constructor(url: string, log: Log, options: ConnectionPoolOptions) {
    this.#options = options
    this.#log = log
    const session: Pick<PostgresClientConfig, 'settings'> = {
      settings: { ...options.settings, ...statementTimeout(options.patienceMs) },
    }
    this.#pool = new Pool({
      ...CONNECTION,
      ...session,
      Client: PostgresClient,
      connectionString: url,
      max: options.max,
      idleTimeoutMillis: IDLE_MS,
      maxLifetimeSeconds: LIFETIME_SECONDS,
      application_name: 'mailstead',
    })
    this.#pool.on('connect', (client) => {
      this.#changes++
      this.#clients.add(ownClient(client))
    })
    this.#pool.on('remove', (client) => {
      this.#changes++
      this.#clients.delete(ownClient(client))
    })
    this.#pool.on('error', (error, client) => {
      if (client instanceof PostgresClient && client.isGivenUp) return
      log.warn({ err: error }, 'an idle PostgreSQL connection was lost; it is opened again on demand')
    })
  }

  /**
   * Runs `work` on one connection. After an error for which `isLost` is true, or with `isClosed`, the connection is not
   * used again. `limitMs` replaces the patience of the pool in the server, until another caller needs another limit:
   * callers of one kind mostly follow each other, so this costs fewer statements than a transaction with the limit.
   */
  async use<T>(
    work: (client: PostgresClient) => Promise<T>,
    isLost: (error: unknown) => boolean,
    { isClosed = false, limitMs = this.#options.patienceMs }: UseOptions = {},
  ): Promise<T> {
    const client = ownClient(await this.#connect())
    let lost: Error | undefined
    // between two statements nothing else handles 'error', and an unhandled 'error' event ends the process
    const onLost = (error: Error): void => {
      lost = error
    }
    client.on('error', onLost)
    this.#inUse.add(client)
    try {
      await this.#check(client)
      await client.limitStatements(statementTimeout(limitMs).statement_timeout, this.#options.patienceMs)
      return await work(client)
    } catch (error) {
      if (isLost(error)) lost ??= asError(error)
      if (error instanceof ServerSilentError) this.#options.onSilence()
      if (isForeignSession(error) || error instanceof UnsuitableStoreError) this.#reportUnsuitable(error)
      throw error
    } finally {
      this.#inUse.delete(client)
      client.release(lost ?? isClosed)
      client.off('error', onLost)
    }
  }

  async #connect(): Promise<PoolClient> {
    try {
      return await this.#pool.connect()
    } catch (error) {
      const explained = explainConnectError(error)
      if (explained instanceof UnsuitableStoreError) this.#reportUnsuitable(explained)
      throw explained
    }
  }

  /** Opens the session once per connection. */
  async #check(client: OwnClient): Promise<void> {
    if (this.#checked.has(client)) return
    this.#options.clock.observe(await client.openSession(this.#options.patienceMs))
    this.#checked.add(client)
    this.#isUnsuitable = false
  }

  #reportUnsuitable(error: unknown): void {
    const reason = error instanceof UnsuitableStoreError ? error.message : SHARED_SESSION
    if (!this.#isUnsuitable) this.#log.error({ err: error }, `PostgreSQL cannot be used: ${reason}`)
    this.#isUnsuitable = true
  }

  /** How many connections were opened and lost so far. */
  get changes(): number {
    return this.#changes
  }

  /** Closes the connections that no statement uses, and returns how many. */
  closeIdle(): number {
    const idle = [...this.#clients].filter((client) => !this.#inUse.has(client) && !client.isGivenUp)
    for (const client of idle) client.destroy()
    return idle.length
  }

  status(): { readonly inUse: number; readonly idle: number; readonly waiting: number } {
    const { totalCount, idleCount, waitingCount } = this.#pool
    return { inUse: totalCount - idleCount, idle: idleCount, waiting: waitingCount }
  }

  async close(): Promise<void> {
    const giveUp = setTimeout(() => {
      for (const client of this.#clients) client.destroy()
    }, CLOSE_MS)
    // a connection that is being opened is given up after its own time limit
    const deadline = Promise.withResolvers<void>()
    const leave = setTimeout(() => deadline.resolve(), 2 * CLOSE_MS)
    await Promise.race([this.#pool.end(), deadline.promise])
    clearTimeout(giveUp)
    clearTimeout(leave)
  }
}

type OwnClient = PostgresClient & PoolClient

/** The pool opens only connections of this class. */
function ownClient(client: PoolClient): OwnClient {
  if (isOwn(client)) return client
  throw new Error('the pool returned a connection that it did not open')
}

function isOwn(client: PoolClient): client is OwnClient {
  return client instanceof PostgresClient
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
