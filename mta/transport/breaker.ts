/**
 * Keeps a dead site from being knocked at by every mail that is due: after all of its hosts failed, nothing is tried for a while, then one
 * probe decides. A dead site that returns is met by one connection and not by a herd: each one that it takes lets twice as many be open.
 * A site is meant as it is reached from one source (`pathOf`): a receiver that lets one of our addresses in no more has another's mail.
 */
const FIRST_MS = 1000
const LONGEST_MS = 60_000
/** With so many open, or after so long, a site that returned is like any other. */
const FULL_ROOM = 32
const RECOVERY_MS = 60_000

interface Trouble {
  /** In a row; 0 while the site recovers. */
  failures: number
  /** Nothing is tried before; while it recovers: when it is over. */
  untilMs: number
  isProbing: boolean
  lastDetail: string
  /** Connections that may be open. */
  room: number
}

export interface Breaker {
  /** Null when the site may be tried now, and who asks tries it; else why not, for people. */
  refuse(site: string): string | null
  /** The same, from somebody who does not try it yet. */
  whyNot(site: string): string | null
  /** How many connections to it may be open. */
  room(site: string): number
  /** Null for a site without trouble. */
  view(site: string): { readonly failures: number; readonly untilMs: number } | null
  succeeded(site: string): void
  /** The try said nothing about the site: another may follow. */
  released(site: string): void
  /** All hosts of the site failed. */
  failed(site: string, detail: string): void
}

/** @param scale RETRY_SCALE */
export function createBreaker(now: () => number, scale: number): Breaker {
  const troubles = new Map<string, Trouble>()
  const whyNot = (site: string): string | null => {
    const trouble = troubles.get(site)
    if (trouble === undefined || trouble.failures === 0 || (now() >= trouble.untilMs && !trouble.isProbing)) return null
    return `not tried, as all its servers failed a moment ago (${trouble.failures} times in a row, last: ${trouble.lastDetail})`
  }
  return {
    refuse: (site) => {
      const why = whyNot(site)
      const trouble = troubles.get(site)
      if (why === null && trouble !== undefined && trouble.failures > 0) trouble.isProbing = true
      return why
    },
    whyNot,
    room: (site) => {
      const trouble = troubles.get(site)
      if (trouble === undefined || trouble.failures > 0) return Infinity
      if (now() < trouble.untilMs) return trouble.room
      troubles.delete(site)
      return Infinity
    },
    view: (site) => {
      const trouble = troubles.get(site)
      return trouble === undefined || trouble.failures === 0 ? null : trouble
    },
    succeeded: (site) => {
      const trouble = troubles.get(site)
      if (trouble === undefined) return
      const room = trouble.failures > 0 ? 2 : trouble.room * 2
      if (room >= FULL_ROOM) troubles.delete(site)
      else Object.assign(trouble, { failures: 0, untilMs: now() + RECOVERY_MS * scale, isProbing: false, room })
    },
    released: (site) => {
      const trouble = troubles.get(site)
      if (trouble !== undefined) trouble.isProbing = false
    },
    failed: (site, detail) => {
      const trouble = troubles.get(site) ?? { failures: 0, untilMs: 0, isProbing: false, lastDetail: detail, room: 0 }
      // connections that were under way together fail together: that is one failure
      if (trouble.failures === 0 || now() >= trouble.untilMs) {
        trouble.failures++
        trouble.untilMs = now() + Math.min(FIRST_MS * 2 ** (trouble.failures - 1), LONGEST_MS) * scale
      }
      trouble.isProbing = false
      trouble.lastDetail = detail
      troubles.set(site, trouble)
    },
  }
}
