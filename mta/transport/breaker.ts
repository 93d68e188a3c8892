/**
 * Keeps a dead site from being knocked at by every mail that is due: after all of its hosts failed, nothing is tried for a while, then one
 * probe decides. A dead site that returns is therefore met by one connection and not by a herd.
 */
const FIRST_MS = 1000
const LONGEST_MS = 60_000

interface Trouble {
  failures: number
  untilMs: number
  isProbing: boolean
  lastDetail: string
}

export interface Breaker {
  /** Null when the site may be tried now; else why not, for people. */
  refuse(site: string): string | null
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
  return {
    refuse: (site) => {
      const trouble = troubles.get(site)
      if (trouble === undefined) return null
      if (now() < trouble.untilMs || trouble.isProbing)
        return `not tried, as all its servers failed a moment ago (${trouble.failures} times in a row, last: ${trouble.lastDetail})`
      trouble.isProbing = true
      return null
    },
    view: (site) => troubles.get(site) ?? null,
    succeeded: (site) => void troubles.delete(site),
    released: (site) => {
      const trouble = troubles.get(site)
      if (trouble !== undefined) trouble.isProbing = false
    },
    failed: (site, detail) => {
      const trouble = troubles.get(site) ?? { failures: 0, untilMs: 0, isProbing: false, lastDetail: detail }
      // connections that were under way together fail together: that is one failure
      if (now() >= trouble.untilMs) {
        trouble.failures++
        trouble.untilMs = now() + Math.min(FIRST_MS * 2 ** (trouble.failures - 1), LONGEST_MS) * scale
      }
      trouble.isProbing = false
      trouble.lastDetail = detail
      troubles.set(site, trouble)
    },
  }
}
