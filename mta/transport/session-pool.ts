/**
 * Pool of idle SMTP sessions, by site and source. A session carries one delivery at a time, returns to the pool if it
 * is still usable, and is closed with QUIT after its share of messages or after IDLE_MS. A session that the server
 * closes while idle leaves the pool silently.
 */
import type { PolicyName, SessionProtection } from '#mta/security/policy.ts'
import type { Session } from '#mta/smtp/session.ts'

/**
 * Servers close idle clients after minutes (RFC 5321 4.5.3.2.7); an idle connection blocks one of theirs until then.
 */
const IDLE_MS = 5000

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

/** Key of a site as reached from one source. A site's name contains no space (mta/route/route.ts). */
export function pathKey(site: string, source: string | null): string {
  return source === null ? site : `${site} ${source}`
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
