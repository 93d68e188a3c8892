/**
 * Connection slots and the pool of idle sessions: who may use a connection.
 *
 * A slot is the right to open one of the connections that the throttle of a source allows at a receiver. A connection
 * holds its slot until its socket is closed, also while idle or during QUIT, because the receiver counts it that long.
 * An idle connection to another site of the same receiver is closed when its slot is needed. After an outage, the
 * circuit breaker raises a site's limit step by step. If the throttle closes while a caller waits, `acquire` returns
 * null and nothing was sent.
 *
 * The pool stores idle sessions by site and source. A session carries one delivery at a time, returns to the pool if it
 * is still usable, and is closed with QUIT after its share of messages or after IDLE_MS. A session that the server
 * closes while idle leaves the pool silently.
 */
import type { PolicyName, SessionProtection } from '#mta/security/policy.ts'
import type { Throttle } from '#mta/shaping/throttle.ts'
import type { Session } from '#mta/smtp/session.ts'
import { pathKey } from './circuit-breaker.ts'

export interface PooledSession {
  readonly session: Session
  readonly host: string
  readonly address: string
  /** The source that it was opened from; null: the system chose the address. */
  readonly source: string | null
  /** The TLS policy at opening, and whether the certificate is valid by that policy or by the trusted authorities. */
  readonly policy: PolicyName
  readonly isVerified: boolean
  readonly wasDaneDomain: boolean
  idleSinceMs: number
}

export function protectionOf({ session: { tls }, host, policy, wasDaneDomain }: PooledSession): SessionProtection {
  return { host, policy, wasDaneDomain, isEncrypted: tls !== null, isAuthorized: tls?.authorized === true }
}

export type ConnectionSlot =
  /** An open connection became available. */
  { readonly kind: 'open'; readonly pooled: PooledSession } | NewConnectionSlot

/** The right to open one new connection. The caller must call exactly one of its methods. */
export interface NewConnectionSlot {
  readonly kind: 'new'
  /** The connection was opened; it holds the slot until it is closed. */
  assign(pooled: PooledSession): void
  /** No connection was tried: returns the slot and the token of the connection rate. */
  cancel(): void
  /** The connection was tried and is closed again. */
  close(): void
}

export interface SlotRequest {
  readonly site: string
  /** The source that the throttle belongs to. */
  readonly source: string | null
  readonly throttle: Throttle
}

/** Which idle sessions a delivery may use: those from one of these sources that are suitable. */
export interface IdleRequest {
  readonly sources: readonly (string | null)[]
  readonly isSuitable: (pooled: PooledSession) => boolean
}

export interface ConnectionSlots {
  /** @param maxOpen limit of open connections on a path, in addition to the throttle's (circuit breaker) */
  acquire(request: SlotRequest, idle: IdleRequest, maxOpen: (path: string) => number): Promise<ConnectionSlot | null>
  /** As `acquire`, without waiting: null if no slot is free. */
  tryAcquire(request: SlotRequest): NewConnectionSlot | null
  /** Returns a connection after its message: to the pool, or closed if the throttle now allows fewer connections. */
  release(site: string, pooled: PooledSession): void
  /** Closes the idle sessions. */
  close(): Promise<void>
}

