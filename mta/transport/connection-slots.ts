/**
 * Connection slots: the right to open one of the connections that the throttle of a source allows at a receiver. A
 * connection holds its slot until its socket is closed, also while idle or during QUIT, because the receiver counts it
 * that long. An idle connection to another site of the same receiver is closed when its slot is needed. After an
 * outage, the circuit breaker raises a site's limit step by step. If the throttle closes while a caller waits,
 * `acquire` returns null and nothing was sent.
 */
import type { Throttle } from '#mta/shaping/throttle.ts'
import type { Session } from '#mta/smtp/session.ts'
import { pathKey, type PooledSession, type SessionPool } from './session-pool.ts'

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

interface SlotRequest {
  readonly site: string
  /** The source that the throttle belongs to. */
  readonly source: string | null
  readonly throttle: Throttle
}

export interface ConnectionSlots {
  /** @param maxOpen limit of open connections on a path, in addition to the throttle's (circuit breaker) */
  acquire(
    request: SlotRequest,
    takePooled: () => PooledSession | null,
    maxOpen: (path: string) => number,
  ): Promise<ConnectionSlot | null>
  /** As `acquire`, without waiting: null if no slot is free. */
  tryAcquire(request: SlotRequest): NewConnectionSlot | null
  /** Returns a connection after its message: to the pool, or closed if the throttle now allows fewer connections. */
  release(site: string, pooled: PooledSession): void
}

export function createConnectionSlots(pool: SessionPool): ConnectionSlots {
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
      throttle.releaseConnection()
    }
    return {
      kind: 'new',
      close: free,
      cancel: () => {
        throttle.refundConnectionToken()
        free()
      },
      assign: ({ session }) => {
        throttles.set(session, throttle)
        session.onClose(free)
      },
    }
  }

  return {
    acquire: async (request, takePooled, maxOpen) => {
      const { throttle } = request
      const path = pathKey(request.site, request.source)
      throttle.onOverLimit = () => {
        for (let over = throttle.openConnections - throttle.connections; over > 0 && closeIdle(throttle); over--);
      }
      while (throttle.connections > 0) {
        const pooled = takePooled()
        if (pooled !== null) return { kind: 'open', pooled }
        if ((openAt.get(path) ?? 0) < maxOpen(path) && throttle.reserveConnection()) return newSlot(request)
        if (throttle.openConnections >= throttle.connections) closeIdle(throttle)
        await throttle.nextChange()
      }
      return null
    },
    tryAcquire: (request) => (request.throttle.reserveConnection() ? newSlot(request) : null),
    release: (site, pooled) => {
      const throttle = throttles.get(pooled.session)
      if (throttle === undefined || throttle.openConnections > throttle.connections) void pooled.session.quit()
      else pool.release(site, pooled, throttle.receiver.messagesPerConnection)
      throttle?.wakeConnectors()
    },
  }
}
