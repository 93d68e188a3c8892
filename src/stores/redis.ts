/**
 * Redis: the schedule and counters, never the truth. Commands fail at once while Redis is away (no queue of commands builds up in memory);
 * the connection comes back by itself. Understands redis://, rediss:// and unix:///path/to/socket?db=1.
 */
import { Redis } from 'ioredis'
import type { Log } from '#src/platform/log.ts'

export type { Redis } from 'ioredis'

/** `subscriber` connections are used for nothing but SUBSCRIBE. */
export function openRedis(url: string, log: Log, use: 'commands' | 'subscriber' = 'commands'): Redis {
  const options = {
    maxRetriesPerRequest: 0,
    enableOfflineQueue: use === 'subscriber',
    autoResubscribe: true,
    enableReadyCheck: true,
    retryStrategy: (times: number) => Math.min(50 * times, 1000),
  }
  const redis = url.startsWith('unix:') ? new Redis({ ...options, ...socketOf(url) }) : new Redis(url, options)
  let isAway = false
  redis.on('error', (error: Error) => {
    if (!isAway) log.warn({ err: error }, 'Redis is away; mail is still accepted and is scheduled when it returns')
    isAway = true
  })
  redis.on('ready', () => {
    if (isAway) log.info('Redis is back')
    isAway = false
  })
  return redis
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

export interface Hearing {
  readonly heard: (channel: string, message: string) => void
  /** From now on messages are heard: at first, and after Redis was away. What was published before was not. */
  readonly isListening: () => void
}

/** A connection that hears what is published; `disconnect` ends it. */
export function listenTo(url: string, log: Log, channels: readonly string[], { heard, isListening }: Hearing): Redis {
  const subscriber = openRedis(url, log, 'subscriber')
  subscriber.on('message', heard)
  subscriber.on('ready', () => {
    subscriber
      .subscribe(...channels)
      .then(isListening, (error: unknown) => log.debug({ err: error }, 'subscribing waits for Redis'))
  })
  return subscriber
}

/** Waits for a fresh connection; false when Redis does not answer in time. */
export function whenReady(redis: Redis, ms: number): Promise<boolean> {
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

/** False while Redis is away: a command would fail at once. */
export function isRedisReady(redis: Redis): boolean {
  return redis.status === 'ready'
}