export function createConnectionSlots(): ConnectionSlots {
  const pool = createSessionPool()
  const throttles = new WeakMap<Session, Throttle>()
  const openAt = new Map<string, number>()
  const count = (path: string, change: 1 | -1): void => {
    const open = (openAt.get(path) ?? 0) + change
    if (open === 0) openAt.delete(path)
    else openAt.set(path, open)
  }
  const closeIdle = (throttle: Throttle): boolean => pool.closeOneIdle((session) => throttles.get(session) === throttle)

  function newSlot({ site, source, throttle }: SlotRequest): NewConnectionSlot {
    const path = pathKey(site, source)
    count(path, 1)
    const free = (): void => {
      count(path, -1)
      throttle.allowance.release()
    }
    return {
      kind: 'new',
      close: free,
      cancel: () => {
        throttle.allowance.refundToken()
        free()
      },
      assign: ({ session }) => {
        throttles.set(session, throttle)
        session.onClose(free)
      },
    }
  }

  return {
    acquire: async (request, idle, maxOpen) => {
      const { throttle } = request
      const path = pathKey(request.site, request.source)
      const { allowance } = throttle
      allowance.onOverLimit = () => {
        for (let over = allowance.open - throttle.connections; over > 0 && closeIdle(throttle); over--);
      }
      while (throttle.connections > 0) {
        const pooled = takeIdle(pool, request.site, idle)
        if (pooled !== null) return { kind: 'open', pooled }
        if ((openAt.get(path) ?? 0) < maxOpen(path) && allowance.reserve()) return newSlot(request)
        if (allowance.open >= throttle.connections) closeIdle(throttle)
        await allowance.nextChange()
      }
      return null
    },
    tryAcquire: (request) => (request.throttle.allowance.reserve() ? newSlot(request) : null),
    release: (site, pooled) => {
      const throttle = throttles.get(pooled.session)
      if (throttle === undefined || throttle.allowance.isOver) void pooled.session.quit()
      else pool.release(site, pooled, throttle.receiver.messagesPerConnection)
      throttle?.allowance.wake()
    },
    close: () => pool.close(),
  }
}

function takeIdle(pool: SessionPool, site: string, { sources, isSuitable }: IdleRequest): PooledSession | null {
  for (const source of sources) {
    const open = pool.acquire(site, source, isSuitable)
    if (open !== null) return open
  }
  return null
}

/**
 * Servers close idle clients after minutes (RFC 5321 4.5.3.2.7); an idle connection blocks one of theirs until then.
 */
const IDLE_MS = 5000

export interface SessionPool {
  /** The most recently used suitable session. Otherwise null, and one unsuitable session is closed to free its slot. */
  acquire(site: string, source: string | null, isSuitable: (pooled: PooledSession) => boolean): PooledSession | null
  /** Returns a session to the pool, or closes it after `messagesPerConnection` messages. */
  release(site: string, pooled: PooledSession, messagesPerConnection: number): void
  /** Closes the first idle session that matches; false if there is none. */
  closeOneIdle(matches: (session: Session) => boolean): boolean
  close(): Promise<void>
}

export function createSessionPool(): SessionPool {
  const idle = new Map<string, PooledSession[]>()
  const timer = setInterval(() => closeExpired(idle), IDLE_MS / 5)
  return {
    acquire: (site, source, isSuitable) => {
      const sessions = idle.get(pathKey(site, source)) ?? []
      for (let at = sessions.length - 1; at >= 0; at--) {
        const pooled = sessions[at]
        if (pooled === undefined || (pooled.session.isUsable && !isSuitable(pooled))) continue
        sessions.splice(at, 1)
        if (pooled.session.isUsable) return pooled
      }
      void sessions.shift()?.session.quit()
      return null
    },
    release: (site, pooled, messagesPerConnection) => {
      if (!pooled.session.isUsable) return
      if (pooled.session.delivered >= messagesPerConnection) void pooled.session.quit()
      else addIdle(idle, pathKey(site, pooled.source), pooled)
    },
    closeOneIdle: (matches) => {
      for (const sessions of idle.values()) {
        const at = sessions.findIndex(({ session }) => session.isUsable && matches(session))
        if (at < 0) continue
        void sessions.splice(at, 1)[0]?.session.quit()
        return true
      }
      return false
    },
    close: async () => {
      clearInterval(timer)
      await Promise.all([...idle.values()].flat().map(({ session }) => session.quit()))
      idle.clear()
    },
  }
}

function addIdle(idle: Map<string, PooledSession[]>, key: string, pooled: PooledSession): void {
  pooled.idleSinceMs = performance.now()
  const sessions = idle.get(key)
  if (sessions === undefined) idle.set(key, [pooled])
  else sessions.push(pooled)
}

function closeExpired(idle: Map<string, PooledSession[]>): void {
  const limit = performance.now() - IDLE_MS
  for (const [key, sessions] of idle) {
    const remaining = sessions.filter((pooled) => {
      if (pooled.session.isUsable && pooled.idleSinceMs < limit) void pooled.session.quit()
      return pooled.session.isUsable && pooled.idleSinceMs >= limit
    })
    if (remaining.length > 0) idle.set(key, remaining)
    else idle.delete(key)
  }
}
