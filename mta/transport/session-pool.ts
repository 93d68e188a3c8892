/**
 * Open sessions that wait for their next message, by site. A session is lent to one delivery at a time, goes back when it is still good,
 * and is ended politely after its share of messages or when it idles. A session that the server closes meanwhile just disappears.
 */
import type { Session } from '#mta/smtp/session.ts'

/** Servers close idle clients after minutes (RFC 5321 4.5.3.2.7); holding a receiver's connection for nothing is rude long before. */
const IDLE_MS = 5000

export interface Pooled {
  readonly session: Session
  readonly host: string
  readonly address: string
  idleSinceMs: number
}

export interface SessionPool {
  /** The most recently used one, or null. */
  take(site: string): Pooled | null
  /** Puts it back, or ends it when it has had its share. */
  put(site: string, pooled: Pooled, messagesPerConnection: number): void
  close(): Promise<void>
}

export function createSessionPool(): SessionPool {
  const idle = new Map<string, Pooled[]>()
  const timer = setInterval(() => endIdle(idle), IDLE_MS / 5)
  return {
    take: (site) => {
      const waiting = idle.get(site)
      for (let pooled = waiting?.pop(); pooled !== undefined; pooled = waiting?.pop()) if (pooled.session.isUsable) return pooled
      return null
    },
    put: (site, pooled, messagesPerConnection) => {
      if (!pooled.session.isUsable) return
      if (pooled.session.delivered >= messagesPerConnection) void pooled.session.quit()
      else keep(idle, site, pooled)
    },
    close: async () => {
      clearInterval(timer)
      await Promise.all([...idle.values()].flat().map(({ session }) => session.quit()))
      idle.clear()
    },
  }
}

function keep(idle: Map<string, Pooled[]>, site: string, pooled: Pooled): void {
  pooled.idleSinceMs = performance.now()
  const waiting = idle.get(site)
  if (waiting === undefined) idle.set(site, [pooled])
  else waiting.push(pooled)
}

function endIdle(idle: Map<string, Pooled[]>): void {
  const limit = performance.now() - IDLE_MS
  for (const [site, waiting] of idle) {
    const kept = waiting.filter((pooled) => {
      if (pooled.session.isUsable && pooled.idleSinceMs < limit) void pooled.session.quit()
      return pooled.session.isUsable && pooled.idleSinceMs >= limit
    })
    if (kept.length > 0) idle.set(site, kept)
    else idle.delete(site)
  }
}
