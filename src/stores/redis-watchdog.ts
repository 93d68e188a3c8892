/**
 * Replaces a Redis connection that went silent: its host disappeared, or a firewall forgot it, without closing it. TCP
 * notices that after minutes or never. An idle connection is sent PING; one that delivers no byte for several checks in
 * a row while a reply is due is destroyed, which rejects its commands, and ioredis connects again. The same holds for
 * a new connection whose handshake is not answered.
 *
 * It counts checks, not time: after this process itself was stopped for a while, the replies that wait in the socket
 * are read before the next check.
 */
import type { Redis } from 'ioredis'

export interface RedisWatch {
  readonly checkMs: number
  /** Checks without a byte after which a connection counts as dead. */
  readonly maxSilentChecks: number
  /** For one command that is not answered while others are. */
  readonly commandTimeoutMs: number
}

/** A connection that went silent is replaced within 5 s. Redis itself may stop for a second or two to fork. */
export const REDIS_WATCH: RedisWatch = { checkMs: 1000, maxSilentChecks: 4, commandTimeoutMs: 10_000 }

/** Watches until the client is disconnected for good. */
export function watchConnection(redis: Redis, { checkMs, maxSilentChecks }: RedisWatch): void {
  let silentChecks = 0
  let stream: Redis['stream'] | null = null
  const heard = (): void => {
    silentChecks = 0
  }

  /** A connection is watched from its first byte to its close; ioredis makes a new stream for each. */
  redis.on('connect', () => {
    stream = redis.stream
    silentChecks = 0
    stream.on('data', heard)
  })
  redis.on('close', () => {
    stream = null
  })

  const timer = setInterval(() => {
    if (stream === null) return
    silentChecks++
    if (silentChecks > maxSilentChecks) stream.destroy(silenceError(checkMs * maxSilentChecks))
    // only the bytes of the reply matter
    else if (silentChecks === 2 && redis.status === 'ready') redis.ping().catch(() => undefined)
  }, checkMs).unref()
  redis.once('end', () => clearInterval(timer))
}

function silenceError(ms: number): Error {
  const error = new Error(`Redis sent nothing for ${ms / 1000} s; the connection is replaced`)
  return Object.assign(error, { code: 'ETIMEDOUT' })
}
