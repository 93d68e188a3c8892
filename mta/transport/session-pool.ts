/**
 * Open sessions that wait for their next message, by site and egress source. A session is lent to one delivery at a time, goes back when it
 * is still good, and is ended politely after its share of messages or when it idles. A session that the server closes meanwhile just disappears.
 */
import type { PolicyName, Protection } from '#mta/security/policy.ts'
import type { Session } from '#mta/smtp/session.ts'

/** Servers close idle clients after minutes (RFC 5321 4.5.3.2.7); holding a receiver's connection for nothing is rude long before. */
const IDLE_MS = 5000

export interface Pooled {
  readonly session: Session
  readonly host: string
  readonly address: string
  /** The egress source it was opened from; null: the system's choice. */
  readonly source: string | null
  /** The TLS policy that it was opened under, and whether its certificate is valid by that or by the authorities. */
  readonly policy: PolicyName
  readonly isVerified: boolean
  readonly wasDaneDomain: boolean
  idleSinceMs: number
}

export function protectionOf({ session: { tls }, host, policy, wasDaneDomain }: Pooled): Protection {
  return { host, policy, wasDaneDomain, isEncrypted: tls !== null, isAuthorized: tls?.authorized === true }
}

export interface SessionPool {
  /** The most recently used one that will do, or null: then one that will not is ended, to make room for the one that is opened instead. */
  take(site: string, source: string | null, isFit: (pooled: Pooled) => boolean): Pooled | null
  /** Puts it back, or ends it when it has had its share. */
  put(site: string, pooled: Pooled, messagesPerConnection: number): void
  /** Ends the longest idle one of a site that is meant; false when there is none. */
  endOne(isMeant: (session: Session) => boolean): boolean
  close(): Promise<void>
}

export function createSessionPool(): SessionPool {
  const idle = new Map<string, Pooled[]>()
  const timer = setInterval(() => endIdle(idle), IDLE_MS / 5)
  return {
    take: (site, source, isFit) => {
      const waiting = idle.get(pathOf(site, source)) ?? []
      for (let at = waiting.length - 1; at >= 0; at--) {
        const pooled = waiting[at]
        if (pooled === undefined || (pooled.session.isUsable && !isFit(pooled))) continue
        waiting.splice(at, 1)
        if (pooled.session.isUsable) return pooled
      }
      void waiting.shift()?.session.quit()
      return null
    },
    put: (site, pooled, messagesPerConnection) => {
      if (!pooled.session.isUsable) return
      if (pooled.session.delivered >= messagesPerConnection) void pooled.session.quit()
      else keep(idle, pathOf(site, pooled.source), pooled)
    },
    endOne: (isMeant) => {
      for (const waiting of idle.values()) {
        const at = waiting.findIndex(({ session }) => session.isUsable && isMeant(session))
        if (at < 0) continue
        void waiting.splice(at, 1)[0]?.session.quit()
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

/** A site reached from a source: what has sessions, and trouble, of its own. A site holds no blank (mta/route/site.ts). */
export function pathOf(site: string, source: string | null): string {
  return source === null ? site : `${site} ${source}`
}

function keep(idle: Map<string, Pooled[]>, key: string, pooled: Pooled): void {
  pooled.idleSinceMs = performance.now()
  const waiting = idle.get(key)
  if (waiting === undefined) idle.set(key, [pooled])
  else waiting.push(pooled)
}

function endIdle(idle: Map<string, Pooled[]>): void {
  const limit = performance.now() - IDLE_MS
  for (const [key, waiting] of idle) {
    const kept = waiting.filter((pooled) => {
      if (pooled.session.isUsable && pooled.idleSinceMs < limit) void pooled.session.quit()
      return pooled.session.isUsable && pooled.idleSinceMs >= limit
    })
    if (kept.length > 0) idle.set(key, kept)
    else idle.delete(key)
  }
}
