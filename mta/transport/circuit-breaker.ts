/**
 * Circuit breaker for each site and source (`pathKey`). After all hosts of a site failed, no delivery is tried for a
 * while; then one probe decides. When the site recovers, the limit starts at two connections and doubles with each
 * success. The state is per source because a receiver that blocks one of our addresses may still accept mail from
 * another. It is in memory only; a restart begins with all circuits closed.
 */
import { countText } from '#src/platform/plural.ts'
const FIRST_MS = 1000
const LONGEST_MS = 60_000
/** A recovered site has no limit once it reaches this many connections, or after RECOVERY_MS. */
const FULL_CONNECTIONS = 32
const RECOVERY_MS = 60_000

interface BreakerState {
  /** Consecutive failures; 0 while the site recovers. */
  failures: number
  /** No attempt before this time; during recovery: when the recovery ends. */
  untilMs: number
  isProbing: boolean
  lastDetail: string
  /** Limit of open connections during recovery. */
  maxConnections: number
}

export interface CircuitBreaker {
  /** Null: the caller may try the site now and must report the result. Otherwise the reason, for people. */
  beginAttempt(site: string): string | null
  /** As `beginAttempt`, without starting an attempt. */
  refusalReason(site: string): string | null
  /** Limit of open connections to the site; Infinity if it has none. */
  maxConnections(site: string): number
  /** Null for a site without failures. */
  view(site: string): { readonly failures: number; readonly untilMs: number } | null
  succeeded(site: string): void
  /** The attempt says nothing about the site: another may follow. */
  released(site: string): void
  /** All hosts of the site failed. */
  failed(site: string, detail: string): void
}

const NEW_STATE: BreakerState = { failures: 0, untilMs: 0, isProbing: false, lastDetail: '', maxConnections: 0 }

/** @param scale RETRY_SCALE */
export function createCircuitBreaker(now: () => number, scale: number): CircuitBreaker {
  const states = new Map<string, BreakerState>()
  const refusalReason = (site: string): string | null => {
    const state = states.get(site)
    if (state === undefined || state.failures === 0 || (now() >= state.untilMs && !state.isProbing)) return null
    return (
      `not tried: all hosts of the site failed recently ` +
      `(${countText(state.failures, 'time')} in a row, last: ${state.lastDetail})`
    )
  }
  return {
    beginAttempt: (site) => {
      const reason = refusalReason(site)
      const state = states.get(site)
      if (reason === null && state !== undefined && state.failures > 0) state.isProbing = true
      return reason
    },
    refusalReason,
    maxConnections: (site) => {
      const state = states.get(site)
      if (state === undefined || state.failures > 0) return Infinity
      if (now() < state.untilMs) return state.maxConnections
      states.delete(site)
      return Infinity
    },
    view: (site) => {
      const state = states.get(site)
      return state === undefined || state.failures === 0 ? null : state
    },
    succeeded: (site) => {
      const state = states.get(site)
      if (state === undefined) return
      const maxConnections = state.failures > 0 ? 2 : state.maxConnections * 2
      if (maxConnections >= FULL_CONNECTIONS) states.delete(site)
      else
        Object.assign(state, {
          failures: 0,
          untilMs: now() + RECOVERY_MS * scale,
          isProbing: false,
          maxConnections,
        } satisfies Partial<BreakerState>)
    },
    released: (site) => {
      const state = states.get(site)
      if (state !== undefined) state.isProbing = false
    },
    failed: (site, detail) => {
      const state = states.get(site) ?? { ...NEW_STATE }
      // concurrent connections fail together: count them as one failure
      if (state.failures === 0 || now() >= state.untilMs) {
        state.failures++
        state.untilMs = now() + Math.min(FIRST_MS * 2 ** (state.failures - 1), LONGEST_MS) * scale
      }
      state.isProbing = false
      state.lastDetail = detail
      states.set(site, state)
    },
  }
}

/** Key of a site as reached from one source. A site's name contains no space (mta/route/route.ts). */
export function pathKey(site: string, source: string | null): string {
  return source === null ? site : `${site} ${source}`
}
