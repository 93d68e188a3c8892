/**
 * Redis access. Redis has the schedule and counters; PostgreSQL is the source of truth. While Redis is unavailable,
 * commands fail immediately (no queue of commands grows in memory), and the client reconnects by itself. A connection
 * that goes silent is replaced after some seconds (redis-watchdog.ts); its commands are rejected, and it is unknown
 * whether Redis ran them. URLs: redis://, rediss:// and unix:///path/to/socket?db=1.
 */
import { Redis } from 'ioredis'
import type { Log } from '#src/platform/log.ts'
import { refuseUnsuitableServers } from './redis-suitability.ts'
import { REDIS_WATCH, watchConnection, type RedisWatch } from './redis-watchdog.ts'
import { UnsuitableStoreError } from './store-errors.ts'

export type { Redis } from 'ioredis'

/** A host that does not answer the connection; the next attempt may reach another one. */
const CONNECT_TIMEOUT_MS = 5000
/** The kernel of a host that disappeared does not answer these probes either. */
const KEEP_ALIVE_MS = 10_000

/**
 * A `subscriber` connection is used only for SUBSCRIBE. An `inspection` accepts any server; all others never become
 * ready on a server that cannot be used (redis-suitability.ts).
 */
export function openRedis(
  url: string,
  log: Log,
  use: 'commands' | 'subscriber' | 'inspection' = 'commands',
  watch: RedisWatch = REDIS_WATCH,
): Redis {
  const options = {
    maxRetriesPerRequest: 0,
    enableOfflineQueue: use === 'subscriber',
    autoResubscribe: true,
    enableReadyCheck: true,
    connectTimeout: CONNECT_TIMEOUT_MS,
    commandTimeout: watch.commandTimeoutMs,
    keepAlive: KEEP_ALIVE_MS,
    retryStrategy: (times: number) => Math.min(50 * times, 1000),
  }
  const redis = url.startsWith('unix:') ? new Redis({ ...options, ...socketOf(url) }) : new Redis(url, options)
  watchConnection(redis, watch)
  if (use !== 'inspection') refuseUnsuitableServers(redis)
  logOutages(redis, log)
  return redis
}

/** Logs each outage once, and once that the server cannot be used, also if it comes back as such a server. */
function logOutages(redis: Redis, log: Log): void {
  let [isAway, isRefused] = [false, false]
  redis.on('error', (error: Error) => {
    const isUnsuitable = error instanceof UnsuitableStoreError
    if (isUnsuitable && !isRefused) log.error(`Redis cannot be used. ${error.message}`)
    else if (!isUnsuitable && !isAway)
      log.warn({ err: error }, 'Redis is unavailable; mail is still accepted and is scheduled when Redis is back')
    isAway = true
    isRefused ||= isUnsuitable
  })
  redis.on('ready', () => {
    if (isAway) log.info('Redis is back')
    isAway = false
    isRefused = false
  })
}

function socketOf(url: string): { path: string; db: number; password?: string } {
  const parsed = new URL(url)
  const password = parsed.searchParams.get('password')
  return {
    path: decodeURIComponent(parsed.pathname),
    db: Number(parsed.searchParams.get('db') ?? 0),
    ...(password === null ? {} : { password }),
  }
}

/**
 * Subscribes a new connection to the channels of `handlers`, which receive the messages; `disconnect` ends it.
 * `onSubscribed` is called after each subscription, also after a reconnection: messages published before are lost.
 */
export function subscribeToChannels(
  url: string,
  log: Log,
  handlers: Readonly<Record<string, (message: string) => void>>,
  onSubscribed: () => void,
): Redis {
  const subscriber = openRedis(url, log, 'subscriber')
  subscriber.on('message', (channel: string, message: string) => handlers[channel]?.(message))
  subscriber.on('ready', () => {
    subscriber
      .subscribe(...Object.keys(handlers))
      .then(onSubscribed, (error: unknown) =>
        log.debug({ err: error }, 'Redis subscription failed; it is repeated after the reconnection'),
      )
  })
  return subscriber
}

/** Waits until the connection is ready; false when Redis does not respond in time. */
export function waitUntilReady(redis: Redis, ms: number): Promise<boolean> {
  if (redis.status === 'ready') return Promise.resolve(true)
  return new Promise((resolve) => {
    const timer = setTimeout(() => finish(false), ms)
    const isReady = (): void => finish(true)
    redis.once('ready', isReady)
    function finish(answer: boolean): void {
      clearTimeout(timer)
      redis.off('ready', isReady)
      resolve(answer)
    }
  })
}

/** False while Redis is unavailable: a command would fail immediately. */
export function isRedisReady(redis: Redis): boolean {
  return redis.status === 'ready'
}
